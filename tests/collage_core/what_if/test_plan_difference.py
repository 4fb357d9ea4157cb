"""The regions of two plans."""

from __future__ import annotations

import json
from dataclasses import replace
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


@pytest.mark.parametrize("source", ["bound", "unknown"])
def test_a_region_that_rests_on_what_nobody_knows_has_no_cost(source: str) -> None:
    first, second = placed([["a", [0], 1.0]]), placed([["b", [0], 2.0]])
    (found,) = regions_of(first, [replace(part, source=source) for part in second])
    assert (found.first_s, found.second_s, found.change_s, found.is_change) == (1.0, None, None, True)
