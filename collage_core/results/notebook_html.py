"""The HTML of a result in a notebook: the page in a frame, a drawing of the plan, a table of its partitions; and the candidates for a node.

A run with its report, or an explanation of it, enters; HTML leaves that holds all it needs and asks for nothing. Scripts run in the frame
alone, which cannot reach the notebook. Names come from models of strangers: each is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ..base.counted import counted
from ..base.durations import milliseconds
from ..documents.explain import ExplainedCandidate, Explanation
from ..documents.plan import PlanPartition
from ..documents.statement_text import predicted_text
from ..documents.statements import measured_beside
from ..documents.verdict import verdict
from ..drawings.layers import nodes_svg, partitions_svg
from ..errors import printable, shortened
from ..pipeline.record.known_regret import KnownRegret
from ..pipeline.record.record import RunRecord
from ..pipeline.whole.finalists import decision_text
from ..rewrite.export.target_colours import plan_colours
from .node_rows import Regrets, regrets_by_node

MOST_BOXES = 300
"""A graph with more nodes is drawn by its partitions; with more partitions than that, not at all."""
MOST_ROWS = 100

_BOX = 'style="max-height:30em;overflow:auto;border:1px solid #8888"'
_FRAME = (
    'title="The plan on the page of Collage Explorer, read only" sandbox="allow-scripts allow-downloads" '
    'style="width:100%;height:44em;border:1px solid #8888"'
)
_OPEN = '<div style="font-family:sans-serif;font-size:13px">'


@dataclass(frozen=True)
class Page:
    """The page that shows a run: its `report` as HTML, or the `reason` why there is none."""

    report: str = ""
    reason: str = ""


def result_html(record: RunRecord, page: Page) -> str:
    """Return the plan of a run: totals, what decided it, the page, a drawing, and its partitions."""
    plan, measured_s = record.plan, measured_beside(record.document)
    measured = "" if measured_s is None else f", measured {_ms(measured_s)}"
    totals = f"{predicted_text(plan, _ms)}{measured}; {counted(len(plan.partitions), 'partition')} on {', '.join(plan.used_targets)}"
    lines = [_OPEN, f"<p><b>{_text(verdict(record.document).text)}</b></p>", f"<p>{_text(plan.model.name)}: {_text(totals)}</p>"]
    if said := decision_text(record.document):
        lines.append(f"<p>{_text(said)}</p>")
    lines += _page(page)
    if drawing := _drawing(record):
        box = f"<div {_BOX}>{drawing}</div>"  # for viewers that leave frames out, as some that only read notebooks do
        lines.append(f"<details><summary>the plan as a drawing</summary>{box}</details>" if page.report else box)
    regrets = regrets_by_node(record, bounds=False)
    colours = plan_colours(plan)
    rows = [_partition(number, part, colours[part.target], regrets) for number, part in enumerate(plan.partitions[:MOST_ROWS], 1)]
    lines.append(_table(("", "target", "operators", "nodes", "cost", "cost from", "least regret elsewhere"), rows))
    if len(plan.partitions) > MOST_ROWS:
        lines.append(f"<p>and {len(plan.partitions) - MOST_ROWS} more: partitions_frame() has all</p>")
    return "\n".join([*lines, "</div>"])


def _page(page: Page) -> list[str]:
    """Return the page in a frame of its own origin, so that its scripts see nothing of the notebook; else why it is not there."""
    if not page.report:
        return [f"<p>without the interactive graph: {_text(page.reason)}</p>"] if page.reason else []
    return [f'<iframe {_FRAME} srcdoc="{escape(page.report)}"></iframe>']


def explanation_html(document: Explanation) -> str:
    """Return the nodes of an explanation, each with its candidates and the reasons of the targets that cannot take it."""
    lines = [_OPEN]
    for item in document.nodes[:MOST_ROWS]:
        lines.append(f"<p><b>{_text(item.name)}</b> ({_text(item.op)}), node {item.node}</p>")
        rows = [_candidate(row) for row in item.candidates[:MOST_ROWS]]
        lines.append(_table(("", "target", "candidate", "nodes", "cost", "regret", "enters below"), rows))
        for one in item.rejections[:MOST_ROWS]:
            lines.append(f"<p>{_text(one.target)}, {_text(one.stage)}: {_text(one.reason)}</p>")
    return "\n".join([*lines, "</div>"])


def _drawing(record: RunRecord) -> str:
    if len(record.graph) <= MOST_BOXES:
        return nodes_svg(record)
    return partitions_svg(record) if len(record.plan.partitions) <= MOST_BOXES else ""


def _partition(number: int, part: PlanPartition, colour: str, regrets: Mapping[int, Regrets]) -> Sequence[str]:
    least: dict[str, tuple[float, str]] = {}
    for node in part.nodes:
        for target, regret in regrets.get(node, {}).items():
            if regret.exact_s is not None:
                known = regret.exact_s, regret.text(_ms)
                least[target] = min(least.get(target, known), known)
    elsewhere = ", ".join(f"{target} {text}" for target, (_, text) in sorted(least.items(), key=lambda item: item[1]))
    names = f"<details><summary>{len(part.nodes)}</summary>{_text(', '.join(part.names))}</details>"
    mark = f'<span style="color:{colour}">■</span> '
    kinds = "+".join(dict.fromkeys(part.ops))
    return [str(number), mark + _text(part.target), _text(kinds), names, _ms(part.cost_s), _text(part.source), _text(elsewhere)]


def _candidate(row: ExplainedCandidate) -> Sequence[str]:
    regret = KnownRegret.of_row(row).text(_ms)
    below = _ms(row.enters_below_s) if row.enters_below_s else ""
    chosen = "✓" if row.chosen else ""
    return [chosen, _text(row.target), _text(row.label), str(len(row.nodes)), _ms(row.cost.seconds), regret, below]


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{one}</th>" for one in header)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _ms(seconds: float | None) -> str:
    return "unknown" if seconds is None else milliseconds(seconds)


def _text(text: str) -> str:
    return escape(printable(shortened(text)))
