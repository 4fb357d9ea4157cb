"""`--dry-run`: counts by hand, seconds from what earlier trials took, and that nothing is built or run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.base.isolation import process
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.records import CostKey, MeasuredTransition, Record, TransitionKey, machine_id
from collage_core.cost.database.trial_history import trial_history
from collage_core.cost.estimator import LazyEstimator
from collage_core.cost.estimators.factory import make_estimator
from collage_core.cost.measuring.paired_rounds import FEWEST_ROUNDS
from collage_core.cost.measuring.turns import MOST_S, turn_s
from collage_core.documents.json_form import to_json
from collage_core.errors import CollageError
from collage_core.events import CandidatesFound, Event, Note, PhaseStarted
from collage_core.graph.index_set import IndexSet
from collage_core.model.reference.bearing import fingerprint
from collage_core.options import Options
from collage_core.pipeline.dry_run import AFTER, BODIES, NOT_COUNTED, TRANSITION_S, TRIAL_S, TUNED_AGAIN, dry_run
from collage_core.pipeline.loop.budget import MOST_COMPARING_S, budget_s
from collage_core.pipeline.searched_run import SearchedRun
from collage_core.pipeline.whole.choose_finalists import MOST_RIVALS
from collage_core.rules.candidate import CandidatePartition
from collage_core.toolchains import registry
from tests.helpers.control_models import branches
from tests.helpers.models import loaded, model_of, write

CHAIN = "g (float[1,4] x) => (float[1,4] y) { [relu1] a = Relu(x) [add1] b = Add(a, c1) [relu2] c = Relu(b) [add2] y = Add(c, c2) }"
CONSTANTS = {name: np.ones((1, 4), np.float32) for name in ("c1", "c2")}
RELU, RELU_ADD = (0,), (0, 1)
CANDIDATES, DISTINCT = 10, 7
"""Stretches of the chain R A R A: 4, 3, 2 and 1 of one to four nodes; of them R A, R and A are there twice."""
HOOK = 'name = "hook"\n[[pattern]]\nmatch = "Add(Relu(*), *)"\n[cost]\nlaunch_s = 1e-6\n'


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The chain; `numpy` and `slow` are targets, the cost database is empty, and no process can be started."""

    def refuse(*arguments: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(process, "_start", refuse)
    monkeypatch.setenv(registry.EXTRA, "collage_test_toolchains:Numpy,collage_test_toolchains:Slow")
    monkeypatch.setenv("COLLAGE_COSTS", str(tmp_path / "costs.sqlite3"))
    return write(tmp_path, model_of(CHAIN, CONSTANTS))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[CostDatabase]:
    with CostDatabase(tmp_path / "costs.sqlite3") as database:
        yield database


def told(path: Path, targets: str = "numpy,slow", **options: Any) -> dict[str, Any]:
    document: dict[str, Any] = to_json(dry_run(path, Options(tuple(targets.split(",")), threads=1, fold=False, **options)))
    assert (document["schema"], document["dry_run"], document["model"]["nodes"]) == (1, True, 4)
    return document


def figures(document: dict[str, Any]) -> tuple[float, ...]:
    return tuple(document[f"{what}_{when}"] for what in ("builds", "seconds") for when in ("at_most", "expected"))


def after(document: dict[str, Any]) -> tuple[float, float]:
    return document["after_expected_s"], document["after_at_most_s"]


def row(name: str, known: int, to_measure: int) -> dict[str, Any]:
    return {"name": name, "candidates": CANDIDATES, "unique": DISTINCT, "deferred": 0, "known": known, "to_measure": to_measure}


def key_of(tmp_path: Path, target: str, *nodes: int) -> CostKey:
    """Under which a run would keep that cost."""
    model = loaded(tmp_path, CHAIN, CONSTANTS, fold=False)
    estimator = make_estimator("measure", model=model, inputs={}, threads=1, accuracy=1e-3, toolchains={}, emit=lambda event: None)
    assert isinstance(estimator, LazyEstimator)
    key = estimator.computation_key(CandidatePartition(model.graph, target, IndexSet(nodes), "test"))
    estimator.close()
    assert isinstance(key, CostKey)
    return key


def checked(tmp_path: Path, **fields: Any) -> Record:
    """Return a record that was checked on what a run here would check on."""
    model = loaded(tmp_path, CHAIN, CONSTANTS, fold=False)
    return Record(checked_on=fingerprint(model.hash, model.seeded_inputs()), **fields)


def test_where_nothing_is_known(chain: Path) -> None:
    """Two targets of 7 distinct computations: a quarter of 14 is 3.5, so 4; and four kernels, two each, for two transitions."""
    document = told(chain)
    assert document["targets"] == [row("numpy", 0, 7), row("slow", 0, 7)]
    assert document["transitions"] == {"pairs": 2, "to_measure": 2}
    budget = 0.6 * budget_s(Options(("numpy",)), 4)
    assert 4 * TRIAL_S + 2 * TRANSITION_S < budget < 14 * TRIAL_S + 2 * TRANSITION_S
    assert figures(document) == (14 + 4, 4 + 4, budget, 4 * TRIAL_S + 2 * TRANSITION_S)
    assert document["basis"] == (
        f"numpy: 1 s a trial, assumed; slow: 1 s a trial, assumed; measuring a transition: 1 s, assumed; {AFTER}; "
        "about 25% of the different computations are measured, often fewer: a heuristic; "
        f"the budget is 17 s to the answer, of a slow model up to 45 s more; {NOT_COUNTED}"
    )


def test_bodies_are_said_not_to_be_counted(tmp_path: Path, chain: Path) -> None:
    document = dry_run(write(tmp_path, branches(), "if.onnx"), Options(("numpy",), threads=1, fold=False))
    assert BODIES.format(1) in document.basis
    assert "bodies" not in dry_run(chain, Options(("numpy",), threads=1)).basis


def test_what_is_known_needs_no_build_and_says_how_long_others_take(tmp_path: Path, chain: Path, database: CostDatabase) -> None:
    """numpy's Relu took 3 s and something else of it 5 s: 4 s a trial. 13 are left; a quarter of 14 less the known one is 3."""
    database.put(key_of(tmp_path, "numpy", *RELU), checked(tmp_path, samples=(1e-6,), seconds_spent=3.0))
    database.put(CostKey("other", "numpy", "0", 8, machine_id()), Record(stage="build", reason="no", seconds_spent=5.0))
    database.put(CostKey("elsewhere", "numpy", "1", 1, "another machine"), Record(samples=(1.0,), seconds_spent=900.0))
    database.put_transition(TransitionKey("numpy", "slow", "1", "1", 1, machine_id()), MeasuredTransition())
    document = told(chain)
    assert document["targets"] == [row("numpy", 1, 6), row("slow", 0, 7)]
    assert document["transitions"] == {"pairs": 2, "to_measure": 1}
    most_s = 6 * 4.0 + 7 * TRIAL_S
    budget = 0.6 * budget_s(Options(("numpy",)), 4)
    assert figures(document) == pytest.approx((13 + 4, 3 + 4, min(budget, most_s + TRANSITION_S), most_s * 3 / 13 + TRANSITION_S))
    assert document["basis"].startswith("numpy: 4 s a trial, the mean of 2 on this machine; slow: 1 s a trial, assumed; ")


def test_what_the_named_database_knows_counts(tmp_path: Path, chain: Path) -> None:
    with CostDatabase(tmp_path / "named.sqlite3") as database:
        database.put(key_of(tmp_path, "numpy", *RELU), checked(tmp_path, samples=(1e-6,), seconds_spent=0.25))
    document = told(chain, "numpy", costs_db=str(tmp_path / "named.sqlite3"))
    assert (document["targets"][0]["known"], document["targets"][0]["to_measure"]) == (1, DISTINCT - 1)
    assert document["basis"].startswith("numpy: 250 ms a trial, the mean of 1 on this machine")


def test_no_whole_plan_is_begun_after_the_end_of_a_run(tmp_path: Path, chain: Path, database: CostDatabase) -> None:
    """Trials of 500 s: the plan of both targets is built in any case, the others only while the run lasts, and for 300 s at most."""
    for name in ("numpy", "slow"):
        database.put(CostKey("other", name, "1", 1, machine_id()), Record(samples=(1.0,), seconds_spent=500.0))
    database.close()
    costs = str(tmp_path / "costs.sqlite3")
    assert after(told(chain, costs_db=costs, budget_s=60.0))[1] == 1000.0 + 60.0
    assert after(told(chain, costs_db=costs, budget_s=1000.0))[1] == 1000.0 + MOST_COMPARING_S


def test_building_and_timing_whole_plans_comes_after_it(
    tmp_path: Path, chain: Path, database: CostDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan takes a trial of both targets, 5 s in all, and so do both alone, two at once; three plans are timed in six rounds each."""
    monkeypatch.setattr("collage_core.pipeline.dry_run.usable_cores", lambda: 2)
    database.put(key_of(tmp_path, "numpy", *RELU), checked(tmp_path, samples=(1e-6,), seconds_spent=4.0))
    both_s, timing_s = 4.0 + TRIAL_S, 3 * FEWEST_ROUNDS * turn_s(0.0)
    rivals_s = (MOST_RIVALS + 1) * both_s / 2
    assert after(told(chain, budget_s=600.0)) == (both_s + both_s / 2 + timing_s, both_s + both_s / 2 + rivals_s + MOST_S)
    assert after(told(chain, "numpy"))[0] == 4.0 + FEWEST_ROUNDS * turn_s(0.0), "the plan of one target is that target alone"
    monkeypatch.setattr("collage_core.pipeline.dry_run.usable_cores", lambda: 1)
    assert after(told(chain))[0] == 2 * both_s + timing_s


def test_what_was_too_wrong_or_surely_too_slow_is_known(tmp_path: Path, chain: Path, database: CostDatabase) -> None:
    database.put(key_of(tmp_path, "numpy", *RELU), checked(tmp_path, samples=(1e-6,), stopped_early=True))
    database.put(key_of(tmp_path, "numpy", *RELU_ADD), checked(tmp_path, samples=(1e-6,), error=0.5))
    assert told(chain, "numpy")["targets"] == [row("numpy", 2, 5)], "unless a plan rests on it, neither is tried again"


def test_all_of_it_where_all_is_asked_for(chain: Path) -> None:
    document = told(chain, "numpy", measure_all=True)
    assert document["transitions"] == {"pairs": 0, "to_measure": 0}
    assert figures(document) == (7, 7, 7 * TRIAL_S, 7 * TRIAL_S)
    assert "get measured" not in document["basis"]


def test_the_budget_ends_it(chain: Path) -> None:
    document = told(chain, "numpy", budget_s=4.0)
    assert figures(document) == (7, 2, 2.0, 2.0)
    assert "the budget is 4 s to the answer;" in document["basis"]


def test_tuning_comes_on_top(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.EXTRA, "collage_test_toolchains:Numpy,collage_test_toolchains:Slow,tuning_toolchains:Tunes")
    document = told(chain, "numpy,tunes", tune_s=60.0)
    assert document["tuning_s"] == 60.0
    assert TUNED_AGAIN in document["basis"]
    assert document["seconds_at_most"] == told(chain, "numpy,tunes")["seconds_at_most"]
    assert told(chain)["tuning_s"] == 0.0
    with pytest.raises(CollageError, match="--tune is 60, and no target tunes: numpy"):
        told(chain, "numpy", tune_s=60.0)


def test_where_all_is_known_nothing_is_left(tmp_path: Path, chain: Path, database: CostDatabase) -> None:
    for nodes in ((0,), (1,), (0, 1), (1, 2), (0, 1, 2), (1, 2, 3), (0, 1, 2, 3)):
        database.put(key_of(tmp_path, "numpy", *nodes), checked(tmp_path, samples=(1e-6,)))
    document = told(chain, "numpy")
    assert document["targets"] == [row("numpy", 7, 0)]
    assert figures(document) == (0, 0, 0.0, 0.0)


def test_a_described_one_is_known_from_the_start(tmp_path: Path, chain: Path) -> None:
    """Relu+Add twice and both together; no transition is measured, and they are in no quarter: of numpy's 7 it is 2."""
    path = tmp_path / "hook.toml"
    path.write_text(HOOK)
    document = told(chain, "numpy,hook", toolchain_files=(path,))
    assert document["targets"] == [
        row("numpy", 0, 7),
        {"name": "hook", "candidates": 3, "unique": 2, "deferred": 0, "known": 2, "to_measure": 0},
    ]
    assert document["transitions"] == {"pairs": 0, "to_measure": 0}
    assert figures(document) == (7, 2, 7 * TRIAL_S, 2 * TRIAL_S)


def test_other_costs_build_nothing(tmp_path: Path, chain: Path) -> None:
    mock = tmp_path / "mock.json"
    mock.write_text('{"targets": {"numpy": {"op_s": 1}, "slow": {"op_s": 2}}}')
    for costs in (f"mock:{mock}", "roofline"):
        document = told(chain, costs=costs)
        assert document["targets"] == [row("numpy", 7, 0), row("slow", 7, 0)]
        assert (figures(document), after(document)) == ((0, 0, 0, 0), (0, 0))
        assert document["basis"] == f"with {costs} nothing is measured"


def test_of_a_database_that_is_replayed_it_says_what_is_there(tmp_path: Path, chain: Path) -> None:
    with CostDatabase(tmp_path / "recorded.sqlite3") as recorded:
        recorded.put(key_of(tmp_path, "numpy", *RELU), checked(tmp_path, samples=(1e-6,)))
        recorded.put(key_of(tmp_path, "numpy", *RELU_ADD), checked(tmp_path, samples=(1e-6,)))
    document = told(chain, costs=f"replay:{tmp_path / 'recorded.sqlite3'}")
    assert document["targets"] == [row("numpy", 2, 0), row("slow", 0, 0)]
    assert figures(document) == (0, 0, 0, 0)


class Load:
    """In place of `OtherLoad`: 1.75 cores are taken."""

    def cores(self) -> float:
        return 1.75


def test_a_busy_machine_is_told_where_costs_are_measured_on_it(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collage_core.pipeline.dry_run.OtherLoad", Load)
    monkeypatch.setattr("collage_core.pipeline.dry_run.usable_cores", lambda: 2)
    assert told(chain, "numpy")["busy"] == "other processes keep 1.8 of the 2 cores busy"
    assert told(chain, "numpy", fleet="rack-7:8786")["busy"] == "", "the workers' cores count"
    assert told(chain, "numpy", costs="roofline")["busy"] == ""
    monkeypatch.setattr(Load, "cores", lambda self: 0.25)
    assert told(chain, "numpy")["busy"] == ""


def test_a_run_notes_that_the_machine_is_busy_before_it_measures(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collage_core.pipeline.searched_run.OtherLoad", Load)
    monkeypatch.setattr("collage_core.pipeline.searched_run.usable_cores", lambda: 2)

    def notes(**options: Any) -> list[str]:
        events: list[Event] = []

        def emit(event: Event) -> None:
            events.append(event)
            if event == PhaseStarted("costs"):
                raise StopAsyncIteration  # nothing is measured yet

        run = SearchedRun(chain, Options(("numpy",), threads=1, fold=False, **options), emit)
        try:
            with pytest.raises(StopAsyncIteration):
                run.cost()
        finally:
            run.close()
        return [event.text for event in events if isinstance(event, Note) and "busy" in event.text]

    assert notes() == ["other processes keep 1.8 of the 2 cores busy: what is measured now may be too high, and unsteady"]
    assert notes(costs="roofline") == []
    monkeypatch.setattr(Load, "cores", lambda self: 0.25)
    assert notes() == []


def test_it_tells_as_a_run_does_and_makes_the_same_mistakes(chain: Path) -> None:
    events: list[Event] = []
    dry_run(chain, Options(("numpy",), fold=False), events.append)
    assert CandidatesFound("numpy", CANDIDATES, DISTINCT, 0) in [event for event in events if isinstance(event, CandidatesFound)]
    with pytest.raises(CollageError, match="unknown costs 'guess'"):
        dry_run(chain, Options(("numpy",), costs="guess"))


def test_a_database_that_cannot_be_asked_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_COSTS", str(tmp_path / "nowhere" / "costs.sqlite3"))
    (tmp_path / "nowhere").write_text("")
    known = trial_history({"numpy": "1"}, 1, machine_id())
    assert (known.trials, known.transitions) == ({}, frozenset())
    assert "nowhere" in known.trouble
