package lineage;

import org.apache.calcite.sql.parser.SqlParseException;
import org.apache.calcite.sql.parser.SqlParser;
import org.apache.calcite.sql.parser.SqlParserPos;
import org.apache.calcite.config.Lex;
import org.apache.flink.sql.parser.impl.FlinkSqlParserImpl;
import org.apache.flink.sql.parser.validate.FlinkSqlConformance;

/** Parses Flink SQL statements and returns their syntax trees as JSON. */
public class FlinkTrees extends TextWorker {
    private final SqlParser.Config config;

    public FlinkTrees() {
        // Flink's own settings: the CalciteParser configuration in PlannerContext.
        this.config = SqlParser.config()
            .withParserFactory(FlinkSqlParserImpl.FACTORY)
            .withConformance(FlinkSqlConformance.DEFAULT)
            .withLex(Lex.JAVA)
            .withIdentifierMaxLength(256);
    }

    protected String name() {
        return "the parser";
    }

    protected String answer(String text) throws Exception {
        try {
            TreeWriter writer = new TreeWriter();
            int root = writer.write(SqlParser.create(text, this.config).parseStmt());
            return "{\"root\":" + root + ",\"nodes\":[" + writer.out + "],\"notes\":{" + writer.notes + "}}";
        } catch (SqlParseException e) {
            if (e.getCause() instanceof Error) {
                throw (Error) e.getCause(); // the stack or the memory was too small
            }
            SqlParserPos pos = e.getPos();
            return error(e.getMessage(), pos == null ? 0 : pos.getLineNum(), pos == null ? 0 : pos.getColumnNum());
        }
    }
}
