package lineage;

/**
 * Answers texts one after another, each within a time limit.
 *
 * <p>Compiled at run time by Janino, as its subclasses are, hence plain Java: no lambdas, no inferred generics.
 */
public abstract class TextWorker {
    private static final long STACK_BYTES = 64L * 1024 * 1024;
    /** How many time limits a text may take on a busy machine, which lets the process compute only now and then. */
    private static final int MOST_LIMITS = 10;

    /** The subject of messages, such as "the parser". */
    protected abstract String name();

    /** The answer to one text: a JSON object. An exception's message becomes the answer's "error". */
    protected abstract String answer(String text) throws Exception;

    /**
     * Answers a batch.
     *
     * @param batch big-endian: the number of texts (4 bytes), then for each its length in chars (4 bytes) and its
     *     chars (2 bytes each), which preserves any chars, even lone surrogates
     * @param millis time limit for one text, which ends it once the process, whose collector of garbage works for
     *     the thread, has computed for half of it
     * @return a JSON array with an object for each processed text: all of them, or fewer with the last marked
     *     "fatal" when it took too long or ran out of memory; this process must not be used again then
     */
    public String answerAll(byte[] batch, long millis) throws InterruptedException {
        Answering answering = new Answering(this, batch);
        Thread thread = new Thread(null, answering, "answering", STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
        int before = 0;
        int limits = 0;
        long computed = processorNanos();
        while (true) {
            thread.join(millis);
            if (!thread.isAlive()) {
                return answering.snapshot(answering.done, null);
            }
            long nanos = processorNanos();
            limits = answering.done == before ? limits + 1 : 0;
            if (limits >= MOST_LIMITS || (limits > 0 && nanos - computed >= millis * 500000)) {
                return answering.snapshot(before, "{\"error\":\"" + name() + " took longer than " + millis
                    + " ms\",\"fatal\":true}");
            }
            if (limits == 0) {
                before = answering.done;
                computed = nanos;
            }
        }
    }

    /** The time for which this process has computed, in nanoseconds. */
    private static long processorNanos() {
        return ((com.sun.management.OperatingSystemMXBean)
            java.lang.management.ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    public static String error(String message, int line, int column) {
        StringBuilder json = new StringBuilder("{\"error\":");
        quote(json, String.valueOf(message));
        return json.append(",\"line\":").append(line).append(",\"column\":").append(column).append("}").toString();
    }

    /** Adds a text as a JSON string of ASCII characters. */
    public static void quote(StringBuilder json, String text) {
        json.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < 0x20 || c > 0x7e) {
                String hex = Integer.toHexString(c);
                json.append("\\u").append("0000".substring(hex.length())).append(hex);
            } else {
                json.append(c);
            }
        }
        json.append('"');
    }

    private static class Answering implements Runnable {
        private final TextWorker worker;
        private final java.nio.ByteBuffer batch;
        private final String[] answers;
        volatile int done = 0;

        Answering(TextWorker worker, byte[] batch) {
            this.worker = worker;
            this.batch = java.nio.ByteBuffer.wrap(batch);
            this.answers = new String[this.batch.getInt()];
        }

        public void run() {
            for (int i = 0; i < this.answers.length; i++) {
                String answer = answer(text());
                this.answers[i] = answer;
                this.done = i + 1;
                if (answer.endsWith("\"fatal\":true}")) {
                    return;
                }
            }
        }

        /** The first `count` answers, followed by `last` unless it is null. */
        String snapshot(int count, String last) {
            StringBuilder out = new StringBuilder("[");
            for (int i = 0; i < count; i++) {
                out.append(i == 0 ? "" : ",").append(this.answers[i]);
            }
            if (last != null) {
                out.append(count == 0 ? "" : ",").append(last);
            }
            return out.append("]").toString();
        }

        private String answer(String text) {
            try {
                return this.worker.answer(text);
            } catch (StackOverflowError e) {
                return error("nested too deeply", 0, 0);
            } catch (OutOfMemoryError e) {
                return "{\"error\":\"too large for the memory given\",\"fatal\":true}";
            } catch (Throwable e) {
                return error(e.getClass().getSimpleName() + ": " + e.getMessage(), 0, 0);
            }
        }

        private String text() {
            char[] chars = new char[this.batch.getInt()];
            this.batch.asCharBuffer().get(chars);
            this.batch.position(this.batch.position() + 2 * chars.length);
            return new String(chars);
        }
    }
}
