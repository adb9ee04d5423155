package lineage;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Evaluates regular expressions on names. */
public class Expressions extends TextWorker {
    /** An expression that takes too long on so many names is given up. */
    private static final int MOST_SLOW = 3;

    /** Expression -> on how many names it has taken too long. */
    private final Map slow = new HashMap();

    protected String name() {
        return "the evaluation of a regular expression";
    }

    /**
     * Evaluates queries on names.
     *
     * @param text the lengths of the fields, separated by commas; a semicolon; and the fields: how many characters
     *     may be read for one name, how many in a query before a name gets a tenth of a percent of that, the number
     *     of names, the names, and for each query its kind, expression and replacement
     * @return "answers": for each query a list, or the "error" with "slow": whether it took too many steps
     */
    protected String answer(String text) {
        List fields = fields(text);
        long most = Long.parseLong((String) fields.get(0));
        long inAll = Long.parseLong((String) fields.get(1));
        int last = 3 + Integer.parseInt((String) fields.get(2));
        List names = fields.subList(3, last);
        StringBuilder out = new StringBuilder("{\"answers\":[");
        for (int at = last; at < fields.size(); at += 3) {
            StringBuilder answer = new StringBuilder();
            String name = "";
            long read = 0;
            try {
                if (slowNames(fields.get(at + 1)) >= MOST_SLOW) {
                    throw new SlowException();
                }
                Pattern pattern = Pattern.compile((String) fields.get(at + 1));
                for (int i = 0; i < names.size(); i++) {
                    name = (String) names.get(i);
                    Input input = new Input(name, read < inAll ? most : most / 1000);
                    Matcher matcher = pattern.matcher(input);
                    evaluate((String) fields.get(at), matcher, (String) fields.get(at + 2), name, i, answer);
                    read += input.read;
                }
                out.append(at == last ? "" : ",").append('[').append(answer).append(']');
            } catch (SlowException e) {
                this.slow.put(fields.get(at + 1), Integer.valueOf(slowNames(fields.get(at + 1)) + 1));
                out.append(at == last ? "" : ",").append(failure(name, true));
            } catch (StackOverflowError e) {
                out.append(at == last ? "" : ",").append(failure("its groups are nested too deep", false));
            } catch (RuntimeException e) {
                out.append(at == last ? "" : ",").append(failure(String.valueOf(e.getMessage()), false));
            }
        }
        return out.append("]}").toString();
    }

    private int slowNames(Object expression) {
        Integer found = (Integer) this.slow.get(expression);
        return found == null ? 0 : found.intValue();
    }

    private static String failure(String message, boolean slow) {
        StringBuilder out = new StringBuilder("{\"error\":");
        quote(out, message);
        return out.append(",\"slow\":").append(slow).append("}").toString();
    }

    private static void evaluate(String kind, Matcher matcher, String replacement, String name, int index,
            StringBuilder out) {
        if (kind.equals("matches") || kind.equals("finds")) {
            if (kind.equals("matches") ? matcher.matches() : matcher.find()) {
                out.append(out.length() == 0 ? "" : ",").append(index);
            }
            return;
        }
        out.append(out.length() == 0 ? "" : ",");
        if (kind.equals("replaced")) {
            quote(out, matcher.matches() ? matcher.replaceFirst(replacement) : name);
        } else if (kind.equals("groups")) {
            out.append(matcher.matches() ? groups(matcher) : "null");
        }
    }

    private static String groups(Matcher matcher) {
        StringBuilder out = new StringBuilder("[");
        for (int i = 0; i <= matcher.groupCount(); i++) {
            out.append(i == 0 ? "" : ",");
            quote(out, matcher.group(i) == null ? "" : matcher.group(i));
        }
        return out.append("]").toString();
    }

    private static List fields(String text) {
        int at = text.indexOf(';') + 1;
        List found = new ArrayList();
        String[] lengths = text.substring(0, at - 1).split(",");
        for (int i = 0; i < lengths.length; i++) {
            int end = at + Integer.parseInt(lengths[i]);
            found.add(text.substring(at, end));
            at = end;
        }
        return found;
    }

    /** A name of which only so many characters are read: an expression that backtracks without end reads more. */
    private static class Input implements CharSequence {
        private final String text;
        private final long most;
        long read = 0;

        Input(String text, long most) {
            this.text = text;
            this.most = most;
        }

        public int length() {
            return this.text.length();
        }

        public char charAt(int index) {
            if (++this.read > this.most) {
                throw new SlowException();
            }
            return this.text.charAt(index);
        }

        public CharSequence subSequence(int start, int end) {
            return this.text.substring(start, end);
        }

        public String toString() {
            return this.text;
        }
    }

    private static class SlowException extends RuntimeException {
    }
}
