package lineage;

import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.Locale;
import java.util.TimeZone;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import com.google.common.base.CaseFormat;

/** What Java's own classes make of a configuration. A result starts with "=", an error with "!". */
public class JavaOracle {
    /** RegexRouter's algorithm, as in Kafka Connect. */
    public String java(String regex, String replacement, String name) {
        try {
            Matcher matcher = Pattern.compile(regex).matcher(name);
            return "=" + (matcher.matches() ? matcher.replaceFirst(replacement) : name);
        } catch (RuntimeException e) {
            return "!" + e;
        }
    }

    /** A time in milliseconds, as TimestampRouter formats it. */
    public String date(String pattern, String time) {
        try {
            SimpleDateFormat format = new SimpleDateFormat(pattern, Locale.ENGLISH);
            format.setTimeZone(TimeZone.getTimeZone("UTC"));
            return "=" + format.format(new Date(Long.parseLong(time)));
        } catch (RuntimeException e) {
            return "!" + e;
        }
    }

    /** A name in another of Guava's case formats. */
    public String caseFormat(String from, String to, String name) {
        return "=" + CaseFormat.valueOf(from).to(CaseFormat.valueOf(to), name);
    }
}
