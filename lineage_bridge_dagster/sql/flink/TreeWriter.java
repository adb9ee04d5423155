package lineage;

import java.util.List;
import org.apache.calcite.sql.SqlCall;
import org.apache.calcite.sql.SqlCharStringLiteral;
import org.apache.calcite.sql.SqlCollectionTypeNameSpec;
import org.apache.calcite.sql.SqlDataTypeSpec;
import org.apache.calcite.sql.SqlDelete;
import org.apache.calcite.sql.SqlExplicitModelCall;
import org.apache.calcite.sql.SqlHint;
import org.apache.calcite.sql.SqlIdentifier;
import org.apache.calcite.sql.SqlInsert;
import org.apache.calcite.sql.SqlIntervalQualifier;
import org.apache.calcite.sql.SqlJoin;
import org.apache.calcite.sql.SqlLiteral;
import org.apache.calcite.sql.SqlMerge;
import org.apache.calcite.sql.SqlNode;
import org.apache.calcite.sql.SqlNodeList;
import org.apache.calcite.sql.SqlSelect;
import org.apache.calcite.sql.SqlTableRef;
import org.apache.calcite.sql.SqlTypeNameSpec;
import org.apache.calcite.sql.SqlUnnestOperator;
import org.apache.calcite.sql.SqlUpdate;
import org.apache.calcite.sql.SqlUserDefinedTypeNameSpec;
import org.apache.calcite.sql.SqlWithItem;
import org.apache.calcite.sql.parser.SqlParserPos;
import org.apache.flink.sql.parser.ddl.*;
import org.apache.flink.sql.parser.ddl.position.SqlTableColumnPosition;
import org.apache.flink.sql.parser.dml.*;
import org.apache.flink.sql.parser.type.ExtendedSqlRowTypeNameSpec;
import org.apache.flink.sql.parser.type.SqlMapTypeNameSpec;
import org.apache.flink.sql.parser.type.SqlRawTypeNameSpec;
import org.apache.flink.sql.parser.type.SqlStructuredTypeNameSpec;

/**
 * Writes one syntax tree as JSON.
 *
 * <p>A tree is a flat list of nodes in post-order with children by index, so that reading a chain of ten thousand
 * ORs needs no deep recursion. -1 represents a node that cannot contain a table, a column or a type (a literal, a
 * hint). What such nodes say is in the notes: literals and types as digests, for two versions of a statement to be
 * compared without their text.
 *
 * <p>Compiled at run time by Janino, hence plain Java: no lambdas, no inferred generics.
 */
public class TreeWriter {
    private static final java.util.regex.Pattern OPTION = java.util.regex.Pattern.compile(
        "connector|topic|url|hosts|uri|database-name|schema-name|hostname|port"
        + "|error-handling\\.(mode|log\\.target)|properties\\.bootstrap\\.servers"
        + "|(key|value)\\.(format|fields-prefix|[a-z-]+\\.(subject-names|schema-context))"
        + "|([a-z0-9_-]+\\.)?(connection|database|collection|container|index|bucket|scope|table-name|path)");

    public final StringBuilder out = new StringBuilder();
    /** Index of a node and what its children alone do not tell, as the fields of a JSON object. */
    public final StringBuilder notes = new StringBuilder();
    private int count = 0;
    /** The note of the node that is written next. */
    private String note = "";

    /** Adds a node with all below it. Returns its index, or -1. */
    public int write(SqlNode node) {
        if (node instanceof SqlIdentifier) {
            SqlIdentifier id = (SqlIdentifier) node;
            if (id.isSimple() && !id.isComponentQuoted(0) && isNiladic(id.getSimple())) {
                return call("NILADIC", id.getSimple(), new int[0]);
            }
            return identifier(id.names, id.getParserPosition());
        }
        if (node instanceof SqlNodeList) {
            return call("LIST", "", children(((SqlNodeList) node).getList()));
        }
        if (node instanceof SqlDataTypeSpec) {
            return type(((SqlDataTypeSpec) node).getTypeNameSpec());
        }
        if (node instanceof SqlExplicitModelCall) {
            SqlIdentifier model = ((SqlExplicitModelCall) node).getModelIdentifier();
            return call("MODEL", "", new int[] {identifier(model.names, model.getParserPosition())});
        }
        if (node instanceof SqlHint || !(node instanceof SqlCall)) {
            return -1;
        }
        if (node.getClass().getName().startsWith("org.apache.flink.sql.parser.d")) {
            return statement(node);
        }
        return query((SqlCall) node);
    }

