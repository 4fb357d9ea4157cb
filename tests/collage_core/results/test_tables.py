"""The tables of a run: their numbers are those of the run, they read back, and no text in them is a formula."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from collage_core.base.csv_table import csv_table
from collage_core.base.durations import milliseconds
from collage_core.pipeline.record.record import CostedCandidate, RunRecord
from collage_core.results import tables
from collage_core.results.node_rows import node_rows, regrets_by_node
from collage_core.results.notebook_html import Page, result_html
from tests.collage_core.results.conftest import HOSTILE, Kept


def read(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def test_a_node_has_the_least_regret_of_each_target_that_it_is_not_on(kept: Kept) -> None:
    record = kept.record
    rows = node_rows(record)
    assert [row.node for row in rows] == list(range(len(record.graph)))
    for row in rows:
        part = record.plan.partitions[row.partition - 1]
        assert (row.target, row.partition_id, row.cost_s) == (part.target, part.id, part.cost_s)
        assert row.node in part.nodes
        told = record.node_candidates(row.node).candidates
        for target, regret in row.regrets.items():
            assert target != row.target
            assert regret.is_exact
            assert regret.exact_s == min(one.regret_s for one in told if one.target == target and one.regret_s is not None)
    assert any(row.regrets for row in rows)


def test_regrets_that_need_a_search_each_are_told_by_lower_bounds(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = regrets_by_node(kept.record)
    read_back = RunRecord.load(kept.folder)
    read_back.regret_s.clear()
    monkeypatch.setattr("collage_core.pipeline.record.regrets.REGRET_EDGES", 0)
    assert regrets_by_node(read_back, bounds=False) == {}
    found = regrets_by_node(read_back)
    for node, regrets in exact.items():
        for target, regret in regrets.items():
            bound = found[node][target]
            assert (bound.at_least_s or 0) <= (regret.exact_s or 0) + 1e-12
            assert bound.is_exact or bound.text(milliseconds) == f"≥ {(bound.at_least_s or 0) * 1e3:.4g} ms"
    assert not all(one.is_exact for regrets in found.values() for one in regrets.values())
    row = read(tables.nodes_csv(read_back))[0]
    assert row["regret_s_tvm"] == ""
    assert float(row["regret_at_least_s_tvm"]) == found[0]["tvm"].at_least_s


def test_a_regret_over_estimates_says_so(kept: Kept) -> None:
    record = kept.record
    chosen = {part.id for part in record.plan.partitions}
    costed = [
        item if item.id in chosen or item.cost.seconds is None else CostedCandidate(item.held, replace(item.cost, source="profile"))
        for item in record.candidates
    ]
    rows = read(tables.nodes_csv(replace(record, candidates=costed, regret_s={})))
    told = {row["regret_basis_tvm"] for row in rows if row["regret_s_tvm"] and float(row["regret_s_tvm"]) > 0}
    assert told == {"estimated"}
    assert "tvm ≈ " in result_html(replace(record, candidates=costed, regret_s={}), Page())


def test_the_table_of_nodes_reads_back(kept: Kept) -> None:
    rows, expected = read(tables.nodes_csv(kept.record)), node_rows(kept.record)
    assert [int(row["node"]) for row in rows] == [row.node for row in expected]
    for row, one in zip(rows, expected, strict=True):
        assert (row["target"], row["operator"], float(row["cost_s"])) == (one.target, one.op, one.cost_s)
        assert {name: float(row[f"regret_s_{name}"]) for name in one.regrets} == {name: it.exact_s for name, it in one.regrets.items()}
    assert rows[1]["name"] == f"'{HOSTILE}", "a spreadsheet reads no formula"


def test_the_table_of_partitions_has_transitions_behind_them(kept: Kept) -> None:
    plan = kept.record.plan
    rows = read(tables.partitions_csv(kept.record))
    parts, transitions = rows[: len(plan.partitions)], rows[len(plan.partitions) :]
    assert [(row["id"], float(row["cost_s"])) for row in parts] == [(part.id, part.cost_s) for part in plan.partitions]
    assert [row["operators"] for row in transitions] == ["transition"] * len(plan.transitions)
    assert sum(float(row["share_of_predicted"]) for row in rows) == pytest.approx(1)


def test_a_number_has_no_exponent_and_no_noise() -> None:
    assert csv_table(["cost_s", "name"], [[9.2e-05, "-x"], [15.556000000000003, None], [-3e-13, "y"]]) == (
        "cost_s,name\r\n0.000092,'-x\r\n15.556,\r\n-0.0000000000003,y\r\n"
    )
