"""A verified plan as JSON, with errors that are no numbers."""

from __future__ import annotations

import math

from collage_core.documents.json_form import from_json, to_json
from collage_core.documents.verify import ShapeVerify, Verify


def test_an_infinite_error_stays_one() -> None:
    verify = Verify(max_rel_error=math.inf, errors={"y": math.inf}, sets={"drawn": {"y": math.inf}})
    assert to_json(verify)["max_rel_error"] == math.inf
    assert from_json(Verify, to_json(verify)) == verify


def test_shapes_and_partitions_are_told_where_they_were_asked_for() -> None:
    assert to_json(Verify()).keys().isdisjoint({"shapes", "each"})
    verify = Verify(shapes=(ShapeVerify(name="n=1", measured_s=1e-3),))
    (row,) = to_json(verify)["shapes"]
    assert (row["name"], row["measured_s"]) == ("n=1", 1e-3)
    assert from_json(Verify, to_json(verify)) == verify