    private int query(SqlCall node) {
        String kind = node.getKind().name();
        if (node instanceof SqlSelect) {
            SqlSelect s = (SqlSelect) node;
            int[] parts = new int[] {
                write(s.getFrom()), write(s.getSelectList()), write(s.getWhere()), write(s.getGroup()),
                write(s.getHaving()), write(s.getWindowList()), write(s.getQualify()),
                write(s.getOrderList()), write(s.getOffset()), write(s.getFetch())};
            this.note = (s.isDistinct() ? "DISTINCT" : "") + digest(s.getWhere()) + digest(s.getHaving());
            return call(kind, "", parts);
        }
        if (node instanceof SqlWithItem) {
            SqlWithItem w = (SqlWithItem) node;
            boolean recursive = w.recursive != null && w.recursive.booleanValue();
            return call(kind, recursive ? "RECURSIVE" : "",
                new int[] {write(w.name), write(w.columnList), write(w.query)});
        }
        if (node instanceof SqlJoin) {
            SqlJoin j = (SqlJoin) node;
            return call(kind, (j.isNatural() ? "NATURAL " : "") + j.getJoinType().name() + " "
                + j.getConditionType().name(), children(j.getOperandList()));
        }
        if (node.getOperator() instanceof SqlUnnestOperator) {
            boolean ordinality = ((SqlUnnestOperator) node.getOperator()).withOrdinality;
            return call(kind, ordinality ? "WITH ORDINALITY" : "", children(node.getOperandList()));
        }
        if (node instanceof SqlInsert) {
            return insert((SqlInsert) node);
        }
        if (node instanceof SqlDelete) {
            SqlDelete d = (SqlDelete) node;
            return call(kind, "", new int[] {write(d.getTargetTable()), write(d.getCondition())});
        }
        if (node instanceof SqlUpdate) {
            SqlUpdate u = (SqlUpdate) node;
            return call(kind, "", new int[] {write(u.getTargetTable()), write(u.getTargetColumnList()),
                write(u.getSourceExpressionList()), write(u.getCondition())});
        }
        if (node instanceof SqlMerge) {
            SqlMerge m = (SqlMerge) node;
            return call(kind, "", new int[] {write(m.getTargetTable()), write(m.getSourceTableRef()),
                write(m.getCondition()), write(m.getUpdateCall()), write(m.getInsertCall())});
        }
        if (node instanceof SqlTableRef) {
            int table = write((SqlNode) node.getOperandList().get(0));
            this.note = scan((SqlNodeList) node.getOperandList().get(1));
            return call(kind, "", new int[] {table});
        }
        String name = node.getOperator().getName();
        int[] operands = children(node.getOperandList());
        String literals = this.note;
        this.note = "";
        if (node.getFunctionQuantifier() != null) {
            literals += node.getFunctionQuantifier();
        }
        if (operands.length > 0 && isModelFunction(name)) {
            Object model = node.getOperandList().get(0);
            if (model instanceof SqlCharStringLiteral) {
                operands[0] = call("MODEL", ((SqlCharStringLiteral) model).toValue(), new int[0]);
            }
        }
        if (operands.length > 0 && name.toUpperCase(java.util.Locale.ROOT).matches(".*_SEARCH(_AGG)?")) {
            Object table = node.getOperandList().get(0);
            if (table instanceof SqlCharStringLiteral) {
                String[] parts = ((SqlCharStringLiteral) table).toValue().replace("`", "").split("\\.");
                operands[0] = identifier(java.util.Arrays.asList(parts), node.getParserPosition());
            }
        }
        this.note = literals;
        return call(kind, name, operands);
    }

