"""A query's syntax tree -> its columns with their origins. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lineage_bridge_dagster.lineage.columns import How
from lineage_bridge_dagster.sql.columns.expressions import ExpressionReader, Queries
from lineage_bridge_dagster.sql.columns.formulas import (
    FormulaReader,
    clause_with_uses,
    relation_formula,
    row_uses,
    shortened,
    with_uses,
)
from lineage_bridge_dagster.sql.columns.functions import WINDOWS, Arguments, Models, function_relation
from lineage_bridge_dagster.sql.columns.origins import Origin, Use, field_of, merged, through, united_uses
from lineage_bridge_dagster.sql.columns.relations import (
    MAX_COLUMNS,
    TOO_MANY,
    KnownColumn,
    Relation,
    UnknownColumns,
    named,
    opaque,
    origin_of,
    renamed,
    united,
)
from lineage_bridge_dagster.sql.columns.scopes import FromClause, FromItem, QueryScope, joined
from lineage_bridge_dagster.sql.columns.types import SCALAR, unnested
from lineage_bridge_dagster.sql.flink.tree import ABSENT, QUERIES, Tree
from lineage_bridge_dagster.sql.statement import TablePath

Tables = Callable[[TablePath], FromItem]
"""Looks up a table or view by its name as written."""

# Nested deeper than people or generators write; Python's own stack ends not far beyond.
_MAX_DEPTH = 120
# Kinds that have the columns of their first child.
_REFERENCES = ("TABLE_REF", "TABLE_REF_WITH_ID", "EXPLICIT_TABLE", "SET_SEMANTICS_TABLE")
_TRANSPARENT = frozenset({*_REFERENCES, "SNAPSHOT", "TABLESAMPLE", "EXTEND"})
_NO_QUERIES: Queries = {}
_TOO_DEEP = "its query is nested too deeply"

# Operands of a MATCH_RECOGNIZE by index (Calcite's SqlMatchRecognize).
_PATTERN, _DEFINE, _MEASURES, _SUBSET, _PARTITION, _ORDER = 1, 4, 5, 7, 9, 10


class QueryReader:
    """Derives the columns of the queries in one statement's tree.

    Args:
        tree: The statement.
        tables: Looks up the tables and views that it names.
        models: Looks up the outputs of the models that it names.
        details: Whether to derive formulas and uses (see `Origin`), too.
    """

    def __init__(self, tree: Tree, tables: Tables, models: Models, *, details: bool = False) -> None:
        self._tree = tree
        self._tables = tables
        self._models = models
        self._details = details
        self._depth = 0
        self._known: dict[int, tuple[Queries, QueryScope | None, Relation]] = {}

    # Both refer to this reader: were they kept, only the collector could free it, with all that it refers to.

    @property
    def expressions(self) -> ExpressionReader:
        return ExpressionReader(self._tree, self.relation)

    @property
    def _formulas(self) -> FormulaReader | None:
        return FormulaReader(self._tree, self.relation) if self._details else None

    def relation(
        self, node: int, queries: Queries | None = None, outer: QueryScope | None = None
    ) -> Relation:
        """The columns of a query.

        Args:
            queries: Queries that a WITH around it names.
            outer: Scope of the enclosing query, if this one is a correlated subquery.
        """
        queries = _NO_QUERIES if queries is None else queries
        known = self._known.get(node)
        # A subquery in an expression is asked for its columns and for its type, and so are those within it.
        if known is not None and known[0] is queries and known[1] is outer:
            return known[2]
        self._depth += 1
        try:
            if self._depth > _MAX_DEPTH:
                return opaque(_TOO_DEEP)
            relation = self._relation(node, queries, outer)
            relation = relation if len(relation) <= MAX_COLUMNS else opaque(TOO_MANY)
            self._known[node] = (queries, outer, relation)
            return relation
        finally:
            self._depth -= 1

    def _relation(self, node: int, queries: Queries, outer: QueryScope | None) -> Relation:
        tree = self._tree
        kind = tree.kind(node)
        if kind == "SELECT":
            return self._select(node, queries, outer)
        if kind == "ORDER_BY":
            ordered = self.relation(tree.child(node, 0), queries, outer)
            limit = ",".join(tree.literals(node).values()) if self._formulas else ""
            return with_uses(ordered, [Use("order", f"LIMIT {limit}")] if limit else ())
        if kind == "WITH":
            return self._with(node, queries, outer)
        if kind == "UNION" or kind == "INTERSECT":
            branches = self._branches(node, kind)
            found = united([self.relation(branch, queries, outer) for branch in branches])
            # UNION ALL keeps all rows.
            return found if tree.name(node) == "UNION ALL" else self._selected(found, tree.name(node))
        if kind == "EXCEPT":
            # The values are the left side's; the right side only selects among them.
            left, right = node, []
            while tree.kind(left) == "EXCEPT":
                left, other = tree.children(left)[:2]
                right.append(other)
            found = self.relation(left, queries, outer)
            if self._formulas is None:
                return found
            return self._selected(found, "EXCEPT", *(self.relation(each, queries, outer) for each in right))
        if kind == "VALUES":
            scope = QueryScope(FromClause(), outer)
            rows = [
                named((self._value(value, scope, queries), False) for value in tree.children(row))
                for row in tree.children(node)
            ]
            return united(rows) if rows else opaque("its query is not understood")
        if kind == "EXPLICIT_TABLE":
            return self._from(tree.child(node, 0), queries, outer).star
        return opaque("its query is not understood")

    def _value(self, node: int, scope: QueryScope, queries: Queries) -> KnownColumn:
        origin = self.expressions.origin(node, scope, queries)
        return KnownColumn(None, origin, type=self.expressions.type(node, scope, queries))

    def _selected(self, relation: Relation, name: str, *others: Relation) -> Relation:
        """A relation whose rows a set operation selects."""
        if self._formulas is None:
            return relation
        sources = merged(origin_of(column) for other in (relation, *others) for column in other).sources
        formulas = ";".join(relation_formula(other) for other in others)
        return with_uses(relation, [Use("set", shortened(f"{name}({formulas})"), sources)])

    def _branches(self, node: int, kind: str) -> list[int]:
        """Operands of `a UNION b UNION c ...`; generated chains are too long for recursion."""
        branches: list[int] = []
        while self._tree.kind(node) == kind:
            left, *rest = self._tree.children(node)
            branches.extend(reversed(rest))
            node = left
        branches.append(node)
        return branches[::-1]

    def _with(self, node: int, queries: Queries, outer: QueryScope | None) -> Relation:
        tree = self._tree
        items, body = tree.children(node)[:2]
        visible = dict(queries)
        for item in tree.children(items):
            name = tree.path(tree.child(item, 0))[-1]
            columns = tree.names(tree.children(tree.child(item, 1)))
            query = tree.child(item, 2)
            if tree.name(item) == "RECURSIVE":
                relation = self._recursive(query, name, columns, visible, outer)
            else:
                relation = renamed(self.relation(query, visible, outer), columns)
            visible[name] = relation
        return self.relation(body, visible, outer)

    def _recursive(
        self, query: int, name: str, columns: Sequence[str], queries: Queries, outer: QueryScope | None
    ) -> Relation:
        """Columns of a query that reads itself: those of its first branch, until nothing is added."""
        first = self._branches(query, self._tree.kind(query))[0]
        relation = renamed(self.relation(first, queries, outer), columns)
        for _ in range(len(relation) + 2):
            extended = renamed(self.relation(query, {**queries, name: relation}, outer), columns)
            if extended == relation:
                return relation
            relation = extended
        return opaque("its recursive query is not understood")

    def _select(self, node: int, queries: Queries, outer: QueryScope | None) -> Relation:
        tree = self._tree
        children = tree.children(node)
        source = self._from(children[0], queries, outer) if children[0] != ABSENT else FromClause()
        scope = QueryScope(source, outer)
        windows = {
            path[-1]: window
            for window in tree.children(children[5])
            if (path := tree.path(tree.child(window, 0)))
        }
        # Names in GROUP BY without qualifiers: `GROUP BY o.id` does not make `o.price` a key.
        keys = self._identifiers(tree.children(children[3]), qualified=False) or None
        uses = self._uses(node, scope, queries) if self._formulas else ()
        counted = united_uses(origin_of(column) for column in source.star)
        items: list[tuple[KnownColumn | UnknownColumns, bool]] = []
        for position, item in enumerate(tree.children(children[1])):
            path = tree.path(item)
            if path and path[-1] == "":
                star = source.star if len(path) == 1 else scope.star_of(path[:-1])
                items.extend((column, False) for column in with_uses(star, uses))
            else:
                name, aliased = self._item_name(item)
                origin = self.expressions.origin(item, scope, queries, keys=keys, windows=windows)
                if self._formulas:
                    literal = tree.literals(children[1]).get(position)
                    formula = f"#{literal}"
                    if literal is None:
                        formula = self._formulas.formula(item, scope, queries, windows)
                    own = (*origin.uses, *uses) if origin.sources or formula[:1] == "#" else (*counted, *uses)
                    origin = replace(origin, formula=formula, uses=tuple(dict.fromkeys(own)))
                field = KnownColumn(name, origin, type=self.expressions.type(item, scope, queries))
                items.append((field, aliased))
            if len(items) > MAX_COLUMNS:
                return opaque(TOO_MANY)
        return named(items)

    def _read_with(self, found: FromClause, options: str) -> FromClause:
        """A table whose options, those of a hint or of a sample, decide which records are read."""
        if not options:
            return found
        uses = [Use("scan options", options)]
        items = (replace(item, relation=with_uses(item.relation, uses)) for item in found.items)
        return FromClause(tuple(items), with_uses(found.star, uses))

    def _uses(self, node: int, scope: QueryScope, queries: Queries) -> tuple[Use, ...]:
        """What decides on the rows of a SELECT: WHERE, GROUP BY, HAVING, DISTINCT, and its FROM."""
        tree, children = self._tree, self._tree.children(node)
        found = list(row_uses(scope.source.star))
        for clause in (children[2], children[4], children[6]):
            found += self._conditions("filter", clause, scope, queries)
        for key in tree.children(children[3]):
            found.append(self._use("group", key, scope, queries))
        if tree.note(node).startswith("DISTINCT"):
            found.append(Use("distinct", "DISTINCT"))
        return tuple(dict.fromkeys(found))

    def _conditions(self, role: str, clause: int, scope: QueryScope, queries: Queries) -> list[Use]:
        """Each condition of a clause; a literal one has none."""
        if self._formulas is None:
            return []
        return [self._use(role, part, scope, queries) for part in self._formulas.conjuncts(clause)]

    def _use(self, role: str, node: int, scope: QueryScope, queries: Queries) -> Use:
        formula = self._formulas.formula(node, scope, queries) if self._formulas else ""
        origin = self.expressions.origin(node, scope, queries)
        # A subquery also decides by its own conditions, and EXISTS by these alone.
        inner = [self.relation(query, queries, scope) for query in self._tree.queries(node)]
        uses = united_uses(origin_of(column) for relation in inner for column in relation)
        sources = dict.fromkeys((*origin.sources, *(source for use in uses for source in use.sources)))
        return Use(role, formula, tuple(sources), origin.open)

    def _item_name(self, node: int) -> tuple[str | None, bool]:
        """Name of a select item, and whether it is an alias."""
        tree = self._tree
        if tree.kind(node) == "AS":
            return tree.path(tree.child(node, 1))[-1], True
        while tree.kind(node) == "OVER":
            node = tree.child(node, 0)
        if tree.kind(node) == "NILADIC":
            return tree.name(node), False
        path = tree.path(node)
        return (path[-1] if path else None), False

    def _identifiers(self, nodes: Sequence[int], *, qualified: bool) -> frozenset[str]:
        """Names in the identifiers below some nodes: all their parts, or the last ones."""
        names: set[str] = set()
        pending = list(nodes)
        while pending:
            node = pending.pop()
            path = self._tree.path(node)
            names.update(path if qualified else path[-1:])
            pending.extend(self._tree.children(node))
        return frozenset(names)

    def _from(
        self, node: int, queries: Queries, outer: QueryScope | None, lateral: QueryScope | None = None
    ) -> FromClause:
        """A FROM clause or a part of one.

        Args:
            node: A table, a join, a subquery, a function, ...
            queries: Queries that a WITH around it names.
            outer: Scope of the query that encloses the one with this FROM.
            lateral: Scope of what precedes it in the FROM, visible to LATERAL and UNNEST.
        """
        self._depth += 1
        try:
            if self._depth > _MAX_DEPTH:
                return _single(opaque(_TOO_DEEP))
            return self._from_part(node, queries, outer, lateral)
        finally:
            self._depth -= 1

    def _from_part(
        self, node: int, queries: Queries, outer: QueryScope | None, lateral: QueryScope | None
    ) -> FromClause:
        tree = self._tree
        kind = tree.kind(node)
        if kind == "ID":
            return self._table(tree.path(node), queries)
        if kind == "JOIN":
            return self._join(node, queries, outer, lateral)
        first = tree.child(node, 0)
        if kind == "AS":
            inner = self._from(first, queries, outer, lateral)
            alias, *names = tree.names(tree.children(node)[1:])
            relation = renamed(inner.star, names or self._sole_name(first, inner.star, alias))
            sole = inner.items[0] if len(inner.items) == 1 else FromItem(alias, (), relation)
            # A list of names leaves no other.
            hidden = () if names else sole.hidden
            return FromClause((FromItem(alias, (), relation, sole.table, hidden),), relation)
        if kind in _TRANSPARENT:
            table = self._from(first, queries, outer, lateral)
            return self._read_with(table, tree.note(node)) if self._formulas else table
        if kind == "LATERAL":
            return self._from(first, queries, lateral or outer, lateral)
        if kind == "UNNEST":
            return _single(self._unnest(node, queries, lateral or QueryScope(FromClause(), outer)))
        if kind == "COLLECTION_TABLE":
            arguments = Arguments(self._tree, first, lambda node: self._from(node, queries, outer))
            scope = lateral or outer or QueryScope(FromClause())

            def origin(node: int) -> Origin:
                return self.expressions.origin(node, scope, queries)

            found = function_relation(arguments, origin, self._models)
            if self._formulas and arguments.name.upper() in WINDOWS:
                # A window decides on the rows by its time column and by its literals.
                literals = ",".join(tree.literals(first).values())
                time = merged(origin_of(column) for column in found[-1:])
                formula = f"{arguments.name.upper()}({time.formula},{literals})"
                found = with_uses(found, [Use("window", formula, time.sources)])
            return _single(found)
        if kind == "MATCH_RECOGNIZE":
            return _single(self._match(node, queries, outer))
        if kind in QUERIES:
            return _single(self.relation(node, queries, outer))
        return _single(opaque(f"{kind} is not understood"))

    def _sole_name(self, node: int, relation: Relation, alias: str) -> list[str]:
        """UNNEST and VALUES with one column name it by their alias (Calcite's AliasNamespace)."""
        while self._tree.kind(node) == "LATERAL":
            node = self._tree.child(node, 0)
        sole = len(relation) == 1 and isinstance(relation[0], KnownColumn)
        return [alias] if sole and self._tree.kind(node) in ("UNNEST", "VALUES") else []

    def _table(self, path: TablePath, queries: Queries) -> FromClause:
        if len(path) == 1 and path[0] in queries:
            item = FromItem(path[0], (), queries[path[0]])
        else:
            item = self._tables(path)
        return FromClause((item,), item.relation)

    def _join(
        self, node: int, queries: Queries, outer: QueryScope | None, lateral: QueryScope | None
    ) -> FromClause:
        tree = self._tree
        chain: list[int] = []
        while tree.kind(node) == "JOIN":
            chain.append(node)
            node = tree.child(node, 0)
        left = self._from(node, queries, outer, lateral)
        for join in reversed(chain):
            preceding = QueryScope(left, lateral or outer)
            right = self._from(tree.child(join, 3), queries, outer, preceding)
            kind = tree.name(join)
            using: list[str] = []
            if kind.endswith("USING"):
                using = tree.names(tree.children(tree.child(join, 5)))
            if self._formulas:
                left, right = self._with_join(join, left, right, using, queries, lateral or outer)
            left = joined(left, right, kind, using)
            if len(left.star) > MAX_COLUMNS:
                left = FromClause(left.items, opaque(TOO_MANY))
        return left

    def _with_join(
        self,
        join: int,
        left: FromClause,
        right: FromClause,
        using: Sequence[str],
        queries: Queries,
        outer: QueryScope | None,
    ) -> tuple[FromClause, FromClause]:
        """The two sides, with the join as what decides on the columns of the side that it adds."""
        tree = self._tree
        kind = tree.name(join)
        both = QueryScope(FromClause((*left.items, *right.items), (*left.star, *right.star)), outer)
        # Flink has no difference between the two ways to write an inner join.
        how = kind.replace("CROSS NONE", "COMMA NONE")
        found = self._conditions("join", tree.child(join, 5), both, queries) if not using else []
        uses = [use._replace(formula=f"{how} {use.formula}") for use in found]
        sides = (QueryScope(left), QueryScope(right))
        keys = [side.resolve((name,)).origin.sources for name in using for side in sides]
        sources = tuple(dict.fromkeys(source for found in keys for source in found))
        if using:
            uses.append(Use("join", f"{how}({','.join(using)})", sources))
        outer_kind = kind.removeprefix("NATURAL ").partition(" ")[0]
        if outer_kind not in ("LEFT", "RIGHT", "FULL"):
            decisive = tuple(dict.fromkeys(source for use in uses for source in use.sources))
            match = Use("match", how, decisive)
            left, uses = clause_with_uses(left, [match]), [*uses, match]
        full = outer_kind in ("RIGHT", "FULL")
        return clause_with_uses(left, uses) if full else left, clause_with_uses(right, uses)

    def _unnest(self, node: int, queries: Queries, scope: QueryScope) -> Relation:
        children = self._tree.children(node)
        origins = [self.expressions.origin(child, scope, queries) for child in children]
        columns = [unnested(self.expressions.type(child, scope, queries)) for child in children]
        ordinality = [KnownColumn("ORDINALITY", through(merged(origins), How.EXPRESSION), type=SCALAR)]
        ordinality = ordinality if self._tree.name(node) else []
        items: list[tuple[KnownColumn | UnknownColumns, bool]] = []
        for origin, of in zip(origins, columns, strict=True):
            element = through(origin, How.EXPRESSION)
            if of is None:
                # Whatever their names: each column's values are the collection's.
                items.append((UnknownColumns(origin=element), False))
            else:
                items.extend(
                    (KnownColumn(name, field_of(element, name) if name else element, type=kind), False)
                    for name, kind in of
                )
        return named([*items, *((field, False) for field in ordinality)])

    def _match(self, node: int, queries: Queries, outer: QueryScope | None) -> Relation:
        """MATCH_RECOGNIZE with one row per match, the only mode in Flink: partition columns, measures."""
        tree = self._tree
        children = tree.children(node)
        source = self._from(children[0], queries, outer)
        definitions = [tree.child(definition, 1) for definition in tree.children(children[_DEFINE])]
        variables = self._identifiers([children[_PATTERN], children[_SUBSET], *definitions], qualified=True)
        order = tree.children(children[_ORDER])
        time = self.expressions.origin(order[0], QueryScope(source), queries) if order else None
        scope = QueryScope(source, outer, variables, time)
        items: list[tuple[KnownColumn | UnknownColumns, bool]] = []
        for column in tree.children(children[_PARTITION]):
            path = tree.path(column)
            origin = self.expressions.origin(column, scope, queries)
            items.append((KnownColumn(path[-1] if path else None, origin), False))
        for measure in tree.children(children[_MEASURES]):
            name, aliased = self._item_name(measure)
            items.append((KnownColumn(name, self.expressions.origin(measure, scope, queries)), aliased))
        if self._formulas is None:
            return named(items)
        parts = [children[_PATTERN], children[_SUBSET], *children[_PARTITION : _ORDER + 1], *definitions]
        uses = [self._use("filter", part, scope, queries) for part in parts if part != ABSENT]
        return with_uses(named(items), [*row_uses(source.star), *uses])


def _single(relation: Relation) -> FromClause:
    return FromClause((FromItem(None, (), relation),), relation)
