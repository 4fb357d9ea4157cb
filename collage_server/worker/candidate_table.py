"""`candidate_table`: puts every candidate of a run and all that its rules rejected into one table, packed for the way. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collage_core.pipeline.record.record import CostedCandidate, RunRecord


def candidate_table(record: RunRecord) -> dict[str, Any]:
    """Return the fields of `PackedCandidates`, but for the run."""
    chosen = {partition.id for partition in record.plan.partitions}
    rejections = [
        {
            **{key: item[key] for key in ("target", "rule", "stage", "reason")},
            "pattern": item.get("pattern", ""),
            "spans": spans(item["nodes"]),
        }
        for item in record.rejected
    ]
    return {**packed([_row(item, chosen, record.regret_s) for item in record.candidates]), "rejections": rejections}


SHARED = {"target": "targets", "label": "labels", "rule": "rules", "cost": "costs"}
"""Column of indices → the list that they point into."""
FLAGS = ("chosen", "in_no_plan")


def packed(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return rows as columns, in which what many rows share stands once, and a flag is the list of the rows that have it."""
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in ("id", "spans", "times", "regret_s")}
    lists: dict[str, list[Any]] = {}
    for name, values in SHARED.items():
        numbers: dict[Any, int] = {}
        lists[values] = []
        columns[name] = []
        for row in rows:
            key = tuple(row[name].items()) if name == "cost" else row[name]
            if key not in numbers:
                numbers[key] = len(numbers)
                lists[values].append(row[name])
            columns[name].append(numbers[key])
    columns |= {name: [index for index, row in enumerate(rows) if row[name]] for name in FLAGS}
    return {**lists, "columns": columns}


def _row(item: CostedCandidate, chosen: set[str], regret_s: Mapping[str, float | None]) -> dict[str, Any]:
    data = item.candidate
    return {
        **{key: data[key] for key in ("id", "target", "label", "rule")},
        "spans": spans(data["nodes"]),
        "times": data.get("times", 1),
        "cost": item.cost.to_json(),
        "chosen": item.id in chosen,
        "regret_s": regret_s.get(item.id),
        "in_no_plan": item.id in regret_s and regret_s[item.id] is None,
    }


def spans(nodes: Iterable[int]) -> list[int]:
    """Return ascending numbers as pairs of the first and the last one of each run without gaps."""
    pairs: list[int] = []
    for node in nodes:
        if pairs and pairs[-1] == node - 1:
            pairs[-1] = node
        else:
            pairs += [node, node]
    return pairs