    /** Confluent's functions take the model's name as a string. */
    private static boolean isModelFunction(String name) {
        return name.equalsIgnoreCase("ML_PREDICT") || name.equalsIgnoreCase("AI_COMPLETE")
            || name.equalsIgnoreCase("AI_EMBEDDING");
    }

    /** A statement that Flink adds. Those not listed here have no data flow, so only the kind is returned. */
    private int statement(SqlNode node) {
        String kind = node.getClass().getSimpleName();
        if (node instanceof SqlInsert) {
            return insert((SqlInsert) node);
        }
        if (node instanceof SqlStatementSet || node instanceof SqlExecute
            || node instanceof SqlCompileAndExecutePlan) {
            return call(kind, "", children(((SqlCall) node).getOperandList()));
        }
        if (node instanceof SqlCreateView) {
            SqlCreateView v = (SqlCreateView) node;
            return call(kind, flags(v.isTemporary(), v.isIfNotExists()),
                new int[] {write(v.getViewName()), write(v.getQuery()), write(v.getFieldList())});
        }
        if (node instanceof SqlAlterViewAs) {
            SqlAlterViewAs v = (SqlAlterViewAs) node;
            return call(kind, "", new int[] {write(v.getViewIdentifier()), write(v.getNewQuery())});
        }
        if (node instanceof SqlAlterViewRename) {
            SqlAlterViewRename v = (SqlAlterViewRename) node;
            return call(kind, "", new int[] {write(v.getViewIdentifier()),
                identifier(java.util.Arrays.asList(v.fullNewViewName()), v.getParserPosition())});
        }
        if (node instanceof SqlDropView) {
            SqlDropView v = (SqlDropView) node;
            return call(kind, v.isTemporary() ? "TEMPORARY" : "", new int[] {write(v.getViewName())});
        }
        if (node instanceof SqlCreateTable) {
            return createTable((SqlCreateTable) node);
        }
        if (node instanceof SqlDropTable) {
            SqlDropTable t = (SqlDropTable) node;
            return call(kind, t.isTemporary() ? "TEMPORARY" : "", new int[] {write(t.getTableName())});
        }
        if (node instanceof SqlAlterTable) {
            return alterTable((SqlAlterTable) node);
        }
        if (node instanceof SqlCreateMaterializedTable) {
            SqlCreateMaterializedTable t = (SqlCreateMaterializedTable) node;
            return call(kind, "", new int[] {write(t.getTableName()), write(t.getAsQuery())});
        }
        if (node instanceof SqlAlterMaterializedTableAsQuery) {
            SqlAlterMaterializedTableAsQuery t = (SqlAlterMaterializedTableAsQuery) node;
            return call(kind, "", new int[] {write(t.getTableName()), write(t.getAsQuery())});
        }
        if (node instanceof SqlCreateModelAs) {
            SqlCreateModelAs m = (SqlCreateModelAs) node;
            return call(kind, "", new int[] {write(m.getModelName()), write(m.getAsQuery())});
        }
        if (node instanceof SqlCreateModel) {
            SqlCreateModel m = (SqlCreateModel) node;
            return call(kind, flags(m.isTemporary(), m.isIfNotExists()),
                new int[] {write(m.getModelName()), columns(m.getOutputColumnList())});
        }
        if (node instanceof SqlDropModel) {
            return call(kind, "", new int[] {write((SqlNode) ((SqlDropModel) node).getOperandList().get(0))});
        }
        if (node instanceof SqlUseCatalog) {
            return call(kind, "", new int[] {write(((SqlUseCatalog) node).getCatalogName())});
        }
        if (node instanceof SqlUseDatabase) {
            return call(kind, "", new int[] {write(((SqlUseDatabase) node).getDatabaseName())});
        }
        if (node instanceof SqlSet) {
            SqlSet s = (SqlSet) node;
            // Other settings are irrelevant to data flow and can be secrets.
            if (s.getKey() != null && s.getKeyString().startsWith("sql.current-")) {
                return call(kind, s.getKeyString(), new int[] {
                    identifier(java.util.Collections.singletonList(s.getValueString()), s.getParserPosition())});
            }
        }
        return call(kind, "", new int[0]);
    }

