"""The lines of a terminal about several shapes: the plan of each, the two answers, and the loss where one shape is fixed.

The document of `collage partition` enters; lines leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..base.counted import counted
from ..base.durations import duration
from ..documents.run import RunDocument
from ..rules.baseline_names import ALL_SHAPES
from ..rules.spec import HOST_TARGET

ANSWERS = {"one_plan": "one plan for all shapes", "by_range": "one plan for each range"}


def shapes_lines(document: RunDocument) -> list[str]:
    """Return the lines about the shapes of a run; none where it had one shape."""
    shapes = document.shapes
    if shapes is None:
        return []
    planned = shapes["planned"]
    lines = [f"{counted(len(planned), 'shape')}; the plan above is that of {_main(document, planned)['name']}:"]
    lines += [f"  {row}" for row in _rows(planned)]
    lines += _answers(shapes)
    lines += [f"  {text}" for text in _crossovers(shapes)]
    lines += [f"  {text}" for text in _losses(shapes)]
    lines += _one_build(shapes.get("one_build", []))
    return lines


def _main(document: RunDocument, planned: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the shape that the rest of the document is about."""
    inputs = {tensor.name: list(tensor.shape) for tensor in document.model.inputs}
    return next((row for row in planned if row["inputs"] == inputs), planned[-1])


def _rows(planned: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    width = max(len(row["name"]) for row in planned)
    for row in planned:
        measured = "" if row["measured_s"] is None else f", measured {duration(row['measured_s'])}"
        said = f"predicted {duration(row['total_s'])}{measured}  {targets(row['partitions'])}"
        yield f"{row['name']:<{width}}  {row['weight']:4.0%}  {said}"


def targets(partitions: Sequence[Mapping[str, Any]]) -> str:
    """Return the targets of a plan with how many nodes each has."""
    counts: dict[str, int] = {}
    for part in partitions:
        if part["target"] != HOST_TARGET:
            counts[part["target"]] = counts.get(part["target"], 0) + len(part["nodes"])
    parts = sum(part["target"] != HOST_TARGET for part in partitions)
    named = " + ".join(f"{target} {count}" for target, count in counts.items())
    return f"{named} nodes in {counted(parts, 'partition')}"


def _answers(shapes: Mapping[str, Any]) -> Iterator[str]:
    for name, words in ANSWERS.items():
        answer = shapes[name]
        mark = "chosen" if shapes["chosen"] == name else "not chosen"
        if answer["total_s"] is None:
            why = answer.get("reason") or "a cost is not known"
            yield f"{words}: none ({why})"
            continue
        measured = "" if answer["measured_s"] is None else f", measured {duration(answer['measured_s'])}"
        ranges = "" if name == "one_plan" else f" in {counted(len(answer['ranges']), 'range')}"
        said = f"predicted {duration(answer['total_s'])}{measured} over all shapes{ranges}"
        named = f" ({answer['name']})" if answer.get("name") not in (None, ALL_SHAPES) else ""
        yield f"{words}{named}: {said} ({mark}, by the {shapes['decided_by']})"


def _crossovers(shapes: Mapping[str, Any]) -> Iterator[str]:
    for one in shapes["crossovers"]:
        tried = ", ".join(str(row["size"]) for row in one["tried"])
        yield f"the plans change between {one['dimension']}={one['below']} and {one['above']} (compared at {tried or 'no size between'})"


def _losses(shapes: Mapping[str, Any]) -> Iterator[str]:
    """Say of each plan that is the best of some shapes what it would lose at the others."""
    planned = shapes["planned"]
    for index, plan in enumerate(shapes["plans"]):
        best_at = [row["name"] for row in planned if row["best"] == index]
        if not best_at:
            continue
        lost = [(row["name"], seconds) for row, seconds in zip(planned, plan["loses_s"], strict=True) if row["best"] != index]
        said = [f"{name} {'not to be had' if seconds is None else '+' + duration(seconds)}" for name, seconds in lost if seconds != 0]
        if said:
            yield f"fixing the shape {' or '.join(best_at)} loses at {'; '.join(said)}"


def _one_build(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say of each shape how much longer it takes with builds that other shapes have too, or why it has none of them."""
    for row in rows:
        if row["reason"]:
            yield f"{row['name']} has builds of its own: {row['reason']}"
            continue
        share = row["shared_s"] / row["own_s"] - 1
        own = f"{duration(row['own_s'])} with builds of its own"
        yield f"{row['name']} shares {counted(len(row['partitions']), 'build')}: {duration(row['shared_s'])}, {own} ({share:+.1%})"
