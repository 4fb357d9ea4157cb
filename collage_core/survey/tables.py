"""The rows of a survey as text, CSV and a page that needs nothing else. Pure: rows enter, texts leave.

Names and reasons come from models and toolchains of strangers: each is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..base.counted import counted
from ..base.csv_table import Cell, csv_table
from ..base.durations import milliseconds
from ..documents.survey import Alone, SurveyRow
from ..errors import printable, shortened
from .row import MEASURED, PLANNED, is_alone_plan

NOT_KNOWN = "–"


def targets_of(rows: Sequence[SurveyRow]) -> list[str]:
    """Return the targets that any row has alone, in the order in which they come."""
    return list(dict.fromkeys(one.target for row in rows for one in row.alone))


def header(targets: Sequence[str]) -> list[str]:
    return ["model", "nodes", *(f"{target} alone" for target in targets), "plan", "on", "gain"]


def cells(row: SurveyRow, targets: Sequence[str]) -> list[str]:
    """Return the cells of a row for people, as `header` names them."""
    alone = {one.target: one for one in row.alone}
    times = [alone_text(alone.get(target)) for target in targets]
    if row.plan is None:
        return [row.model, "", *times, row.status, "", ""]
    return [
        row.model,
        str(row.nodes),
        *times,
        _time(row.plan.measured_s, row.plan.predicted_s),
        " + ".join(row.plan.targets),
        gain_text(row),
    ]


def alone_text(alone: Alone | None) -> str:
    return NOT_KNOWN if alone is None else _time(alone.measured_s, alone.predicted_s)


def _time(measured_s: float | None, predicted_s: float | None) -> str:
    """Return the measured time, else the predicted one, which the word behind it tells."""
    if measured_s is not None:
        return milliseconds(measured_s)
    return NOT_KNOWN if predicted_s is None else f"{milliseconds(predicted_s)} predicted"


def gain_text(row: SurveyRow) -> str:
    """Return by how much the plan is faster than the best target alone, with the interval and what it rests on."""
    gain = row.gain
    if gain is None:
        return NOT_KNOWN
    if is_best_alone(row):
        return "best alone"
    interval = "" if gain.low is None or gain.high is None else f" ({gain.low:.2f} to {gain.high:.2f})"
    return f"{gain.ratio:.2f}×{interval}{'' if gain.basis == MEASURED else ' predicted'}"


def is_best_alone(row: SurveyRow) -> bool:
    """Return whether the plan is one target for the whole model, and no other target alone is faster."""
    return row.plan is not None and row.plan.targets == (row.best_alone,) and is_alone_plan(row.plan, row.alone)


def sentence(row: SurveyRow) -> str:
    """Return what a person wants to know first of a row."""
    if row.status != PLANNED or row.plan is None:
        return f"{row.model}: {row.status}: {row.reason}"
    took = _time(row.plan.measured_s, row.plan.predicted_s)
    return f"{row.model}: {took} on {' + '.join(row.plan.targets)}: {row.verdict}"


def reasons(row: SurveyRow) -> list[str]:
    """Return why a row has no plan, or why its plan gains no more."""
    if row.status == PLANNED:
        return list(row.why_not)
    return [row.reason, *([row.hint] if row.hint else [])]


def survey_csv(rows: Sequence[SurveyRow]) -> str:
    """Return a line for each model (RFC 4180), in seconds; what is not known is empty."""
    targets = targets_of(rows)
    columns = ["model", "status", "nodes", *(f"{target}_s" for target in targets)]
    columns += ["plan_s", "plan_predicted_s", "plan_targets", "partitions", "max_rel_error"]
    columns += ["best_alone", "gain", "gain_low", "gain_high", "gain_basis", "run_s", "why_not"]
    lines: list[list[Cell]] = []
    for row in rows:
        alone = {one.target: one.measured_s for one in row.alone}
        plan, gain = row.plan, row.gain
        lines.append([row.model, row.status, row.nodes, *(alone.get(target) for target in targets)])
        lines[-1] += (
            [plan.measured_s, plan.predicted_s, "+".join(plan.targets), plan.partitions, plan.max_rel_error] if plan else [None] * 5
        )
        lines[-1] += [row.best_alone, *((gain.ratio, gain.low, gain.high, gain.basis) if gain else (None,) * 4)]
        lines[-1] += [round(row.seconds, 1), "; ".join(reasons(row))]
    return csv_table(columns, lines)


_STYLE = """
:root { color-scheme: light dark; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em; }
table { border-collapse: collapse; }
th, td { padding: .35em .8em; text-align: right; border-bottom: 1px solid #8886; vertical-align: top; white-space: nowrap; }
th:first-child, td:first-child, th:last-child, td.text { text-align: left; }
td.better { font-weight: 600; }
tr.none td { color: #c33; }
td.text { max-width: 40em; font-size: 12px; white-space: normal; }
p { color: #888; }
"""


def survey_page(rows: Sequence[SurveyRow], about: str) -> str:
    """Return a web page with the table; it asks for nothing else, and its links lead into the folder that it lies in.

    Args:
        about: One line on what the survey was made with.
    """
    targets = targets_of(rows)
    head = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in [*header(targets), "why not more"])
    body = "\n".join(_html_row(row, targets) for row in rows)
    title = f"Survey of {counted(len(rows), 'model')}"
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f"<title>{title}</title><style>{_STYLE}</style></head>",
            f"<body><h1>{title}</h1><p>{_text(about)}</p>",
            f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></body></html>\n",
        ]
    )


def _html_row(row: SurveyRow, targets: Sequence[str]) -> str:
    first, *others = cells(row, targets)
    is_better = row.gain is not None and row.gain.is_decided and row.gain.ratio > 1
    made = [f'<td title="{_text(row.source)}">{_text(first)}</td>', *(f"<td>{_text(cell)}</td>" for cell in others[:-1])]
    made.append(f'<td class="better">{_text(others[-1])}</td>' if is_better else f"<td>{_text(others[-1])}</td>")
    made.append(f'<td class="text">{"<br>".join(map(_text, reasons(row)))}</td>')
    return f"<tr{'' if row.plan else ' class=none'}>{''.join(made)}</tr>"


def _text(text: str) -> str:
    return escape(printable(shortened(text)))
