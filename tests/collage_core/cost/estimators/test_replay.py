"""Replayed costs: from a database of one machine or of several, and from the record of a run; nothing is made up."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from collage_core.base import processor
from collage_core.cost.cost import Cost
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.maintenance import merge
from collage_core.cost.database.records import CostKey, MeasuredTransition, Record, TransitionKey, machine_id
from collage_core.cost.estimators.factory import make_estimator
from collage_core.cost.estimators.replay import ReplayEstimator
from collage_core.errors import CollageError
from collage_core.events import Event, Note, ignore
from collage_core.graph.computation import computation_key
from collage_core.graph.index_set import IndexSet
from collage_core.options import Options
from collage_core.pipeline.run_estimator import estimator_of
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.spec import HOST_TARGET
from collage_core.search.searcher import never
from tests.helpers.graphs import MINI_MNIST

CONV, ADD = ((1,), (2,))
OLD, NEW = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"


def candidate(target: str, nodes: tuple[int, ...]) -> CandidatePartition:
    return CandidatePartition(MINI_MNIST, target, IndexSet(nodes), "test")


def costs(estimator: ReplayEstimator, *candidates: CandidatePartition) -> list[Cost]:
    found = list(estimator.estimate(MINI_MNIST, candidates))
    assert [item for item, _, _ in found] == list(candidates)
    assert all(cached for item, _, cached in found if item.target != HOST_TARGET)
    return [cost for _, cost, _ in found]


def key(target: str, nodes: tuple[int, ...], machine: str = "one", threads: int = 1, version: str = "1") -> CostKey:
    return CostKey(computation_key(MINI_MNIST, IndexSet(nodes)), target, version, threads, machine)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recorded"


def test_database_gives_what_it_has_and_nothing_else(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(key("a", CONV), Record(samples=(1.0, 2.0, 3.0), error=1e-7))
        database.put(key("a", ADD), Record(stage="import", reason="no Add"))
    estimator = ReplayEstimator(path)
    host, conv, add, other = costs(estimator, candidate(HOST_TARGET, CONV), candidate("a", CONV), candidate("a", ADD), candidate("b", CONV))
    assert host == Cost(0.0, "host")
    assert replace(conv, interval_s=None) == Cost(2.0, "recorded", spread_s=0.5, samples=3, error=1e-7)
    assert (conv.interval_s or 0.0) > 1.0, "three samples of one repetition"
    assert add == Cost.invalid("import", "no Add")
    assert other == Cost.unknown(f"the cost database {str(path)!r} has no cost of it")
    estimator.close()


def test_the_percentile_that_was_asked_for_is_replayed(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(key("a", CONV), Record(samples=(1.0, 2.0, 3.0)))
    found: Any = SimpleNamespace(model=None, toolchains={}, accuracy=lambda: 1e-3)
    estimator = estimator_of(found, {}, Options(("a",), costs=f"replay:{path}", percentile=75.0), ignore, never)
    assert isinstance(estimator, ReplayEstimator)
    assert costs(estimator, candidate("a", CONV))[0].seconds == 2.5


def test_newest_record_of_a_setting_counts(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(key("a", CONV, version="2"), Record(samples=(2.0,), created=NEW))
        database.put(key("a", CONV, version="1"), Record(samples=(1.0,), created=OLD))
    (cost,) = costs(ReplayEstimator(path), candidate("a", CONV))
    assert cost.seconds == 2.0


def test_machines_are_never_mixed(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(key("a", CONV, "one"), Record(samples=(1.0,)))
        database.put(key("a", CONV, "two"), Record(samples=(2.0,)))
        database.put(key("b", CONV, "two"), Record(samples=(3.0,)))
        database.put(key("a", ADD, "one"), Record(samples=(4.0,)))
        database.put(key("b", ADD, "two"), Record(samples=(5.0,)))
    events: list[Event] = []
    estimator = ReplayEstimator(path, emit=events.append)
    conv_a, conv_b, add_a = costs(estimator, candidate("a", CONV), candidate("b", CONV), candidate("a", ADD))
    assert (conv_a.seconds, conv_b.seconds, add_a.source) == (2.0, 3.0, "unknown")
    assert estimator.machine == "two"
    assert events == [
        Note("costs are replayed as recorded on two with 1 threads; 1 other machines or numbers of threads in it are left out")
    ]
    (later,) = costs(estimator, candidate("a", ADD))
    assert later.is_unknown, "the setting stays what it was when more is asked"


def test_database_gives_its_transitions(path: Path) -> None:
    pair = TransitionKey("a", "b", "1", "1", 1, "one")
    with CostDatabase(path) as database:
        database.put(key("a", CONV), Record(samples=(1.0,)))
        database.put_transition(pair, MeasuredTransition(1.0, 0.5))
        database.put_transition(replace(pair, machine="two"), MeasuredTransition(7.0, 7.0))
    estimator = ReplayEstimator(path)
    assert estimator.machine == ""
    costs(estimator, candidate("a", CONV))
    assert estimator.transition("a", "b", 10, "float32") == 6.0
    assert estimator.transition("b", "a", 10, "float32") == 0.0
    assert estimator.transitions(["a", "b"]).to_json() == {"a->b": {"fixed_s": 1.0, "per_byte_s": 0.5}}


def test_transition_of_the_dtype_is_replayed(path: Path) -> None:
    pair = TransitionKey("a", "b", "1", "1", 1, "one")
    with CostDatabase(path) as database:
        database.put(key("a", CONV), Record(samples=(1.0,)))
        database.put_transition(pair, MeasuredTransition(1.0))
        database.put_transition(replace(pair, dtype="float16"), MeasuredTransition(2.0))
    estimator = ReplayEstimator(path)
    costs(estimator, candidate("a", CONV))
    assert [estimator.transition("a", "b", 10, dtype) for dtype in ("float16", "float32")] == [2.0, 1.0]
    assert estimator.transitions(["a", "b"]).to_json() == {"a->b": {"fixed_s": 1.0, "per_byte_s": 0.0}}


def test_cost_for_certain_weights_is_not_replayed_for_others(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(replace(key("a", CONV), weights="d1ce"), Record(samples=(1.0,)))
    (cost,) = costs(ReplayEstimator(path), candidate("a", CONV))
    assert cost.is_unknown


WITHOUT_INSTRUCTION_SETS = f"{processor.name().rpartition(' (')[0] or processor.name()}, 96 cores"


@pytest.mark.parametrize("machine", ["a shed", WITHOUT_INSTRUCTION_SETS])
def test_imported_costs_of_another_machine_are_replayed_when_named_and_never_mixed_in(path: Path, machine: str) -> None:
    """Measuring here never takes them; a replay does, says whose they are, and leaves out those of this machine."""
    own, theirs = replace(key("a", CONV), machine=machine_id()), key("a", CONV, machine)
    with CostDatabase(path) as database:
        database.put(own, Record(samples=(1.0,)))
        brought = [(theirs, Record(samples=(2.0,), created=OLD)), (key("a", ADD, machine), Record(samples=(3.0,), created=OLD))]
        merge(database, brought, [])
        assert list(database.get([own, replace(own, computation=brought[1][0].computation)])) == [own]
    events: list[Event] = []
    found = costs(ReplayEstimator(path, emit=events.append), candidate("a", CONV), candidate("a", ADD))
    assert [cost.seconds for cost in found] == [2.0, 3.0]
    assert [cost.source for cost in found] == ["recorded", "recorded"]
    assert events == [
        Note(f"costs are replayed as recorded on {machine} with 1 threads; 1 other machines or numbers of threads in it are left out")
    ]


def test_rows_that_cannot_be_true_are_not_replayed(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(key("a", CONV), Record(samples=(1.0,)))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE measurements SET samples = '[NaN]'")
    connection.commit()
    connection.close()
    events: list[Event] = []
    (cost,) = costs(ReplayEstimator(path, emit=events.append), candidate("a", CONV))
    assert cost.is_unknown
    (note,) = events
    assert isinstance(note, Note)
    assert "holds what cannot be true and is not used, such as: samples[0] is nan" in note.text


def run_document() -> dict[str, Any]:
    measured = replace(Cost(0.25, "measured", 0.01, 9), error=1e-7)
    rows = [
        {"id": candidate("a", CONV).id, "target": "a", "cost": measured.to_json()},
        {"id": candidate("a", ADD).id, "target": "a", "cost": Cost.invalid("build", "it crashed").to_json()},
        {"id": candidate("b", ADD).id, "target": "b", "cost": Cost(1.0, "mock").to_json()},
    ]
    problem = {"transitions": {"a->b": {"fixed_s": 1.0, "per_byte_s": 0.5}, "host->a": {"fixed_s": 3.0, "per_byte_s": 0.0}}}
    return {"schema": 1, "machine": "two", "candidates": rows, "problem": problem}


@pytest.mark.parametrize("packed", [True, False], ids=["run.json.gz", "run.json"])
def test_record_of_a_run_gives_its_costs(path: Path, packed: bool) -> None:
    text = json.dumps(run_document()).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    estimator = ReplayEstimator(path)
    conv, failed, mock, absent = costs(estimator, candidate("a", CONV), candidate("a", ADD), candidate("b", ADD), candidate("b", CONV))
    assert conv == Cost(0.25, "recorded", 0.01, 9, error=1e-7)
    assert failed == Cost.invalid("build", "it crashed")
    assert mock.source == "mock", "what was never measured is not called a record of a measurement"
    assert absent == Cost.unknown(f"the run {str(path)!r} has no cost of it")
    assert estimator.machine == "two"
    assert estimator.transition("a", "b", 10, "float32") == 6.0
    assert estimator.transition("host", "a", 10, "float32") == 3.0


def broken(**changes: Any) -> bytes:
    return json.dumps({**run_document(), **changes}).encode()


MISTAKES = {
    "text": (b"costs", "it is neither a cost database nor the record of a run"),
    "empty": (b"", "it is neither a cost database nor the record of a run"),
    "cut off": (gzip.compress(broken())[:-20], "it is neither a cost database nor the record of a run"),
    "other JSON": (b"[]", "it is JSON, but not the record of a run"),
    "other schema": (broken(schema=2), "its schema is 2, this version reads 1"),
    "no schema": (b'{"candidates": []}', "it is JSON, but not the record of a run"),
    "no candidates": (broken(candidates=None), "it is JSON, but not the record of a run"),
    "no cost": (broken(candidates=[{"target": "a"}]), "it is damaged (KeyError: 'cost')"),
    "odd cost": (broken(candidates=[{"id": "x", "target": "a", "cost": {"price": 1}}]), "it is damaged (TypeError: "),
    "row": (broken(candidates=["x"]), "it is damaged (TypeError: "),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_file_that_is_no_record_is_a_mistake(path: Path, mistake: str) -> None:
    content, said = MISTAKES[mistake]
    path.write_bytes(content)
    with pytest.raises(CollageError, match=re.escape(f"cannot replay costs from {str(path)!r}: {said}")) as caught:
        ReplayEstimator(path)
    assert caught.value.hint == "give a cost database (costs.sqlite3) or the run.json.gz of a run"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seconds": float("nan")}, "seconds is nan, it must be a finite number, not negative, at most 1e+15"),
        ({"seconds": -1.0}, "seconds is -1.0, it must be a finite number"),
        ({"seconds": 1e300}, "seconds is 1e+300, it must be a finite number"),
        ({"seconds": 10**400}, "seconds is 1000"),
        ({"seconds": "fast"}, "seconds is 'fast', it must be a finite number"),
        ({"seconds": True}, "seconds is True, it must be a finite number"),
        ({"seconds": None}, "seconds is None, it must be null where the source is invalid or unknown, and only there"),
        ({"source": "unknown"}, "seconds is 0.25, it must be null where the source is invalid or unknown, and only there"),
        ({"interval_s": "wide"}, "interval_s is 'wide', it must be a finite number"),
        ({"spread_s": -1}, "spread_s is -1, it must be a finite number"),
        ({"error": float("inf")}, "error is inf, it must be a finite number"),
        (
            {"source": "guess"},
            "source is 'guess', it must be one of measured, recorded, mock, estimate, profile, bound, typed, host, invalid, unknown",
        ),
        ({"samples": "many"}, "samples is 'many', it must be of the kind int"),
        ({"reason": None}, "reason is None, it must be of the kind str"),
    ],
)
def test_cost_of_a_run_that_cannot_be_true_is_a_mistake(path: Path, changes: dict[str, Any], said: str) -> None:
    rows = run_document()["candidates"]
    rows[0]["cost"] |= changes
    path.write_bytes(broken(candidates=rows))
    with pytest.raises(CollageError, match=re.escape(f"the run {str(path)!r}: candidates[0].cost.{said}")):
        ReplayEstimator(path)


def test_file_that_is_not_there(path: Path) -> None:
    with pytest.raises(CollageError, match="No such file or directory"):
        make_estimator(
            f"replay:{path}",
            model=None,  # type: ignore[arg-type]
            inputs={},
            threads=1,
            accuracy=1e-3,
            toolchains={},
            emit=lambda event: None,
        )


def test_negative_transition_of_a_run_is_a_mistake(path: Path) -> None:
    path.write_bytes(broken(problem={"transitions": {"a->b": {"fixed_s": -1}}}))
    with pytest.raises(CollageError, match="fixed_s is -1, it must be a finite number, not negative"):
        ReplayEstimator(path)