    private int insert(SqlInsert node) {
        int partitions = -1;
        if (node instanceof RichSqlInsert) {
            List names = new java.util.ArrayList(((RichSqlInsert) node).getStaticPartitionKVs().keySet());
            partitions = names.isEmpty() ? -1 : identifier(names, node.getParserPosition());
        }
        return call("INSERT", "", new int[] {write(node.getTargetTable()), write(node.getSource()),
            write(node.getTargetColumnList()), partitions});
    }

    /** The name holds the flags and, separated by semicolons, the options of LIKE. */
    private int createTable(SqlCreateTable t) {
        String kind = t.getClass().getSimpleName();
        String flags = flags(t.isTemporary(), t.isIfNotExists());
        int second = -1;
        // getOperandList of SqlReplaceTableAs throws; the getters work.
        if (t instanceof SqlReplaceTableAs) {
            second = write(((SqlReplaceTableAs) t).getAsQuery());
        } else if (t instanceof SqlCreateTableAs) {
            second = write(((SqlCreateTableAs) t).getAsQuery());
        } else if (t instanceof SqlCreateTableLike) {
            SqlTableLike like = ((SqlCreateTableLike) t).getTableLike();
            second = write(like.getSourceTable());
            List options = like.getOptions();
            for (int i = 0; i < options.size(); i++) {
                SqlTableLike.SqlTableLikeOption option = (SqlTableLike.SqlTableLikeOption) options.get(i);
                flags += ";" + option.getMergingStrategy().name() + " " + option.getFeatureOption().name();
            }
        }
        return call(kind, flags, new int[] {write(t.getTableName()), second, columns(t.getColumnList()),
            options(t.getPropertyList()), rowtime(t.getWatermark())});
    }

    /** The column of a watermark. */
    private int rowtime(java.util.Optional watermark) {
        return watermark.isPresent() ? write(((SqlWatermark) watermark.get()).getEventTimeColumnName()) : -1;
    }

    /**
     * An identifier of keys and values by turns: of the options that tell which topics, schemas or outside tables a
     * table stands for. Any other can be a secret.
     */
    private int options(SqlNodeList properties) {
        List flat = new java.util.ArrayList();
        for (int i = 0; properties != null && i < properties.size(); i++) {
            String key = null;
            String value = "";
            if (properties.get(i) instanceof SqlTableOption) {
                key = ((SqlTableOption) properties.get(i)).getKeyString();
                value = ((SqlTableOption) properties.get(i)).getValueString();
            } else if (properties.get(i) instanceof SqlCharStringLiteral) {
                key = ((SqlCharStringLiteral) properties.get(i)).toValue();
            }
            if (key != null && value != null && OPTION.matcher(key).matches()) {
                flat.add(key);
                flat.add(value);
            }
        }
        return flat.isEmpty() ? -1 : identifier(flat, properties.getParserPosition());
    }

    private int alterTable(SqlAlterTable t) {
        String kind = t.getClass().getSimpleName();
        int table = identifier(t.getTableName().names, t.getParserPosition());
        if (t instanceof SqlAlterTableSchema) {
            SqlAlterTableSchema schema = (SqlAlterTableSchema) t;
            return call(kind, "",
                new int[] {table, columns(schema.getColumnPositions()), rowtime(schema.getWatermark())});
        }
        if (t instanceof SqlAlterTableDropColumn) {
            return call(kind, "", new int[] {table, write(((SqlAlterTableDropColumn) t).getColumnList())});
        }
        if (t instanceof SqlAlterTableRenameColumn) {
            SqlAlterTableRenameColumn r = (SqlAlterTableRenameColumn) t;
            return call(kind, "", new int[] {table, write(r.getOldColumnIdentifier()),
                write(r.getNewColumnIdentifier())});
        }
        if (t instanceof SqlAlterTableRename) {
            return call(kind, "", new int[] {table, identifier(
                java.util.Arrays.asList(((SqlAlterTableRename) t).fullNewTableName()), t.getParserPosition())});
        }
        if (t instanceof SqlAlterTableOptions) {
            return call(kind, "", new int[] {table, options(((SqlAlterTableOptions) t).getPropertyList()), -1});
        }
        if (t instanceof SqlAlterTableReset) {
            return call(kind, "", new int[] {table, -1, options(((SqlAlterTableReset) t).getPropertyKeyList())});
        }
        return call(kind, "", new int[] {table});
    }

