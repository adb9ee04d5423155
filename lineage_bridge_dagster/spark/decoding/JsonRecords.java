package lineage;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A catalog of Spark with functions that read records of JSON, each named by its plan, which json.py writes.
 *
 * <p>Compiled at run time by Janino, hence plain Java: no lambdas, no inferred generics.
 */
public final class JsonRecords implements FunctionCatalog {
    private String name;

    public void initialize(String name, CaseInsensitiveStringMap options) {
        this.name = name;
    }

    public String name() {
        return this.name;
    }

    public Identifier[] listFunctions(String[] namespace) {
        return new Identifier[0];
    }

    public UnboundFunction loadFunction(Identifier identifier) {
        return new Reader(identifier.name());
    }

    /** Reads the records of one schema. */
    public static final class Reader implements UnboundFunction, ScalarFunction {
        private final String plan;
        private transient JsonShape root;

        Reader(String plan) {
            this.plan = plan;
        }

        public String name() {
            return "json_record";
        }

        public String description() {
            return this.name();
        }

        public String canonicalName() {
            return this.plan;
        }

        public BoundFunction bind(StructType types) {
            return this;
        }

        public DataType[] inputTypes() {
            return new DataType[] {DataTypes.LongType, DataTypes.BinaryType};
        }

        /** The value; or what is wrong with it: before and after the JSON of a part whose type is told. */
        public DataType resultType() {
            StructType type = new StructType().add("value", DataType.fromJson(tree(this.plan).get("type").toString()));
            return type.add("before", "string").add("found", "string").add("after", "string");
        }

        /** Called by Spark, which finds it by its name and types. */
        public InternalRow invoke(long id, byte[] body) {
            if (this.root == null) {
                this.root = new JsonShape(tree(this.plan).get("node"));
            }
            try {
                return new GenericInternalRow(new Object[] {read(body), null, null, null});
            } catch (Exception unfit) {
                return wrong(body, id);
            }
        }

        private Object read(byte[] body) throws IOException {
            JsonDocument document = new JsonDocument(body);
            if (document.isFollowed || document.isInvalid() || (document.value == null && !this.root.isNullable)) {
                throw JsonShape.Unfit.IT;
            }
            return this.root.read(document.value);
        }

        private InternalRow wrong(byte[] body, long id) {
            String[] told = null;
            try {
                JsonDocument document = new JsonDocument(body);
                if (document.isInvalid()) {
                    told = new String[] {"its JSON is not valid UTF-8", null, ""};
                } else if (document.isRepeating) {
                    throw new IOException("a name occurs twice");
                } else {
                    told = this.root.wrong(document.value, "the JSON Schema of id " + id);
                }
            } catch (IOException notJson) {
                boolean isEmpty = new String(body, StandardCharsets.UTF_8).trim().isEmpty();
                told = new String[] {isEmpty ? "its JSON is empty" : "it is not JSON", null, ""};
            }
            if (told == null) {
                told = new String[] {"it does not match the JSON Schema of id " + id
                    + ", in an element, a number's range or what follows the value", null, ""};
            }
            Object[] row = new Object[4];
            for (int i = 0; i < 3; i++) {
                row[i + 1] = UTF8String.fromString(told[i]);
            }
            return new GenericInternalRow(row);
        }

        private static JsonNode tree(String json) {
            try {
                return JsonDocument.MAPPER.readTree(json);
            } catch (IOException notJson) {
                throw new IllegalArgumentException(notJson);
            }
        }
    }
}
