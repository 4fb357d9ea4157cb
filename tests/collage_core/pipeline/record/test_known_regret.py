"""A regret in seconds: the fields of documents and the words for people, exact, bounded, unknown, and in no plan."""

from __future__ import annotations

import pytest

from collage_core.base.durations import milliseconds
from collage_core.cost.cost import Cost
from collage_core.documents.candidates import NodeCandidate
from collage_core.pipeline.record.known_regret import IN_NO_PLAN, KnownRegret
from collage_core.search.alternatives.regret import Regret
from collage_core.search.problem import femtoseconds

MS = femtoseconds(1e-3)


@pytest.mark.parametrize(
    ("regret", "fields", "text"),
    [
        (None, (None, None, False), "in no plan"),
        (Regret(0, 0), (0.0, 0.0, False), "0 ms"),
        (Regret(2 * MS, 2 * MS), (2e-3, 2e-3, False), "2 ms"),
        (Regret(MS, None), (None, 1e-3, False), "≥ 1 ms"),
        (Regret(0, None), (None, 0.0, False), "≥ 0 ms"),
        (Regret(MS, None, rests_on_unknown=True), (None, 1e-3, True), "≥ 1 ms"),
        (Regret(0, None, rests_on_unknown=True), (None, 0.0, True), "unknown"),
    ],
)
def test_fields_and_words(regret: Regret | None, fields: tuple[float | None, float | None, bool], text: str) -> None:
    known = KnownRegret.of(regret)
    row = NodeCandidate("id", "tvm", "Relu", (0,), "tvm.primitive", 1, Cost.unknown(""), None, False, "", *fields, "predicted")
    assert (known.exact_s, known.at_least_s, known.rests_on_unknown) == fields
    assert known.text(milliseconds) == text
    assert KnownRegret.of_row(row) == known
    assert (known == IN_NO_PLAN) == (regret is None)