    private static String flags(boolean temporary, boolean ifNotExists) {
        return (temporary ? "TEMPORARY " : "") + (ifNotExists ? "IF NOT EXISTS" : "");
    }

    /** Declared columns. A name alone is an identifier, a place in the table a POSITION around the column. */
    private int columns(SqlNodeList list) {
        if (list == null) {
            return -1;
        }
        List nodes = list.getList();
        int[] indexes = new int[nodes.size()];
        for (int i = 0; i < indexes.length; i++) {
            Object column = nodes.get(i);
            if (column instanceof SqlTableColumnPosition) {
                SqlTableColumnPosition p = (SqlTableColumnPosition) column;
                indexes[i] = call("POSITION", p.isFirstColumn() ? "FIRST" : "",
                    new int[] {column(p.getColumn()), write(p.getAfterReferencedColumn())});
            } else if (column instanceof SqlTableColumn) {
                indexes[i] = column((SqlTableColumn) column);
            } else {
                indexes[i] = write((SqlNode) column);
            }
        }
        return call("LIST", "", indexes);
    }

    /** A column's name and type, with how it gets its values unless it is written; without expressions. */
    private int column(SqlTableColumn column) {
        String how = "";
        SqlDataTypeSpec type = null;
        if (column instanceof SqlTableColumn.SqlComputedColumn) {
            how = "COMPUTED";
        } else if (column instanceof SqlTableColumn.SqlMetadataColumn) {
            how = ((SqlTableColumn.SqlMetadataColumn) column).isVirtual() ? "VIRTUAL METADATA" : "METADATA";
            type = ((SqlTableColumn.SqlMetadataColumn) column).getType();
        } else {
            type = ((SqlTableColumn.SqlRegularColumn) column).getType();
        }
        SqlIdentifier name = column.getName();
        return call("COLUMN", how, new int[] {identifier(name.names, name.getParserPosition()),
            type == null ? -1 : type(type.getTypeNameSpec())});
    }

    /** A type as far as it decides which columns UNNEST and a star make of it. */
    private int type(SqlTypeNameSpec spec) {
        if (spec instanceof ExtendedSqlRowTypeNameSpec) {
            List names = ((ExtendedSqlRowTypeNameSpec) spec).getFieldNames();
            List types = ((ExtendedSqlRowTypeNameSpec) spec).getFieldTypes();
            int[] fields = new int[names.size()];
            for (int i = 0; i < fields.length; i++) {
                // Not an identifier: it is not a column's name.
                fields[i] = call("FIELD", ((SqlIdentifier) names.get(i)).getSimple(),
                    new int[] {write((SqlNode) types.get(i))});
            }
            return call("TYPE", "ROW", fields);
        }
        if (spec instanceof SqlCollectionTypeNameSpec) {
            SqlTypeNameSpec element = ((SqlCollectionTypeNameSpec) spec).getElementTypeName();
            return call("TYPE", "ARRAY", new int[] {type(element)});
        }
        if (spec instanceof org.apache.calcite.sql.SqlMapTypeNameSpec) {
            org.apache.calcite.sql.SqlMapTypeNameSpec map = (org.apache.calcite.sql.SqlMapTypeNameSpec) spec;
            return call("TYPE", "MAP", new int[] {write(map.getKeyType()), write(map.getValType())});
        }
        if (spec instanceof SqlMapTypeNameSpec) {
            SqlMapTypeNameSpec map = (SqlMapTypeNameSpec) spec;
            return call("TYPE", "MAP", new int[] {write(map.getKeyType()), write(map.getValType())});
        }
        boolean unknown = spec instanceof SqlUserDefinedTypeNameSpec || spec instanceof SqlRawTypeNameSpec
            || spec instanceof SqlStructuredTypeNameSpec;
        if (unknown) {
            return -1;
        }
        this.note = new SqlDataTypeSpec(spec, SqlParserPos.ZERO).toString();
        return call("TYPE", "SCALAR", new int[0]);
    }

