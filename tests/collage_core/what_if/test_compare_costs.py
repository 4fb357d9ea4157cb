"""Two cost databases: what differs by more than its noise, what fails on one machine alone, and which machines are compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.records import CostKey, MeasuredTransition, Record, TransitionKey
from collage_core.documents.json_form import to_json
from collage_core.errors import CollageError
from collage_core.what_if.compare_costs import compare_costs, is_database
from tests.helpers.command import document_of, in_this_process

HERE, THERE = "a CPU, 2 cores", "another CPU, 8 cores"
KEY = CostKey("c0ffee", "tvm", "0.27", 2, HERE, "float32")
PAIR = TransitionKey("tvm", "onnxruntime", "0.27", "1.31", 2, HERE)
CREATED = "2026-01-01T00:00:00+00:00"


def steady(seconds: float, created: str = CREATED) -> Record:
    """Eight repetitions that hardly differ."""
    samples = tuple(seconds * (1 + share / 1000) for share in (-2, -1, -1, 0, 0, 1, 1, 2) for _ in range(3))
    return Record(samples=samples, repetitions=(3,) * 8, created=created)


def write(path: Path, machine: str, **seconds: float) -> Path:
    with CostDatabase(path) as database:
        for name, value in seconds.items():
            database.put(replace(KEY, computation=name, machine=machine), steady(value))
    return path


def test_what_differs_by_more_than_its_noise_is_told_the_largest_ratio_first(tmp_path: Path) -> None:
    a = write(tmp_path / "a.sqlite3", HERE, same=1e-3, slow=2e-3, quick=1e-3, mine=1e-3)
    b = write(tmp_path / "b.sqlite3", THERE, same=1.0001e-3, slow=1e-3, quick=3e-3, theirs=1e-3, too=1e-3)
    found = compare_costs(str(a), str(b))
    assert [(row.computation, row.is_clear) for row in found.costs] == [("quick", True), ("slow", True), ("same", False)]
    assert [row.ratio for row in found.costs] == pytest.approx([1 / 3, 2, 0.9999], rel=1e-3)
    (tvm,) = found.toolchains
    assert (tvm.costs, tvm.slower, tvm.faster, tvm.first_versions) == (3, 1, 1, ("0.27",))
    assert (found.first.only_here, found.second.only_here) == (1, 2)
    assert (found.first.machine, found.second.machine) == (HERE, THERE)


def test_one_look_differs_by_less_than_its_noise(tmp_path: Path) -> None:
    a = write(tmp_path / "a.sqlite3", HERE)
    b = write(tmp_path / "b.sqlite3", THERE)
    for path, machine, seconds in ((a, HERE, 1e-3), (b, THERE, 1.1e-3)):
        with CostDatabase(path) as database:
            database.put(replace(KEY, machine=machine), Record(samples=(seconds,) * 5, created=CREATED))
    (row,) = compare_costs(str(a), str(b)).costs
    assert not row.is_clear


def test_what_fails_on_one_machine_alone_is_told_with_its_reason(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.sqlite3", HERE, sound=1e-3), write(tmp_path / "b.sqlite3", THERE, sound=1e-3, broken=1e-3)
    with CostDatabase(a) as database:
        database.put(replace(KEY, computation="broken"), Record(stage="build", reason="no AVX-512 here", created=CREATED))
    (row,) = compare_costs(str(a), str(b)).failures
    assert (row.computation, row.fails_on, row.stage, row.reason) == ("broken", "first", "build", "no AVX-512 here")
    assert row.seconds == pytest.approx(1e-3)


def test_of_two_versions_the_newest_measurement_counts_and_both_are_named(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.sqlite3", HERE, one=1e-3), write(tmp_path / "b.sqlite3", THERE, one=1e-3)
    with CostDatabase(b) as database:
        newer = replace(KEY, computation="one", machine=THERE, version="0.28")
        database.put(newer, steady(4e-3, "2026-02-01T00:00:00+00:00"))
    (row,) = compare_costs(str(a), str(b)).costs
    assert (row.first_version, row.second_version) == ("0.27", "0.28")
    assert row.ratio == pytest.approx(0.25, rel=1e-2)


def test_two_machines_of_one_database_are_named_behind_it(tmp_path: Path) -> None:
    both = write(write(tmp_path / "both.sqlite3", HERE, one=1e-3, two=1e-3), THERE, one=2e-3)
    for first, second in ((f"{both}#a CPU*", f"{both}#another*"), (str(both), str(both))):
        found = compare_costs(first, second)
        assert {found.first.machine, found.second.machine} == {HERE, THERE}
        assert [row.computation for row in found.costs] == ["one"]
    with pytest.raises(CollageError, match="holds no costs of a machine 'a GPU'"):
        compare_costs(f"{both}#a GPU", str(both))


def test_databases_without_a_common_cost_are_told_apart(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.sqlite3", HERE, one=1e-3), write(tmp_path / "b.sqlite3", THERE, two=1e-3)
    with pytest.raises(CollageError, match="have no cost in common"):
        compare_costs(str(a), str(b))


def test_transitions_of_both_stand_side_by_side(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.sqlite3", HERE, one=1e-3), write(tmp_path / "b.sqlite3", THERE, one=1e-3)
    for path, machine, fixed_s in ((a, HERE, 1e-6), (b, THERE, 2e-6)):
        with CostDatabase(path) as database:
            database.put_transition(replace(PAIR, machine=machine), MeasuredTransition(fixed_s, 1e-12))
    (row,) = compare_costs(str(a), str(b)).transitions
    assert (row.maker, row.reader, row.first_fixed_s, row.second_fixed_s) == ("tvm", "onnxruntime", 1e-6, 2e-6)


def test_what_is_a_database_is_told_by_its_content(tmp_path: Path) -> None:
    database = write(tmp_path / "costs.db", HERE, one=1e-3)
    (tmp_path / "plan.json").write_text("{}")
    assert is_database(str(database))
    assert is_database(f"{database}#any machine")
    assert is_database("postgresql://host/costs")
    assert not is_database(str(tmp_path / "plan.json"))
    assert not is_database(str(tmp_path))
    assert not is_database("nothing")


def test_the_command_compares_them_and_refuses_a_plan_beside_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = write(tmp_path / "a.sqlite3", HERE, slow=2e-3, same=1e-3), write(tmp_path / "b.sqlite3", THERE, slow=1e-3, same=1e-3)
    assert document_of(capsys, "compare", a, b) == {"schema": 1, **to_json(compare_costs(str(a), str(b)))}
    status, out, _ = in_this_process(capsys, "compare", a, b)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == f"first: {HERE} ({a}), 0 costs that the other one lacks"
    assert lines[2].startswith("tvm 0.27, 2 threads: of 2 costs the first has 1 slower, 0 faster, 1 within noise; median ")
    assert lines[3].startswith("       2 times  tvm slow: 2 ms ± ")
    (tmp_path / "plan.json").write_text("{}")
    status, _, err = in_this_process(capsys, "compare", a, tmp_path / "plan.json")
    assert status == 2
    assert err.startswith(f"error: {str(a)!r} is a cost database, {str(tmp_path / 'plan.json')!r} is none")
