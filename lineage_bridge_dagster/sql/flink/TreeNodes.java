package lineage;

import java.util.List;
import org.apache.calcite.sql.SqlIntervalQualifier;
import org.apache.calcite.sql.SqlLiteral;
import org.apache.calcite.sql.SqlNode;
import org.apache.calcite.sql.parser.SqlParserPos;

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
public abstract class TreeNodes {
    public final StringBuilder out = new StringBuilder();
    /** Index of a node and what its children alone do not tell, as the fields of a JSON object. */
    public final StringBuilder notes = new StringBuilder();
    protected int count = 0;
    /** The note of the node that is written next. */
    protected String note = "";

    /** Adds a node with all below it. Returns its index, or -1. */
    public abstract int write(SqlNode node);

    protected int[] children(List nodes) {
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
    protected static String digest(SqlNode node) {
        boolean literal = node instanceof SqlLiteral || node instanceof SqlIntervalQualifier;
        return literal ? "#" + Integer.toHexString(node.toString().hashCode()) : "";
    }

    protected int identifier(List names, SqlParserPos pos) {
        this.out.append(this.count == 0 ? "" : ",").append("[\"ID\",[");
        for (int i = 0; i < names.size(); i++) {
            this.out.append(i == 0 ? "" : ",");
            TextWorker.quote(this.out, (String) names.get(i));
        }
        this.out.append("],[").append(pos.getLineNum()).append(",").append(pos.getColumnNum()).append("]]");
        return this.count++;
    }

    protected int call(String kind, String name, int[] children) {
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