    /** Functions that are called without parentheses; a column of the same name must be quoted. */
    private static boolean isNiladic(String name) {
        String upper = name.toUpperCase(java.util.Locale.ROOT);
        return upper.equals("CURRENT_TIMESTAMP") || upper.equals("CURRENT_DATE")
            || upper.equals("CURRENT_TIME") || upper.equals("LOCALTIME") || upper.equals("LOCALTIMESTAMP")
            || upper.equals("USER") || upper.equals("CURRENT_USER") || upper.equals("SESSION_USER")
            || upper.equals("SYSTEM_USER") || upper.equals("CURRENT_ROLE") || upper.equals("CURRENT_PATH")
            || upper.equals("CURRENT_CATALOG") || upper.equals("CURRENT_SCHEMA");
    }

    private int[] children(List nodes) {
        int[] indexes = new int[nodes.size()];
        for (int i = 0; i < indexes.length; i++) {
            indexes[i] = write((SqlNode) nodes.get(i));
        }
        String literals = "";
        for (int i = 0; i < indexes.length; i++) {
            String literal = digest((SqlNode) nodes.get(i));
            literals += literal.length() > 0 ? i + literal + ";" : "";
        }
        this.note = literals;
        return indexes;
    }

    /** A literal or the unit of an interval in a form that tells it from others; empty for any other node. */
    private static String digest(SqlNode node) {
        boolean literal = node instanceof SqlLiteral || node instanceof SqlIntervalQualifier;
        return literal ? "#" + Integer.toHexString(node.toString().hashCode()) : "";
    }

    /** The options of a hint that decide which records are read, in a form that tells them from others. */
    private static String scan(SqlNodeList hints) {
        java.util.TreeMap found = new java.util.TreeMap();
        for (int i = 0; i < hints.size(); i++) {
            java.util.Map options = ((SqlHint) hints.get(i)).getOptionKVPairs();
            for (java.util.Iterator keys = options.keySet().iterator(); keys.hasNext(); ) {
                String key = (String) keys.next();
                if (key.startsWith("scan.") && !key.equals("scan.parallelism")) {
                    found.put(key, options.get(key));
                }
            }
        }
        return found.isEmpty() ? "" : Integer.toHexString(found.hashCode());
    }

    private int identifier(List names, SqlParserPos pos) {
        this.out.append(this.count == 0 ? "" : ",").append("[\"ID\",[");
        for (int i = 0; i < names.size(); i++) {
            this.out.append(i == 0 ? "" : ",");
            TextWorker.quote(this.out, (String) names.get(i));
        }
        this.out.append("],[").append(pos.getLineNum()).append(",").append(pos.getColumnNum()).append("]]");
        return this.count++;
    }

    private int call(String kind, String name, int[] children) {
        this.out.append(this.count == 0 ? "" : ",").append("[\"").append(kind).append("\",");
        TextWorker.quote(this.out, name);
        this.out.append(",[");
        for (int i = 0; i < children.length; i++) {
            this.out.append(i == 0 ? "" : ",").append(children[i]);
        }
        this.out.append("]]");
        if (this.note.length() > 0) {
            this.notes.append(this.notes.length() == 0 ? "" : ",").append("\"").append(this.count).append("\":");
            TextWorker.quote(this.notes, this.note);
            this.note = "";
        }
        return this.count++;
    }
}
