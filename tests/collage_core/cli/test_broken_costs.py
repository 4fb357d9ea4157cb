"""Cost files and databases that are broken, locked or of another version; at the command line, as a user sees it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from collage_core.cost.cost import Cost
from collage_core.cost.database.database import CostDatabase
from collage_core.pipeline import build_and_compare
from collage_core.pipeline.decision import Decision
from collage_core.pipeline.searched_run import SearchedRun
from tests.helpers.known_costs import Known


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"schema": 2, "targets": {"tvm": {"op_s": 1}}}', "schema is 2, it must be left out: only targets, transitions mean something"),
        ('{"targets": {"tvm": {"op_s": NaN}}}', "targets.tvm.op_s is nan, it must be a finite number, not negative, at most 1e+15"),
        ('{"targets": {"tvm": {"op_s": -3}}}', "targets.tvm.op_s is -3, it must be a finite number"),
        ('{"targets": {"tvm": {"op_s": 1e300}}}', "targets.tvm.op_s is 1e+300, it must be a finite number"),
        ('{"targets": {"tvm": {"op_s": 1, "decay": 1e15}}}', "targets.tvm: the sum over 2 ops is 1000000000000001.0"),
        ('{"targets": {"tvm": ', "is not JSON"),
    ],
)
def test_mock_costs_that_cannot_be_true_are_one_line(
    shown: Callable[..., tuple[int, str, str]], chain: Path, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "mock.json"
    path.write_text(text)
    status, out, err = shown("partition", chain, "--targets", "tvm", "--costs", f"mock:{path}", "--json")
    assert (status, out) == (2, "")
    assert err.startswith(f"error: the mock file {str(path)!r}")
    assert said in err
    assert len(err.splitlines()) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 7}, "cannot replay costs from {path}: its schema is 7, this version reads 1"),
        ({"seconds": float("nan")}, "the run {path}: candidates[0].cost.seconds is nan, it must be a finite number"),
        ({"seconds": -1.0}, "the run {path}: candidates[0].cost.seconds is -1.0, it must be a finite number"),
        ({"seconds": 1e300}, "the run {path}: candidates[0].cost.seconds is 1e+300, it must be a finite number"),
        ({"seconds": "fast"}, "the run {path}: candidates[0].cost.seconds is 'fast', it must be a finite number"),
    ],
)
def test_recorded_costs_that_cannot_be_true_are_one_line(
    shown: Callable[..., tuple[int, str, str]], chain: Path, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    cost = {"seconds": 1.0, "source": "measured"} | {key: value for key, value in change.items() if key != "schema"}
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"schema": change.get("schema", 1), "candidates": [{"id": "a", "cost": cost}]}))
    status, out, err = shown("partition", chain, "--targets", "onnxruntime", "--costs", f"replay:{path}", "--json")
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {said.format(path=repr(str(path)))}")
    assert len(err.splitlines()) == 2


def test_database_of_another_schema_is_refused_and_left_as_it_is(
    shown: Callable[..., tuple[int, str, str]], chain: Path, tmp_path: Path
) -> None:
    path = tmp_path / "costs.sqlite3"
    CostDatabase(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
        connection.commit()
    before = path.read_bytes()
    for costs in ("measure", f"replay:{path}"):
        status, out, err = shown("partition", chain, "--targets", "onnxruntime", "--costs", costs, "--costs-db", path, "--json")
        assert (status, out) == (2, "")
        assert str(path) in err
        complaint, hint = err.splitlines()
        assert complaint.endswith("has schema 99, and this collage-explorer reads schema 1 alone")
        assert hint.startswith("hint: use the collage-explorer that wrote it; or name another with COLLAGE_COSTS, or delete it")
    assert path.read_bytes() == before


@pytest.mark.long
def test_read_only_database_is_used_and_what_is_new_is_kept_apart(
    known: Known, shown: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """SQLite writes to no file whose header names a way of writing that it does not know; root may write to every other."""
    rows, whole = known.rows(), known.rows("NOT stopped_early")
    data = bytearray(known.database.read_bytes())
    data[18] = 3
    known.database.write_bytes(data)
    target, said = known.run("--measure-all")
    assert 0 < whole <= target["cache_hits"] <= rows, "what was ended early may be worth another trial"
    assert target["cache_hits"] + target["measured"] == 10
    assert f"note: the cost database {str(known.database)!r} cannot be written (it is read-only): measuring goes on, but new" in said
    assert known.database.read_bytes() == bytes(data)
    assert target["measured"] <= known.imported(said, shown, tmp_path) <= 10, "what was known may have been repeated"


@pytest.mark.long
def test_locked_database_is_passed_over_and_nothing_is_lost(
    known: Known, shown: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CostDatabase.__init__.__kwdefaults__, "busy_s", 0.5)

    def measure_late(run: SearchedRun, decision: Decision) -> dict[int, Cost]:
        late = [candidate for candidate in run.loop.table.candidates if not run.loop.table.is_known(candidate)]
        assert len([cost for _, cost in run.measure(late, None)]) > 0
        return {}

    monkeypatch.setattr(build_and_compare, "_missing_costs", measure_late)
    rows = known.rows()
    with closing(sqlite3.connect(known.database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        status, _, said = shown(*known.command)
    assert status == 0, said
    target = known.found()
    assert f"note: the cost database {str(known.database)!r} cannot be opened: it is locked by another program" in said
    assert known.imported(said, shown, tmp_path) == target["measured"] > 0
    assert known.rows() == rows
