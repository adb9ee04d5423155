package lineage;

import org.apache.calcite.sql.SqlNode;
import org.apache.calcite.sql.parser.SqlParseException;
import org.apache.calcite.sql.parser.SqlParser;
import org.apache.calcite.sql.parser.SqlParserPos;
import org.apache.calcite.config.Lex;
import org.apache.flink.sql.parser.impl.FlinkSqlParserImpl;
import org.apache.flink.sql.parser.validate.FlinkSqlConformance;

/**
 * Parses Flink SQL statements and returns their syntax trees as JSON.
 *
 * <p>Compiled at run time by Janino, hence plain Java: no lambdas, no inferred generics.
 */
public class FlinkTrees {
    private static final long STACK_BYTES = 64L * 1024 * 1024;
    private final SqlParser.Config config;

    public FlinkTrees() {
        // Flink's own settings: the CalciteParser configuration in PlannerContext.
        this.config = SqlParser.config()
            .withParserFactory(FlinkSqlParserImpl.FACTORY)
            .withConformance(FlinkSqlConformance.DEFAULT)
            .withLex(Lex.JAVA)
            .withIdentifierMaxLength(256);
    }

    /**
     * Parses a batch.
     *
     * @param batch big-endian: the number of texts (4 bytes), then for each its length in chars (4 bytes) and its
     *     chars (2 bytes each), which preserves any chars, even lone surrogates
     * @param millis time limit for one text
     * @return a JSON array with an object for each processed text: all of them, or fewer with the last marked
     *     "fatal" when it took too long or ran out of memory; this process must not be used again then
     */
    public String parse(byte[] batch, long millis) throws InterruptedException {
        Worker worker = new Worker(this.config, batch);
        Thread thread = new Thread(null, worker, "parser", STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
        while (true) {
            int before = worker.done;
            thread.join(millis);
            if (!thread.isAlive()) {
                break;
            }
            if (worker.done == before) {
                return worker.snapshot(before, "{\"error\":\"the parser took longer than " + millis
                    + " ms\",\"fatal\":true}");
            }
        }
        return worker.snapshot(worker.done, null);
    }

    private static class Worker implements Runnable {
        private final SqlParser.Config config;
        private final byte[] batch;
        private final String[] responses;
        private int offset = 0;
        volatile int done = 0;

        Worker(SqlParser.Config config, byte[] batch) {
            this.config = config;
            this.batch = batch;
            this.responses = new String[readInt()];
        }

        public void run() {
            for (int i = 0; i < this.responses.length; i++) {
                String response = parseText(readText());
                this.responses[i] = response;
                this.done = i + 1;
                if (response.endsWith("\"fatal\":true}")) {
                    return;
                }
            }
        }

        /** The first `count` responses, followed by `last` unless it is null. */
        String snapshot(int count, String last) {
            StringBuilder out = new StringBuilder("[");
            for (int i = 0; i < count; i++) {
                out.append(i == 0 ? "" : ",").append(this.responses[i]);
            }
            if (last != null) {
                out.append(count == 0 ? "" : ",").append(last);
            }
            return out.append("]").toString();
        }

        private String parseText(String text) {
            try {
                SqlNode tree = SqlParser.create(text, this.config).parseStmt();
                TreeWriter writer = new TreeWriter();
                int root = writer.write(tree);
                return "{\"root\":" + root + ",\"nodes\":[" + writer.out + "]}";
            } catch (SqlParseException e) {
                SqlParserPos pos = e.getPos();
                return TreeWriter.error(e.getMessage(), pos == null ? 0 : pos.getLineNum(),
                    pos == null ? 0 : pos.getColumnNum());
            } catch (StackOverflowError e) {
                return TreeWriter.error("nested too deeply to parse", 0, 0);
            } catch (OutOfMemoryError e) {
                return "{\"error\":\"too large to parse in the memory given\",\"fatal\":true}";
            } catch (Throwable e) {
                return TreeWriter.error(e.getClass().getSimpleName() + ": " + e.getMessage(), 0, 0);
            }
        }

        private int readInt() {
            int value = ((this.batch[this.offset] & 0xff) << 24) | ((this.batch[this.offset + 1] & 0xff) << 16)
                | ((this.batch[this.offset + 2] & 0xff) << 8) | (this.batch[this.offset + 3] & 0xff);
            this.offset += 4;
            return value;
        }

        private String readText() {
            char[] chars = new char[readInt()];
            for (int i = 0; i < chars.length; i++) {
                chars[i] = (char) (((this.batch[this.offset] & 0xff) << 8) | (this.batch[this.offset + 1] & 0xff));
                this.offset += 2;
            }
            return new String(chars);
        }
    }
}
