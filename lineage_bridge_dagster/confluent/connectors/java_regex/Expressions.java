package lineage;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Evaluates regular expressions on names: those of java.util.regex, and those of RE2/J, which Hadoop's client has
 * with it.
 */
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
     *     of names, the names, and for each query its kind, its syntax ("java" or "re2"), expression and replacement
     * @return "answers": for each query a list, or the "error" with "slow": whether it took too many steps
     */
    protected String answer(String text) {
        List fields = fields(text);
        long most = Long.parseLong((String) fields.get(0));
        long inAll = Long.parseLong((String) fields.get(1));
        int last = 3 + Integer.parseInt((String) fields.get(2));
        List names = fields.subList(3, last);
        StringBuilder out = new StringBuilder("{\"answers\":[");
        for (int at = last; at < fields.size(); at += 4) {
            StringBuilder answer = new StringBuilder();
            String name = "";
            long read = 0;
            try {
                if (slowNames(fields.get(at + 2)) >= MOST_SLOW) {
                    throw new SlowException();
                }
                Expression expression = ((String) fields.get(at + 1)).equals("re2")
                    ? (Expression) new Re2Expression((String) fields.get(at + 2))
                    : (Expression) new JavaExpression((String) fields.get(at + 2));
                for (int i = 0; i < names.size(); i++) {
                    name = (String) names.get(i);
                    Input input = new Input(name, read < inAll ? most : most / 1000);
                    expression.on(input);
                    evaluate((String) fields.get(at), expression, (String) fields.get(at + 3), name, i, answer);
                    read += input.read;
                }
                out.append(at == last ? "" : ",").append('[').append(answer).append(']');
            } catch (SlowException e) {
                this.slow.put(fields.get(at + 2), Integer.valueOf(slowNames(fields.get(at + 2)) + 1));
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

    private static void evaluate(String kind, Expression expression, String replacement, String name, int index,
            StringBuilder out) {
        if (kind.equals("matches") || kind.equals("finds")) {
            if (kind.equals("matches") ? expression.matches() : expression.find()) {
                out.append(out.length() == 0 ? "" : ",").append(index);
            }
            return;
        }
        out.append(out.length() == 0 ? "" : ",");
        if (kind.equals("replaced")) {
            quote(out, expression.matches() ? expression.replaceFirst(replacement) : name);
        } else if (kind.equals("groups")) {
            out.append(expression.matches() ? groups(expression) : "null");
        }
    }

    private static String groups(Expression expression) {
        StringBuilder out = new StringBuilder("[");
        for (int i = 0; i <= expression.groupCount(); i++) {
            out.append(i == 0 ? "" : ",");
            quote(out, expression.group(i) == null ? "" : expression.group(i));
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

    /** The methods that the matchers of both libraries have. */
    private abstract static class Expression {
        abstract void on(Input input);

        abstract boolean matches();

        abstract boolean find();

        abstract String replaceFirst(String replacement);

        abstract int groupCount();

        abstract String group(int number);
    }

    private static class JavaExpression extends Expression {
        private final java.util.regex.Pattern pattern;
        private java.util.regex.Matcher matcher;

        JavaExpression(String text) {
            this.pattern = java.util.regex.Pattern.compile(text);
        }

        void on(Input input) {
            this.matcher = this.pattern.matcher(input);
        }

        boolean matches() {
            return this.matcher.matches();
        }

        boolean find() {
            return this.matcher.find();
        }

        String replaceFirst(String replacement) {
            return this.matcher.replaceFirst(replacement);
        }

        int groupCount() {
            return this.matcher.groupCount();
        }

        String group(int number) {
            return this.matcher.group(number);
        }
    }

    private static class Re2Expression extends Expression {
        private final org.apache.hadoop.shaded.com.google.re2j.Pattern pattern;
        private org.apache.hadoop.shaded.com.google.re2j.Matcher matcher;

        Re2Expression(String text) {
            this.pattern = org.apache.hadoop.shaded.com.google.re2j.Pattern.compile(text);
        }

        void on(Input input) {
            this.matcher = this.pattern.matcher(input);
        }

        boolean matches() {
            return this.matcher.matches();
        }

        boolean find() {
            return this.matcher.find();
        }

        String replaceFirst(String replacement) {
            return this.matcher.replaceFirst(replacement);
        }

        int groupCount() {
            return this.matcher.groupCount();
        }

        String group(int number) {
            return this.matcher.group(number);
        }
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
