"""A recorded run: what names it, a regret that is the same wherever it is asked for, and an estimate that is no measured time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from collage_core.base.durations import duration
from collage_core.errors import CollageError
from collage_core.pipeline.record import regrets
from collage_core.pipeline.record.record import RunRecord, read_record, record_path, write_record
from collage_core.search.alternatives import regret
from tests.helpers.paths import RECORDED

SAID = ("regret_s", "regret_at_least_s")


def crnn() -> RunRecord:
    return read_record(RECORDED / "crnn.json.gz")


def test_a_run_is_named_by_its_folder_its_plan_or_its_record(tmp_path: Path) -> None:
    record = tmp_path / "run.json.gz"
    assert {record_path(named) for named in (tmp_path, tmp_path / "plan.json", record)} == {record}
    assert record_path(tmp_path / "crnn.json.gz") == tmp_path / "crnn.json.gz", "a record may have any name"


@pytest.mark.parametrize(("edges", "ranked"), [(regrets.REGRET_EDGES, regret.RANKED_STATES), (0, regret.RANKED_STATES), (0, 8)])
def test_why_of_a_node_and_the_table_of_costs_say_the_same(monkeypatch: pytest.MonkeyPatch, edges: int, ranked: int) -> None:
    """By one sweep, by searches of single candidates, and where these stop before they know the regret."""
    monkeypatch.setattr(regrets, "REGRET_EDGES", edges)
    monkeypatch.setattr(regret, "RANKED_STATES", ranked)
    asked, table = crnn(), crnn()
    by_table = {item.id: table.regrets_of([item.id])[0] for item in reversed(table.problem.candidates)}
    for node in range(len(asked.graph)):
        for row in asked.node_candidates(node).candidates:
            assert [getattr(row, name) for name in SAID] == [getattr(by_table[row.id], name) for name in SAID]


def test_single_searches_tell_no_other_regrets_than_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = [item.id for item in crnn().problem.candidates]
    exact = crnn().regrets_of(everything)
    assert all(row.regret_s is not None or row.in_no_plan or row.rests_on_unknown for row in exact)
    monkeypatch.setattr(regrets, "REGRET_EDGES", 0)
    for known, alone in zip(exact, crnn().regrets_of(everything), strict=True):
        assert alone.regret_s in (None, known.regret_s)
        assert known.regret_s is None or alone.regret_at_least_s <= known.regret_s


def test_an_estimate_is_no_time_of_a_node_alone() -> None:
    """Of what was not measured the record keeps the bound that steered the search."""
    found = crnn()
    single = [item for item in found.candidates if len(item.inside) == 1]
    measured = {(item.inside.first(), item.target): item.cost.seconds for item in single if item.cost.source == "measured"}
    assert len(measured) < sum(item.cost.seconds is not None for item in single)
    assert found.alone_s == measured


def test_shares_of_an_estimated_cost_are_estimates_themselves() -> None:
    """A described toolchain is not measured at all."""
    found = read_record(RECORDED / "mnist.json.gz")
    estimated = [replace(item, cost=replace(item.cost, source="estimate")) for item in found.candidates]
    partitions = tuple(replace(one, source="estimate") for one in found.plan.partitions)
    for plan, source in ((found.plan, "none"), (found.plan.model_copy(update={"partitions": partitions}), "candidates")):
        record = replace(found, candidates=estimated, plan=plan)
        assert record.alone_s == {}
        assert {one.source for one in record.node_times} == {source}


def test_no_regret_is_below_zero_where_costs_are_unknown(tmp_path: Path) -> None:
    kept = read_record(RECORDED / "ssd300.json.gz")
    assert any(item.is_unknown for item in kept.problem.candidates)
    write_record(replace(kept, regret_s={kept.problem.candidates[0].id: -0.0875}), tmp_path / "run.json.gz")
    with pytest.raises(CollageError, match="it is damaged"):
        read_record(tmp_path / "run.json.gz")
    regrets = kept.known_regrets(bounds=True)
    assert {one.rests_on_unknown for one in regrets.values()} == {True, False}
    assert all(one.at_least_s is None or one.at_least_s >= 0 for one in regrets.values())
    assert all(one.rests_on_unknown == (one.exact_s is None) for one in regrets.values() if one.at_least_s is not None)
    for item in kept.problem.candidates:
        assert regrets[item.id].rests_on_unknown or not item.is_unknown, "a plan with it rests on its unknown cost"
    for part in kept.plan.partitions:
        assert regrets[part.id].exact_s == 0
    rows = kept.node_candidates(len(kept.graph) // 2).candidates
    assert [row.rests_on_unknown for row in rows] == sorted(row.rests_on_unknown for row in rows), "they come last"


def test_regrets_are_told_against_the_plan_that_the_run_decided_on() -> None:
    """Its sum is not the least: a candidate of the plan of the least sum, which was measured to be slower, is slower by that."""
    kept = read_record(RECORDED / "crnn.json.gz")
    searched = next(row for row in kept.document.alternatives if row.kind == "search")
    assert searched.total_s < kept.plan.total_s
    slower_s = searched.measured_s - kept.document.verify.measured_s
    regrets = kept.known_regrets(bounds=True)
    own = {part.id for part in kept.plan.partitions}
    assert all(regrets[id].exact_s == 0 for id in own)
    for part in searched.partitions:
        if part.id not in own:
            assert (regrets[part.id].exact_s, regrets[part.id].basis) == (pytest.approx(slower_s), "measured")
            assert regrets[part.id].text(duration) == f"{duration(slower_s)} measured"
    assert all(one.at_least_s is None or one.at_least_s >= 0 for one in regrets.values())
