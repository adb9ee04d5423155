package lineage;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.types.variant.Variant;
import org.apache.spark.types.variant.VariantBuilder;
import org.apache.spark.unsafe.types.UTF8String;

/** What a schema says of a value, and how it is read: see JsonNode in json_nodes.py. Compiled by Janino. */
final class JsonShape {
    private static final int STRING = 1;
    private static final int BOOLEAN = 2;
    private static final int INTEGER = 4;
    private static final int NUMBER = 8;
    private static final int OBJECT = 16;
    private static final int ARRAY = 32;
    private static final int ANYTHING = 63;
    private static final String[] NAMES = {"STRING", "BOOLEAN", "BIGINT", "DECIMAL", "OBJECT", "ARRAY"};
    /** The longest unscaled number. */
    private static final int MOST_BYTES = 63;

    final boolean isNullable;
    private final String kind;
    private final String path;
    /** Of the kinds of JSON values, those that it has, as a set of bits and in words. */
    private final int expected;
    private final String words;
    private final JsonShape[] nodes;
    private final String[] names;
    private final boolean[] isRequired;
    private final String[][] constants;
    private final JsonShape inner;
    private final JsonShape key;
    private final int precision;
    private final int scale;
    /** Milliseconds that Spark makes a time of. */
    private final long mostMillis;
    /** The alternatives of a union, the most specific one first, and the kinds of values that each takes. */
    private final int[] order;
    private final int[] taken;

    JsonShape(JsonNode plan) {
        this.kind = plan.get("kind").asText();
        this.path = plan.get("path").asText();
        this.isNullable = plan.get("nullable").asBoolean();
        this.expected = kinds(plan.get("expected"));
        this.words = plan.get("words").asText();
        this.mostMillis = plan.get("most_millis").asLong();
        this.precision = plan.get("precision").asInt();
        this.scale = plan.get("scale").asInt();
        this.inner = plan.get("inner").isNull() ? null : new JsonShape(plan.get("inner"));
        this.key = plan.get("key").isNull() ? null : new JsonShape(plan.get("key"));
        JsonNode properties = plan.get("properties");
        this.nodes = new JsonShape[properties.size()];
        this.names = new String[properties.size()];
        this.isRequired = new boolean[properties.size()];
        this.taken = new int[properties.size()];
        this.order = new int[properties.size()];
        for (int i = 0; i < properties.size(); i++) {
            JsonNode each = (JsonNode) properties.get(i);
            this.names[i] = each.get("name").asText();
            this.isRequired[i] = each.get("required").asBoolean();
            this.taken[i] = kinds(each.get("taken"));
            this.nodes[i] = new JsonShape(each.get("node"));
        }
        this.constants = new String[plan.get("constants").size()][];
        int count = 0;
        for (JsonNode each : plan.get("order")) {
            this.order[count++] = each.asInt();
        }
        count = 0;
        for (JsonNode each : plan.get("constants")) {
            this.constants[count++] = new String[] {each.get("name").asText(), each.get("value").asText()};
        }
    }

    private static int kinds(JsonNode names) {
        int kinds = names.isEmpty() ? ANYTHING : 0;
        for (JsonNode each : names) {
            for (int bit = 0; bit < NAMES.length; bit++) {
                kinds |= NAMES[bit].equals(each.asText()) ? 1 << bit : 0;
            }
        }
        return kinds;
    }

    private static int kindOf(Object found) {
        if (found instanceof JsonDocument.Figure) {
            JsonDocument.Figure figure = (JsonDocument.Figure) found;
            return figure.isInteger && figure.integer() != null ? INTEGER : NUMBER;
        }
        if (found instanceof String) {
            return STRING;
        }
        return found instanceof Map ? OBJECT : found instanceof List ? ARRAY : BOOLEAN;
    }

