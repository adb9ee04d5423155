"""The report as JUnit XML, which CI systems show as tests: one for each affected node."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from lineage_bridge_dagster.impact.render.phrases import named, next_step
from lineage_bridge_dagster.impact.report import Impact, Verdict

#: Characters that XML 1.0 cannot hold.
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def report(impact: Impact, fail_on: Verdict) -> str:
    """The report as a document.

    Args:
        impact: What is reported. A gap that may hide effects is an error.
        fail_on: Effects of this verdict and graver ones are failures.
    """
    effects, gaps = impact.by_node, [gap for gap in impact.gaps if gap.matters]
    failing = set(impact.at_least(fail_on))
    suite = Element(
        "testsuite",
        name="lineage-bridge impact",
        tests=str(len(effects) + len(gaps)),
        failures=str(len(failing)),
        errors=str(len(gaps)),
    )
    for effect in effects:
        case = SubElement(suite, "testcase", classname=str(effect.node.kind), name=_text(named(effect.node)))
        column = f"{effect.column}: " if effect.column else ""
        lines = [f"{column}{effect.reason}", *(f"by {step.node}" for step in effect.path), next_step(effect)]
        if effect in failing:
            failure = SubElement(case, "failure", type=str(effect.verdict), message=_text(effect.reason))
            failure.text = _text("\n".join(lines))
        else:
            SubElement(case, "system-out").text = _text("\n".join([str(effect.verdict), *lines]))
    for gap in gaps:
        case = SubElement(suite, "testcase", classname="gap", name=_text(str(gap.node or "graph")))
        SubElement(case, "error", type="unknown", message=_text(gap.reason))
    root = Element("testsuites")
    root.append(suite)
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
