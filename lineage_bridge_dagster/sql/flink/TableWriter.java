package lineage;

import java.util.List;
import java.util.regex.Pattern;
import org.apache.calcite.sql.SqlCharStringLiteral;
import org.apache.calcite.sql.SqlCollectionTypeNameSpec;
import org.apache.calcite.sql.SqlDataTypeSpec;
import org.apache.calcite.sql.SqlIdentifier;
import org.apache.calcite.sql.SqlNode;
import org.apache.calcite.sql.SqlNodeList;
import org.apache.calcite.sql.SqlTypeNameSpec;
import org.apache.calcite.sql.SqlUserDefinedTypeNameSpec;
import org.apache.calcite.sql.parser.SqlParserPos;
import org.apache.flink.sql.parser.ddl.*;
import org.apache.flink.sql.parser.ddl.position.SqlTableColumnPosition;
import org.apache.flink.sql.parser.type.ExtendedSqlRowTypeNameSpec;
import org.apache.flink.sql.parser.type.SqlMapTypeNameSpec;
import org.apache.flink.sql.parser.type.SqlRawTypeNameSpec;
import org.apache.flink.sql.parser.type.SqlStructuredTypeNameSpec;

/** Writes what statements say of tables: their columns, types and options, and how they change. */
public abstract class TableWriter extends TreeNodes {
    private static final Pattern OPTION = Pattern.compile(
        "connector|topic|url|hosts|uri|database-name|schema-name|hostname|port"
        + "|error-handling\\.(mode|log\\.target)|properties\\.bootstrap\\.servers"
        + "|(key|value)\\.(format|fields-prefix|[a-z-]+\\.(subject-names|schema-context))"
        + "|([a-z0-9_-]+\\.)?(connection|database|collection|container|index|bucket|scope|table-name|path)");

    /** The name holds the flags and, separated by semicolons, the options of LIKE. */
    protected int createTable(SqlCreateTable t) {
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

    protected int alterTable(SqlAlterTable t) {
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

    protected static String flags(boolean temporary, boolean ifNotExists) {
        return (temporary ? "TEMPORARY " : "") + (ifNotExists ? "IF NOT EXISTS" : "");
    }

    /** Declared columns. A name alone is an identifier, a place in the table a POSITION around the column. */
    protected int columns(SqlNodeList list) {
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
    protected int type(SqlTypeNameSpec spec) {
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
}