    /**
     * The value in Spark's own form.
     *
     * @throws Unfit it is not of the schema
     */
    Object read(Object found) {
        if (found == null) {
            return null;
        }
        switch (this.kind) {
            case "string":
                return UTF8String.fromString(string(found));
            case "object":
                return this.object(found);
            case "long":
                return integer(found);
            case "int":
            case "date":
            case "time":
                Long integer = integer(found);
                check(integer.longValue() == integer.intValue());
                return Integer.valueOf(integer.intValue());
            case "double":
            case "float":
                return this.real(found);
            case "boolean":
                check(found instanceof Boolean);
                return found;
            case "timestamp":
            case "timestamptz":
                long millis = integer(found).longValue();
                check(millis >= -this.mostMillis && millis <= this.mostMillis);
                return Long.valueOf(millis * 1000);
            case "decimal_number":
            case "decimal_base64":
                return this.decimal(found);
            case "binary":
                return base64(string(found));
            case "array":
                check(found instanceof List);
                return this.inner.all((List) found);
            case "map":
                return this.key == null ? this.map(found) : this.entries(found);
            case "union":
                return this.alternative(found);
            default:
                return text(found);
        }
    }

    private static void check(boolean isFit) {
        if (!isFit) {
            throw Unfit.IT;
        }
    }

    private static String string(Object found) {
        check(found instanceof String);
        return (String) found;
    }

    private static Long integer(Object found) {
        check(found instanceof JsonDocument.Figure);
        Long integer = ((JsonDocument.Figure) found).integer();
        check(integer != null);
        return integer;
    }

    private Object real(Object found) {
        check(found instanceof JsonDocument.Figure);
        double number = Double.parseDouble(((JsonDocument.Figure) found).text);
        if (this.kind.equals("double")) {
            check(!Double.isInfinite(number));
            return Double.valueOf(number);
        }
        check(!Float.isInfinite((float) number));
        return Float.valueOf((float) number);
    }

    private static byte[] base64(String text) {
        try {
            return Base64.getDecoder().decode(text);
        } catch (IllegalArgumentException notBase64) {
            throw Unfit.IT;
        }
    }

    /** A number, or the Base64 of an unscaled big-endian one in two's complement. */
    private Decimal decimal(Object found) {
        BigDecimal exact = null;
        if (found instanceof JsonDocument.Figure && this.kind.equals("decimal_number")) {
            exact = ((JsonDocument.Figure) found).exact();
        } else {
            byte[] unscaled = base64(string(found));
            check(unscaled.length > 0 && unscaled.length <= MOST_BYTES);
            exact = new BigDecimal(new BigInteger(unscaled), this.scale).stripTrailingZeros();
        }
        check(exact != null && exact.scale() <= this.scale);
        check((long) exact.precision() - exact.scale() <= this.precision - this.scale || exact.signum() == 0);
        return Decimal.apply(exact.setScale(this.scale), this.precision, this.scale);
    }

    /** Any value as its JSON, as Spark's variants write it. */
    private static UTF8String text(Object found) {
        try {
            Variant variant = VariantBuilder.parseJson(JsonDocument.json(found), false);
            return UTF8String.fromString(variant.toJson(ZoneOffset.UTC));
        } catch (IOException notJson) {
            throw Unfit.IT;
        }
    }

    private GenericInternalRow object(Object found) {
        check(found instanceof Map);
        Map members = (Map) found;
        Object[] row = new Object[this.nodes.length];
        for (int i = 0; i < row.length; i++) {
            row[i] = this.nodes[i].read(members.get(this.names[i]));
            check(row[i] != null || !this.isRequired[i] || this.nodes[i].isNullable);
        }
        return new GenericInternalRow(row);
    }

    private GenericArrayData all(Iterable found) {
        List<Object> read = new ArrayList<Object>();
        for (Object each : found) {
            read.add(this.read(each));
        }
        return new GenericArrayData(read.toArray());
    }

    private ArrayBasedMapData map(Object found) {
        check(found instanceof Map);
        Object[] keys = ((Map) found).keySet().toArray();
        for (int i = 0; i < keys.length; i++) {
            keys[i] = UTF8String.fromString((String) keys[i]);
        }
        return new ArrayBasedMapData(new GenericArrayData(keys), this.inner.all(((Map) found).values()));
    }

