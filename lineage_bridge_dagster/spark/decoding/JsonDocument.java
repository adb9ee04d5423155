package lineage;

import com.fasterxml.jackson.annotation.JsonRawValue;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The values of a record: maps, lists, strings, booleans, figures and nulls.
 *
 * <p>Compiled at run time by Janino, hence plain Java: no lambdas, no inferred generics.
 */
public final class JsonDocument {
    static final ObjectMapper MAPPER = new ObjectMapper();
    private static final JsonFactory FACTORY = factory();
    final Object value;
    /** Whether something follows the value. */
    final boolean isFollowed;
    /** Whether a name occurs twice in an object, of which the last counts. */
    boolean isRepeating = false;
    private final byte[] body;
    private final String text;

    JsonDocument(byte[] body) throws IOException {
        this.body = body;
        this.text = new String(body, StandardCharsets.UTF_8);
        JsonParser parser = FACTORY.createParser(this.text);
        try {
            JsonToken first = parser.nextToken();
            if (first == null) {
                throw new IOException("empty");
            }
            this.value = read(parser, first);
            this.isFollowed = isFollowed(parser);
        } finally {
            parser.close();
        }
    }

    /** Whether it is not UTF-8, which Java repairs. */
    boolean isInvalid() {
        return this.text.indexOf('\ufffd') >= 0 && !UTF8String.fromBytes(this.body).isValid();
    }

    private static boolean isFollowed(JsonParser parser) {
        try {
            return parser.nextToken() != null;
        } catch (IOException notJson) {
            return true;
        }
    }

    private Object read(JsonParser parser, JsonToken token) throws IOException {
        switch (token.id()) {
            case 1: // START_OBJECT
                Map<String, Object> map = new LinkedHashMap<String, Object>();
                for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
                    int size = map.size();
                    map.put(name, read(parser, parser.nextToken()));
                    this.isRepeating |= map.size() == size;
                }
                return map;
            case 3: // START_ARRAY
                List<Object> list = new ArrayList<Object>();
                for (JsonToken each = parser.nextToken(); each.id() != 4; each = parser.nextToken()) {
                    list.add(read(parser, each));
                }
                return list;
            case 6: // VALUE_STRING
                return parser.getText();
            case 7: // VALUE_NUMBER_INT
                return new Figure(parser.getText(), true);
            case 8: // VALUE_NUMBER_FLOAT
                return new Figure(parser.getText(), false);
            case 9: // VALUE_TRUE
                return Boolean.TRUE;
            case 10: // VALUE_FALSE
                return Boolean.FALSE;
            default:
                return null;
        }
    }

    private static JsonFactory factory() {
        JsonFactory factory = new JsonFactory();
        factory.disable(JsonFactory.Feature.INTERN_FIELD_NAMES);
        factory.setStreamReadConstraints(StreamReadConstraints.builder().maxStringLength(Integer.MAX_VALUE)
            .maxNameLength(Integer.MAX_VALUE).build());
        return factory;
    }

    /** The JSON of a value, with its numbers written out. */
    static String json(Object value) {
        try {
            return MAPPER.writeValueAsString(value);
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** A number as it is written. */
    public static final class Figure {
        /** The most places before and behind the point that are written out. */
        private static final int MOST_PLACES = 80;
        final String text;
        final boolean isInteger;

        Figure(String text, boolean isInteger) {
            this.text = text;
            this.isInteger = isInteger;
        }

        /** Without idle zeros; null if its exponent is too large. */
        BigDecimal exact() {
            try {
                return new BigDecimal(this.text).stripTrailingZeros();
            } catch (NumberFormatException tooLarge) {
                return null;
            }
        }

        /** The integer, also if it is written as 1.0 or 1e3; null if it is none, or too large for 64 bits. */
        Long integer() {
            if (this.isInteger && this.text.length() < 19) {
                return Long.valueOf(this.text);
            }
            BigDecimal exact = this.exact();
            if (exact == null || exact.scale() > 0 || (long) exact.precision() - exact.scale() > 19) {
                return null;
            }
            BigInteger integer = exact.toBigInteger();
            return integer.bitLength() < 64 ? Long.valueOf(integer.longValue()) : null;
        }

        /** As Jackson writes it, too. */
        @JsonValue
        @JsonRawValue
        public String plain() {
            BigDecimal exact = this.exact();
            boolean isShort = exact != null && Math.abs((long) exact.scale()) <= MOST_PLACES;
            return isShort ? exact.toPlainString() : this.text;
        }
    }
}
