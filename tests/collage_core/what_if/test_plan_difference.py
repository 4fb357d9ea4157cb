"""The regions of two plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collage_core.documents.plan import PlanPartition
from collage_core.what_if.plan_difference import moved_nodes, regions_of

CASES = json.loads((Path(__file__).parent / "differences.json").read_text())["cases"]


def placed(parts: list[list[Any]]) -> list[PlanPartition]:
    made = []
    for target, nodes, cost_s in parts:
        names, id = tuple(f"n{node}" for node in nodes), f"{target}-{nodes}"
        made.append(PlanPartition(id=id, target=target, nodes=tuple(nodes), names=names, ops=names, cost_s=cost_s, source="measured"))
    return made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_regions_are_the_smallest_sets_of_whole_partitions(case: dict[str, Any]) -> None:
    first, second = placed(case["first"]), placed(case["second"])
    found = regions_of(first, second)
    told = [(one.kind, list(one.nodes), one.is_change) for one in found]
    assert told == [(kind, nodes, differs) for kind, nodes, _, differs in case["regions"]]
    for one, (_, _, change_s, _) in zip(found, case["regions"], strict=True):
        assert one.change_s == (None if change_s is None else pytest.approx(change_s, abs=1e-12))
    assert moved_nodes(first, second) == case["moved"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_exchanged_plans_differ_by_the_opposite_sign(case: dict[str, Any]) -> None:
    first, second = placed(case["first"]), placed(case["second"])
    there, back = regions_of(first, second), regions_of(second, first)
    assert [one.nodes for one in back] == [one.nodes for one in there]
    known = [(one.change_s, other.change_s) for one, other in zip(there, back, strict=True)]
    assert all((a is None) == (b is None) and (a or 0.0) == -(b or 0.0) for a, b in known)
    assert sorted(node for one in there for node in one.nodes) == sorted(node for part in first for node in part.nodes)
