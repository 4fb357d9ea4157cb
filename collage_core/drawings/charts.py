"""Charts of a run by Plotly, and one HTML file that holds them with all that they need: it opens without a network.

A run enters; figures that a notebook shows, or the file, leave. Labels hold names of models: they are escaped, since Plotly reads
markup in them.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from ..base.durations import milliseconds
from ..documents.node_times import PartitionNodeTimes
from ..documents.plan import PlanPartition
from ..documents.statement_text import predicted_text
from ..documents.statements import measured_beside
from ..pipeline.record.record import RunRecord
from ..rewrite.export.dot import PLAIN
from ..rewrite.export.target_colours import plan_colours
from .optional import needed

_LONGEST = 60
_MS = 1e3


def figures(record: RunRecord) -> dict[str, Any]:
    """Return the charts of a run as ``plotly.graph_objects.Figure`` by title: totals, and where the time goes.

    Raises:
        CollageError: the package is not installed.
    """
    go = needed("plotly.graph_objects", "plotly", "a chart")
    return {"Totals": _totals(go, record), "Where the time goes": _time(go, record)}


def check_charts() -> None:
    """Raise CollageError where the package is not installed that draws charts."""
    needed("plotly.graph_objects", "plotly", "a chart")


def write_html(record: RunRecord, file: Path) -> None:
    """Write the charts of a run into `file`, as one HTML page (`html`).

    Raises:
        CollageError: the package is not installed.
        OSError: `file` cannot be written.
    """
    file.write_text(html(record), encoding="utf-8")


def html(record: RunRecord) -> str:
    """Return the charts of a run as one HTML page; equal runs give equal pages.

    Raises:
        CollageError: the package is not installed.
    """
    sources = ", ".join(sorted({part.source for part in record.plan.partitions}))
    title = escape(f"{record.plan.model.name}: {predicted_text(record.plan, milliseconds)} (costs: {sources})")
    parts = [f"<!doctype html>\n<html lang=en><meta charset=utf-8><title>{title}</title>\n<h1>{title}</h1>"]
    for number, (heading, figure) in enumerate(figures(record).items()):
        chart = figure.to_html(full_html=False, include_plotlyjs=number == 0, div_id=f"chart{number}")
        parts.append(f"<h2>{heading}</h2>\n{chart}")
    return "\n".join([*parts, "</html>\n"])


def _totals(go: Any, record: RunRecord) -> Any:
    """Draw each plan that was made or timed: its predicted time beside the measured one."""
    times = {row.name: (row.total_s, row.measured_s) for row in record.document.baselines}
    times |= {row.name: (row.total_s, row.measured_s) for row in record.document.alternatives if not row.is_plan}
    plan = (record.plan.total_s, measured_beside(record.document))
    rows = {"the plan": plan, **{_label(name): row for name, row in times.items()}}
    bars = [
        go.Bar(name=said, y=list(rows), x=[None if seconds is None else seconds * _MS for seconds in column], orientation="h")
        for said, column in zip(("predicted: the sum of the costs", "measured: the whole"), zip(*rows.values(), strict=True), strict=True)
    ]
    return go.Figure(bars, {"barmode": "group", "xaxis": {"title": {"text": "ms"}}, "yaxis": {"autorange": "reversed"}})


def _time(go: Any, record: RunRecord) -> Any:
    """An icicle from the model to partitions and their kernels."""
    times = {one.partition: one for one in record.node_times}
    known = [part for part in record.plan.partitions if part.cost_s is not None]
    rows = [("model", "", _label(record.plan.model.name), sum(part.cost_s or 0.0 for part in known), PLAIN)]
    colour_of = plan_colours(record.plan)
    for part in known:
        rows += _rows(record, part, colour_of[part.target], times.get(part.id))
    ids, parents, labels, seconds, colours = zip(*rows, strict=True)
    shape = {"ids": ids, "parents": parents, "labels": labels, "values": [one * _MS for one in seconds], "marker": {"colors": colours}}
    chart = go.Icicle(
        **shape, branchvalues="total", hovertemplate="%{label}<br>%{value:.4~r} ms<extra></extra>", tiling={"orientation": "v"}
    )
    return go.Figure(chart)


def _rows(record: RunRecord, part: PlanPartition, colour: str, times: PartitionNodeTimes | None) -> list[tuple[str, str, str, float, str]]:
    """Id, parent, label, seconds and colour of a partition and of the kernels in it."""
    rows = [(part.id, "model", _label(f"{part.target}: {'+'.join(part.ops)}"), part.cost_s or 0.0, colour)]
    for number, group in enumerate(times.groups if times and len(times.groups) > 1 else ()):
        names = ", ".join(record.graph.nodes[node].name for node in group.nodes)
        rows.append((f"{part.id}/{number}", part.id, _label(f"{group.kernel} {names}".strip()), group.seconds or 0.0, colour))
    return rows


def _label(text: str) -> str:
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return escape(shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…")