    /** A map as an array of keys and values. */
    private ArrayBasedMapData entries(Object found) {
        check(found instanceof List);
        List<Object> keys = new ArrayList<Object>();
        List<Object> values = new ArrayList<Object>();
        HashSet<Object> different = new HashSet<Object>();
        for (Object each : (List) found) {
            check(each instanceof Map);
            Object key = this.key.read(((Map) each).get("key"));
            check(key != null && different.add(key instanceof byte[] ? ByteBuffer.wrap((byte[]) key) : key));
            keys.add(key);
            values.add(this.inner.read(((Map) each).get("value")));
        }
        return new ArrayBasedMapData(
            new GenericArrayData(keys.toArray()), new GenericArrayData(values.toArray()));
    }

    /** The row of alternatives: the first one that takes the value has it. */
    private GenericInternalRow alternative(Object found) {
        int kind = kindOf(found);
        for (int i : this.order) {
            if ((this.taken[i] & kind) == 0 || !this.nodes[i].isMeant(found)) {
                continue;
            }
            try {
                Object[] row = new Object[this.nodes.length];
                row[i] = this.nodes[i].read(found);
                return new GenericInternalRow(row);
            } catch (Unfit ofAnother) {
                continue;
            }
        }
        throw Unfit.IT;
    }

    /** Whether a value has what tells this alternative from others. */
    private boolean isMeant(Object found) {
        if (!(found instanceof Map) || !this.kind.equals("object")) {
            return true;
        }
        Map members = (Map) found;
        for (String[] constant : this.constants) {
            Object member = members.get(constant[0]);
            boolean isFigure = member instanceof JsonDocument.Figure;
            String text = isFigure ? ((JsonDocument.Figure) member).plain() : String.valueOf(member);
            if (member == null || !text.equals(constant[1])) {
                return false;
            }
        }
        for (int i = 0; i < this.names.length; i++) {
            if (this.isRequired[i] && !members.containsKey(this.names[i])) {
                return false;
            }
        }
        return true;
    }

    /**
     * What is wrong with the first value that is not within an array or a map: what to say before the type of
     * a value, that value's JSON or null, and what to say behind it. Null if nothing is wrong with those.
     */
    String[] wrong(Object found, String schema) {
        if (found == null) {
            return null;
        }
        String subject = this.path.isEmpty() ? "it is " : "its field " + this.path + " is ";
        int kind = kindOf(found);
        if (found instanceof JsonDocument.Figure && ((JsonDocument.Figure) found).integer() != null) {
            kind = INTEGER;
        }
        if ((this.expected & kind) == 0) {
            return new String[] {subject, JsonDocument.json(found), " where " + schema + " has " + this.words};
        }
        if (this.precision > 0 && this.kind.startsWith("decimal")) {
            try {
                this.decimal(found);
            } catch (Unfit unfit) {
                String type = "a decimal(" + this.precision + "," + this.scale + ")";
                String what = found instanceof String ? "a string that is not the Base64 of " + type
                    : "a number that " + type + " does not hold";
                return new String[] {subject + what + ", as " + schema + " has", null, ""};
            }
        }
        if (!this.kind.equals("object")) {
            return null;
        }
        for (int i = 0; i < this.nodes.length; i++) {
            JsonShape node = this.nodes[i];
            Object member = ((Map) found).get(this.names[i]);
            if (member == null && this.isRequired[i] && !node.isNullable) {
                String absent = "its field " + node.path + " is missing or null, and ";
                return new String[] {absent + schema + " requires it", null, ""};
            }
            String[] told = node.wrong(member, schema);
            if (told != null) {
                return told;
            }
        }
        return null;
    }

    /** A value is not of its schema. */
    static final class Unfit extends RuntimeException {
        static final Unfit IT = new Unfit();

        Unfit() {
            super(null, null, false, false);
        }
    }
}
