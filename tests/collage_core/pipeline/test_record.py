"""Regrets in a recorded run: that of a candidate is the same wherever it is asked for."""

from __future__ import annotations

import pytest

from collage_core.pipeline import record
from collage_core.pipeline.record import RunRecord, read_record
from collage_core.search.alternatives import regret
from tests.helpers.paths import RECORDED

SAID = ("regret_s", "regret_at_least_s")


def crnn() -> RunRecord:
    return read_record(RECORDED / "crnn.json.gz")


@pytest.mark.parametrize(("edges", "ranked"), [(record.REGRET_EDGES, regret.RANKED_STATES), (0, regret.RANKED_STATES), (0, 8)])
def test_why_of_a_node_and_the_table_of_costs_say_the_same(monkeypatch: pytest.MonkeyPatch, edges: int, ranked: int) -> None:
    """By one sweep, by searches of single candidates, and where these stop before they know the regret."""
    monkeypatch.setattr(record, "REGRET_EDGES", edges)
    monkeypatch.setattr(regret, "RANKED_STATES", ranked)
    asked, table = crnn(), crnn()
    by_table = {item.id: table.regrets_of([item.id])[0] for item in reversed(table.problem.candidates)}
    for node in range(len(asked.graph)):
        for row in asked.node_candidates(node)["candidates"]:
            assert {key: row[key] for key in SAID} == {key: by_table[row["id"]][key] for key in SAID}


def test_single_searches_tell_no_other_regrets_than_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = [item.id for item in crnn().problem.candidates]
    exact = crnn().regrets_of(everything)
    assert all(row["regret_s"] is not None or row["in_no_plan"] for row in exact)
    monkeypatch.setattr(record, "REGRET_EDGES", 0)
    for known, alone in zip(exact, crnn().regrets_of(everything), strict=True):
        assert alone["regret_s"] in (None, known["regret_s"])
        assert known["in_no_plan"] or alone["regret_at_least_s"] <= known["regret_s"]
