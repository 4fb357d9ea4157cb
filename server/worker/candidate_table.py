"""`candidate_table`: puts every candidate of a run and all that its rules rejected into rows of one table. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collage_core.pipeline.record import CostedCandidate, RunRecord


def candidate_table(record: RunRecord) -> dict[str, Any]:
    """Return the ``candidates`` and ``rejections`` of `RunCandidates`."""
    chosen = {partition.id for partition in record.plan.partitions}
    rejections = [
        {**{key: item[key] for key in ("target", "rule", "stage", "reason")}, "spans": spans(item["nodes"])} for item in record.rejected
    ]
    return {"candidates": [_row(item, chosen, record.regret_s) for item in record.candidates], "rejections": rejections}


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
