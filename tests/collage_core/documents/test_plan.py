"""Partitions and transitions of plans as JSON has them."""

from __future__ import annotations

import pytest

from collage_core.documents.json_form import from_json, to_json
from collage_core.documents.plan import PlanInfo, PlanPartition, PlanTransition
from collage_core.errors import CollageError

PART = PlanPartition(id="p1", target="tvm", nodes=(0, 1), names=("a", "b"), ops=("Conv", "Relu"), cost_s=1e-3, source="mock", label="conv")
TRANSITION = PlanTransition(maker="host", reader="tvm", tensor="x", bytes=4, cost_s=0.0)


def test_a_transition_is_from_a_maker_to_a_reader() -> None:
    assert to_json(TRANSITION) == {"from": "host", "to": "tvm", "tensor": "x", "bytes": 4, "cost_s": 0.0}


def test_a_plan_reads_back() -> None:
    plan = PlanInfo(total_s=1e-3, partitions=(PART,), transitions=(TRANSITION,))
    assert from_json(PlanInfo, to_json(plan)) == plan


@pytest.mark.parametrize(("key", "value"), [("nodes", []), ("cost_s", -1.0), ("cost_s", float("nan")), ("names", "a")])
def test_no_partition_is_like_that(key: str, value: object) -> None:
    with pytest.raises(CollageError, match=f"the JSON is not that of PlanPartition: {key} is "):
        from_json(PlanPartition, {**to_json(PART), key: value})
