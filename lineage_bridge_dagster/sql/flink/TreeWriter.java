package lineage;

import java.util.List;
import java.util.regex.Pattern;
import org.apache.calcite.sql.SqlCall;
import org.apache.calcite.sql.SqlCharStringLiteral;
import org.apache.calcite.sql.SqlDataTypeSpec;
import org.apache.calcite.sql.SqlDelete;
import org.apache.calcite.sql.SqlExplicitModelCall;
import org.apache.calcite.sql.SqlHint;
import org.apache.calcite.sql.SqlIdentifier;
import org.apache.calcite.sql.SqlInsert;
import org.apache.calcite.sql.SqlJoin;
import org.apache.calcite.sql.SqlMerge;
import org.apache.calcite.sql.SqlNode;
import org.apache.calcite.sql.SqlNodeList;
import org.apache.calcite.sql.SqlSelect;
import org.apache.calcite.sql.SqlTableRef;
import org.apache.calcite.sql.SqlUnnestOperator;
import org.apache.calcite.sql.SqlUpdate;
import org.apache.calcite.sql.SqlWithItem;
import org.apache.flink.sql.parser.ddl.*;
import org.apache.flink.sql.parser.dml.*;

/** Writes queries, and the statements that Flink adds. */
public class TreeWriter extends TableWriter {
    /** Functions that are called without parentheses; a column of the same name must be quoted. */
    private static final Pattern NILADIC = Pattern.compile(
        "CURRENT_(TIMESTAMP|DATE|TIME|USER|ROLE|PATH|CATALOG|SCHEMA)|LOCALTIME(STAMP)?|(SESSION_|SYSTEM_)?USER",
        Pattern.CASE_INSENSITIVE);
    /** Confluent's functions that take the model's name as a string. */
    private static final Pattern OF_MODEL = Pattern.compile(
        "ML_PREDICT|AI_COMPLETE|AI_EMBEDDING", Pattern.CASE_INSENSITIVE);
    /** Confluent's functions that take the table's name as a string. */
    private static final Pattern SEARCH = Pattern.compile(".*_SEARCH(_AGG)?", Pattern.CASE_INSENSITIVE);

    public int write(SqlNode node) {
        if (node instanceof SqlIdentifier) {
            SqlIdentifier id = (SqlIdentifier) node;
            if (id.isSimple() && !id.isComponentQuoted(0) && NILADIC.matcher(id.getSimple()).matches()) {
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
        if (operands.length > 0 && OF_MODEL.matcher(name).matches()) {
            Object model = node.getOperandList().get(0);
            if (model instanceof SqlCharStringLiteral) {
                operands[0] = call("MODEL", ((SqlCharStringLiteral) model).toValue(), new int[0]);
            }
        }
        if (operands.length > 0 && SEARCH.matcher(name).matches()) {
            Object table = node.getOperandList().get(0);
            if (table instanceof SqlCharStringLiteral) {
                String[] parts = ((SqlCharStringLiteral) table).toValue().replace("`", "").split("\\.");
                operands[0] = identifier(java.util.Arrays.asList(parts), node.getParserPosition());
            }
        }
        this.note = literals;
        return call(kind, name, operands);
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
}
