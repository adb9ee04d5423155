package lineage;

import java.util.List;
import org.apache.calcite.sql.SqlCall;
import org.apache.calcite.sql.SqlCharStringLiteral;
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
import org.apache.calcite.sql.SqlUnnestOperator;
import org.apache.calcite.sql.SqlUpdate;
import org.apache.calcite.sql.SqlWithItem;
import org.apache.calcite.sql.parser.SqlParseException;
import org.apache.calcite.sql.parser.SqlParser;
import org.apache.calcite.sql.parser.SqlParserPos;
import org.apache.calcite.config.Lex;
import org.apache.flink.sql.parser.ddl.*;
import org.apache.flink.sql.parser.dml.*;
import org.apache.flink.sql.parser.impl.FlinkSqlParserImpl;
import org.apache.flink.sql.parser.validate.FlinkSqlConformance;

/**
 * Parses Flink SQL statements and returns their syntax trees as JSON.
 *
 * <p>Python interprets the trees. A tree is a flat list of nodes in post-order with children by index, so that
 * reading a chain of ten thousand ORs needs no deep recursion. -1 represents a node that cannot contain a table
 * or a column (a literal, a type, a hint).
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
                Writer writer = new Writer();
                int root = writer.write(tree);
                return "{\"root\":" + root + ",\"nodes\":[" + writer.out + "]}";
            } catch (SqlParseException e) {
                SqlParserPos pos = e.getPos();
                return Writer.error(e.getMessage(), pos == null ? 0 : pos.getLineNum(),
                    pos == null ? 0 : pos.getColumnNum());
            } catch (StackOverflowError e) {
                return Writer.error("nested too deeply to parse", 0, 0);
            } catch (OutOfMemoryError e) {
                return "{\"error\":\"too large to parse in the memory given\",\"fatal\":true}";
            } catch (Throwable e) {
                return Writer.error(e.getClass().getSimpleName() + ": " + e.getMessage(), 0, 0);
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

    private static class Writer {
        final StringBuilder out = new StringBuilder();
        private int count = 0;

        static String error(String message, int line, int column) {
            StringBuilder json = new StringBuilder("{\"error\":");
            quote(json, String.valueOf(message));
            return json.append(",\"line\":").append(line).append(",\"column\":").append(column).append("}").toString();
        }

        int write(SqlNode node) {
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
            if (node instanceof SqlExplicitModelCall || node instanceof SqlHint || !(node instanceof SqlCall)) {
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
                return call(kind, "", new int[] {
                    write(s.getFrom()), write(s.getSelectList()), write(s.getWhere()), write(s.getGroup()),
                    write(s.getHaving()), write(s.getWindowList()), write(s.getQualify()),
                    write(s.getOrderList()), write(s.getOffset()), write(s.getFetch())});
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
            return call(kind, node.getOperator().getName(), children(node.getOperandList()));
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
                return call(kind, (v.isTemporary() ? "TEMPORARY " : "") + (v.isIfNotExists() ? "IF NOT EXISTS" : ""),
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
            // getOperandList of SqlReplaceTableAs throws; the getters work.
            if (node instanceof SqlReplaceTableAs) {
                SqlReplaceTableAs t = (SqlReplaceTableAs) node;
                return call(kind, "", new int[] {write(t.getTableName()), write(t.getAsQuery()),
                    columns(t.getColumnList())});
            }
            if (node instanceof SqlCreateTableAs) {
                SqlCreateTableAs t = (SqlCreateTableAs) node;
                return call(kind, "", new int[] {write(t.getTableName()), write(t.getAsQuery()),
                    columns(t.getColumnList())});
            }
            if (node.getClass() == SqlCreateTable.class) {
                SqlCreateTable t = (SqlCreateTable) node;
                return call(kind, "", new int[] {write(t.getTableName()), columns(t.getColumnList())});
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
                return call(kind, "", new int[] {-1, write(m.getAsQuery())});
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

        /** Names of declared columns, each with whether it is derived rather than written; without expressions. */
        private int columns(SqlNodeList list) {
            if (list == null) {
                return -1;
            }
            List nodes = list.getList();
            int[] indexes = new int[nodes.size()];
            for (int i = 0; i < indexes.length; i++) {
                Object column = nodes.get(i);
                if (column instanceof SqlTableColumn) {
                    boolean derived = column instanceof SqlTableColumn.SqlComputedColumn
                        || (column instanceof SqlTableColumn.SqlMetadataColumn
                            && ((SqlTableColumn.SqlMetadataColumn) column).isVirtual());
                    SqlIdentifier name = ((SqlTableColumn) column).getName();
                    indexes[i] = call("COLUMN", derived ? "DERIVED" : "",
                        new int[] {identifier(name.names, name.getParserPosition())});
                } else {
                    indexes[i] = write((SqlNode) column);
                }
            }
            return call("LIST", "", indexes);
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
            return indexes;
        }

        private int identifier(List names, SqlParserPos pos) {
            this.out.append(this.count == 0 ? "" : ",").append("[\"ID\",[");
            for (int i = 0; i < names.size(); i++) {
                this.out.append(i == 0 ? "" : ",");
                quote(this.out, (String) names.get(i));
            }
            this.out.append("],[").append(pos.getLineNum()).append(",").append(pos.getColumnNum()).append("]]");
            return this.count++;
        }

        private int call(String kind, String name, int[] children) {
            this.out.append(this.count == 0 ? "" : ",").append("[\"").append(kind).append("\",");
            quote(this.out, name);
            this.out.append(",[");
            for (int i = 0; i < children.length; i++) {
                this.out.append(i == 0 ? "" : ",").append(children[i]);
            }
            this.out.append("]]");
            return this.count++;
        }

        private static void quote(StringBuilder json, String text) {
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
    }
}
