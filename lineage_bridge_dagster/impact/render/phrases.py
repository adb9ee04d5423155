"""What reports say: changes, nodes, verdicts and what to do about them, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from lineage_bridge_dagster.impact.change import (
    Change,
    CompatibilityChange,
    ConnectorChange,
    ConnectorPause,
    DropColumn,
    DropNode,
    MirrorStop,
    SchemaChange,
    StatementChange,
    StatementStop,
    SubjectDrop,
    TableflowChange,
    TableflowDrop,
    TopicChange,
)
from lineage_bridge_dagster.impact.report import Affected, Impact, Verdict
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef
from lineage_bridge_dagster.text import plural

KINDS: Mapping[NodeKind, str] = {
    NodeKind.TOPIC: "topic",
    NodeKind.STATEMENT: "statement",
    NodeKind.CONNECTOR: "connector",
    NodeKind.GLUE: "Glue table",
    NodeKind.VIEW: "view",
    NodeKind.DATASET: "dataset",
    NodeKind.JOB: "outside job",
}

VERDICTS: Mapping[Verdict, str] = {
    Verdict.BREAKS: "breaks",
    Verdict.LOSES_DATA: "loses data",
    Verdict.CHANGES_MEANING: "changes its meaning",
    Verdict.CHANGES_TYPE: "changes a type",
    Verdict.GAINS_COLUMN: "gains a column",
}

_PLURALS: Mapping[Verdict, str] = {
    Verdict.BREAKS: "break",
    Verdict.LOSES_DATA: "lose data",
    Verdict.CHANGES_MEANING: "change their meaning",
    Verdict.CHANGES_TYPE: "change a type",
    Verdict.GAINS_COLUMN: "gain a column",
}

#: What a person would do next, by what happens to which kind of node.
_STEPS: Mapping[tuple[Verdict, NodeKind], str] = {
    (Verdict.BREAKS, NodeKind.TOPIC): (
        "Change the schema so that the registry accepts it: give a new field a default, keep a field that is "
        "required, or register an incompatible version under a new subject and topic."
    ),
    (Verdict.BREAKS, NodeKind.STATEMENT): (
        "Deploy a version for the new input before its first record is written: stop the statement, then "
        "start the new one from the offsets where the old one stopped."
    ),
    (Verdict.BREAKS, NodeKind.CONNECTOR): (
        "Pause the connector, change its configuration or the table that it writes, and resume it after the "
        "change."
    ),
    (Verdict.BREAKS, NodeKind.GLUE): (
        "Make the change one that Tableflow accepts (a new optional field, a wider number), or write the new "
        "records to a new topic with a table of its own."
    ),
    (
        Verdict.BREAKS,
        NodeKind.VIEW,
    ): "Create the view again after the change, since Athena stores its columns.",
    (Verdict.BREAKS, NodeKind.JOB): "Change the job first, so that it does not need what goes.",
    (Verdict.BREAKS, NodeKind.DATASET): "Alter the table before the first record with the change arrives.",
    (Verdict.LOSES_DATA, NodeKind.TOPIC): (
        "Find out who still needs the rows or the field, and keep it until they have moved on."
    ),
    (Verdict.LOSES_DATA, NodeKind.STATEMENT): "Remove the missing input from the statement, or replace it.",
    (Verdict.LOSES_DATA, NodeKind.CONNECTOR): (
        "Remove the missing topic or field from its configuration, or replace it."
    ),
    (Verdict.LOSES_DATA, NodeKind.GLUE): (
        "Tell the table's readers when values stop arriving; existing rows stay."
    ),
    (Verdict.LOSES_DATA, NodeKind.VIEW): "Tell the view's readers when values stop arriving.",
    (Verdict.LOSES_DATA, NodeKind.DATASET): "Tell its readers when values stop arriving.",
    (Verdict.LOSES_DATA, NodeKind.JOB): "Tell its owner what it will lack, and whether it can do without.",
}
#: The same of the changed object itself.
_OWN_STEPS: Mapping[tuple[Verdict, NodeKind], str] = {
    (Verdict.BREAKS, NodeKind.STATEMENT): "Correct its SQL before it is submitted: Flink refuses it.",
    (Verdict.BREAKS, NodeKind.CONNECTOR): "Correct its configuration before it is applied.",
    (Verdict.BREAKS, NodeKind.GLUE): (
        "Keep it until its readers have moved on; then drop the table from Glue, since nothing writes it."
    ),
}
#: The same of nodes to which no column decides: they lose rows, or all that they read.
_ROW_STEPS: Mapping[tuple[Verdict, NodeKind], str] = {
    (Verdict.BREAKS, NodeKind.STATEMENT): (
        "Before the change is made, replace the statement with one that does not need it, or stop it."
    ),
    (Verdict.LOSES_DATA, NodeKind.STATEMENT): (
        "Leave it running: it resumes as soon as its input has rows again. Stop it if it never will."
    ),
    (Verdict.LOSES_DATA, NodeKind.CONNECTOR): (
        "Leave it running: it resumes as soon as its input has rows again. Delete it if it never will."
    ),
    (Verdict.LOSES_DATA, NodeKind.TOPIC): (
        "Tell its readers when rows stop arriving, and restore what writes it."
    ),
    (Verdict.LOSES_DATA, NodeKind.GLUE): (
        "Tell the table's readers when rows stop arriving; existing rows stay."
    ),
    (Verdict.LOSES_DATA, NodeKind.VIEW): "Tell the view's readers when rows stop arriving.",
    (Verdict.LOSES_DATA, NodeKind.DATASET): "Tell its readers when rows stop arriving.",
}
_BY_VERDICT: Mapping[Verdict, str] = {
    Verdict.CHANGES_MEANING: (
        "Tell its readers when the values start to differ, and recompute what must stay comparable."
    ),
    Verdict.CHANGES_TYPE: "Check casts and comparisons in what reads the column.",
    Verdict.GAINS_COLUMN: "Nothing has to be done; whoever wants the column has to select it.",
}


def named(node: NodeRef) -> str:
    """`Glue table lake.orders`."""
    return f"{KINDS[node.kind]} {node.name}"


def next_step(effect: Affected) -> str:
    """What a person would do about an effect, as sentences."""
    case = (effect.verdict, effect.node.kind)
    own = _OWN_STEPS.get(case) if len(effect.path) == 1 else None
    rows = _ROW_STEPS.get(case) if effect.column is None else None
    return own or rows or _STEPS.get(case) or _BY_VERDICT[effect.verdict]


def counts(effects: Iterable[Affected]) -> str:
    """`1 breaks, 2 lose data`, gravest first; `nothing is affected` without effects."""
    found = Counter(effect.verdict for effect in effects)
    texts = [
        f"{found[verdict]:,} {VERDICTS[verdict] if found[verdict] == 1 else _PLURALS[verdict]}"
        for verdict in Verdict
        if found[verdict]
    ]
    return ", ".join(texts) or "nothing is affected"


def summary(impact: Impact) -> str:
    """The result in one line: what happens to how many nodes, and whether more may."""
    gaps = sum(gap.matters for gap in impact.gaps)
    text = counts(impact.by_node)
    return f"{text}; {plural(gaps, 'gap')}, so there may be more" if gaps else text


def describe(change: Change) -> str:
    """A change as a clause: `orders-value gets a new schema`."""
    match change:
        case SchemaChange(subject):
            return f"{subject} gets a new schema"
        case CompatibilityChange(subject, mode):
            return f"{subject} gets the compatibility mode {mode or 'of the registry'}"
        case SubjectDrop(subject):
            return f"subject {subject} is deleted"
        case DropNode(node):
            return f"{named(node)} is deleted"
        case DropColumn(node, column):
            return f"column {column} of {named(node)} is dropped"
        case StatementChange(name, _, is_new):
            return f"statement {name} is {'created' if is_new else 'submitted with new SQL'}"
        case StatementStop(name):
            return f"statement {name} is stopped"
        case ConnectorChange(name):
            return f"connector {name} {'is created' if change.is_new else 'gets a new configuration'}"
        case ConnectorPause(name):
            return f"connector {name} is paused"
        case TopicChange(name, _, recreated, is_new):
            verb = "created" if is_new else "deleted and created again" if recreated else "configured"
            return f"topic {name} is {verb}"
        case TableflowChange(topic):
            return f"Tableflow is configured for topic {topic}"
        case TableflowDrop(topic):
            return f"Tableflow is disabled for topic {topic}"
        case MirrorStop(topic):
            return f"topic {topic} no longer mirrors its source"
