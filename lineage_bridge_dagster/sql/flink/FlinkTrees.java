package lineage;

import java.io.Reader;
import org.apache.calcite.sql.parser.SqlAbstractParserImpl;
import org.apache.calcite.sql.parser.SqlParseException;
import org.apache.calcite.sql.parser.SqlParser;
import org.apache.calcite.sql.parser.SqlParserImplFactory;
import org.apache.calcite.sql.parser.SqlParserPos;
import org.apache.calcite.config.Lex;
import org.apache.flink.sql.parser.impl.FlinkSqlParserImpl;
import org.apache.flink.sql.parser.impl.FlinkSqlParserImplConstants;
import org.apache.flink.sql.parser.impl.FlinkSqlParserImplTokenManager;
import org.apache.flink.sql.parser.impl.SimpleCharStream;
import org.apache.flink.sql.parser.impl.Token;
import org.apache.flink.sql.parser.validate.FlinkSqlConformance;

/** Parses Flink SQL statements and returns their syntax trees as JSON. */
public class FlinkTrees extends TextWorker {
    private final SqlParser.Config config;

    public FlinkTrees() {
        // Flink's own settings: the CalciteParser configuration in PlannerContext.
        this.config = SqlParser.config()
            .withParserFactory(new SystemColumns.Factory())
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

/**
 * The lexer of Confluent Cloud, which reads `o.$rowtime` as the column `$rowtime` of `o`. Calcite's has it as one
 * token, a collation such as `latin1$en`.
 */
class SystemColumns extends FlinkSqlParserImplTokenManager {
    SystemColumns(SimpleCharStream text) {
        super(text);
    }

    public Token getNextToken() {
        Token token = super.getNextToken();
        if (token.kind != FlinkSqlParserImplConstants.COLLATION_ID || !token.image.contains(".$")) {
            return token;
        }
        int end = 0;
        while (Character.isJavaIdentifierPart(token.image.charAt(end))) {
            end++;
        }
        int rest = token.image.length() - end;
        input_stream.backup(rest);
        token.kind = FlinkSqlParserImplConstants.IDENTIFIER;
        token.image = token.image.substring(0, end);
        token.endColumn -= rest;
        return token;
    }

    static class Factory implements SqlParserImplFactory {
        public SqlAbstractParserImpl getParser(Reader reader) {
            FlinkSqlParserImpl parser = new FlinkSqlParserImpl(reader);
            parser.token_source = new SystemColumns(new Characters(reader));
            return parser;
        }
    }

    private static class Characters extends SimpleCharStream {
        Characters(Reader reader) {
            super(reader, 1, 1);
            setTabSize(1); // as SqlParser sets it on the parser's own
        }
    }
}
