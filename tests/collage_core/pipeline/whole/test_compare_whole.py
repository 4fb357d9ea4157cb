"""The turns in which finalists are timed, with given seconds; the building of finalists, with folders that nothing was built in."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collage_core.base.isolation.worker_errors import WorkerTimeout
from collage_core.cost.measuring.paired_rounds import FEWEST_ROUNDS
from collage_core.cost.measuring.turns import SHORTEST_ROUNDS
from collage_core.documents.verify import Verify
from collage_core.errors import Cancelled, CollageError
from collage_core.events import ComparingPlans, Event, Note
from collage_core.pipeline.loop.budget import Deadline
from collage_core.pipeline.whole import compare_whole as module
from collage_core.pipeline.whole.assemble_and_verify import Built
from collage_core.pipeline.whole.compare_whole import (
    NO_MEMORY,
    Comparison,
    by_promise,
    compare_whole,
    needed_s,
)
from collage_core.pipeline.whole.finalists import NO_TIME, RIVAL, SEARCHED, Finalist, alternatives
from collage_core.rewrite.runtime.artifact import Profile
from tests.collage_core.pipeline.whole.test_finalists import finalist, three


class Timed:
    """Gives the seconds of each finalist in turn, drawn around its mean; a turn takes so long on the clock."""

    def __init__(self, spread: float = 0.0, turn_s: float = 0.0, **means: float):
        self.counts: Counter[str] = Counter()
        self.renewed: list[list[str]] = []
        self.now_s = 0.0
        self._draw, self._spread, self._turn_s, self._means = random.Random(1), spread, turn_s, means

    def __call__(self, one: Finalist) -> float:
        name = next(iter(one.names))
        self.counts[name] += 1
        self.now_s += self._turn_s
        if self._means[name] < 0:
            raise CollageError("it crashed")
        return self._means[name] * self._draw.lognormvariate(0, self._spread)

    def renew(self, some: Sequence[Finalist]) -> None:
        self.renewed.append([next(iter(one.names)) for one in some])


def compared(patch: pytest.MonkeyPatch, folder: Path, timed: Timed, listed: list[Finalist]) -> Comparison:
    """Compare finalists whose turns take the seconds of `timed`."""
    Workshop(patch, timed, {})
    return compare_whole(built_by(folder, listed[0]), listed, lambda event: None)


def test_those_that_are_near_each_other_go_on_in_new_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for index, (means, renewed) in enumerate(
        [
            ({"search": 10.0, "a": 10.05, "b": 11.6}, [["search", "a"], ["search", "a"]]),
            ({"search": 10.0, "a": 10.5, "b": 11.6}, [["search", "a"], []]),  # `a` lost in both processes
            ({"search": 10.0, "a": 11.6, "b": 20.5}, [[], []]),  # nothing is near the fastest
        ]
    ):
        timed = Timed(**means)
        with monkeypatch.context() as patch:
            compared(patch, tmp_path / f"{index}", timed, three())
        assert timed.renewed == renewed


def test_one_lucky_process_does_not_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first process of `a` is a tenth faster than every later one: the baseline that is faster from then on becomes the plan."""
    timed, listed = Timed(search=10.0, a=9.0, b=9.4), three()
    timed.renew = lambda some: timed._means.update(a=10.0)  # type: ignore[method-assign]
    assert compared(monkeypatch, tmp_path, timed, listed).winner == 2


def test_one_that_fails_in_its_turn_is_out_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = three()
    assert compared(monkeypatch, tmp_path, Timed(search=-1.0, a=9.0, b=8.0), listed).winner == 2
    assert listed[0].reason == "it crashed"


@pytest.mark.parametrize("seed", range(20))
def test_never_is_the_plan_slower_than_a_baseline_beyond_a_hundredth_and_what_is_stated(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    means = {name: draw.choice([9.5, 9.9, 10.0, 10.05, 11.0, 14.0]) for name in ("search", "a", "b")}
    listed = three()
    outcome = compared(monkeypatch, tmp_path, Timed(spread=draw.choice([0.001, 0.02, 0.1]), **means), listed)
    for other in outcome.times:
        if other.interval_s is not None and other.measured_s is not None:
            assert (outcome.times[outcome.winner].measured_s or 0) <= max(1.01 * other.measured_s, other.measured_s + other.interval_s)


class Workshop:
    """In the place of what builds and times: everything is built at once, but what `errors` has errs so, and what is in `broken` fails."""

    def __init__(self, patch: pytest.MonkeyPatch, timed: Timed, errors: dict[str, float], broken: tuple[str, ...] = ()):
        self.built: list[str] = []
        self.profiled: list[str] = []
        self._errors, self._broken = errors, broken
        patch.setattr(module, "AT_ONCE", 1)
        patch.setattr(module, "assemble_plan", self._assemble)
        patch.setattr(module, "errors_of", lambda built, name, folder, timeout_s: {"drawn": {"out": self._errors.get(self.built[-1], 0.0)}})
        patch.setattr(module, "_time", lambda built, one: [timed(one)])
        patch.setattr(module, "_renew", lambda built, some: timed.renew(some))
        patch.setattr(module, "profile_plan", self._profile)

    def _profile(self, pool: Any, name: str, folder: Path, inputs: Any) -> Profile:
        self.profiled.append(name)
        return Profile(9.0, {}, 9.0)

    def _assemble(self, built: Built, plan: Any, folder: Path, timeout_s: float, worker: str) -> None:
        target = plan.partitions[0].target
        self.built.append(target)
        if target in self._broken:
            raise CollageError(f"assembling the plan failed: {target}")


def built_by(folder: Path, first: Finalist) -> Built:
    unused: Any = None
    verify = Verify(max_rel_error=0.0, sets={"drawn": {"out": 0.0}}, measured_s=10.0)
    plan = first.plan.model_copy(update={"options": {"threads": 1}})
    return Built(unused, plan, {}, folder / "plan", folder, unused, verify)


def test_the_winner_takes_the_place_of_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [*three(), finalist("wrong"), finalist("broken"), finalist("out", reason="it was refused")]
    timed = Timed(search=10.0, a=9.0, b=20.0, wrong=1.0, broken=1.0, out=1.0)
    workshop = Workshop(monkeypatch, timed, {"wrong": 0.5, "a": 1e-5}, ("broken",))
    built, events = built_by(tmp_path, listed[0]), list[Event]()
    outcome = compare_whole(built, listed, events.append)
    assert outcome.winner == 1
    assert workshop.built == ["a", "b", "wrong", "broken"]
    told = [event for event in events if isinstance(event, ComparingPlans)]
    builds = [(event.name, event.done, event.total) for event in told if event.doing == "build"]
    assert builds[0] == ("a", 0, 4)
    assert set(builds) <= {(name, done, 4) for done, name in enumerate(workshop.built)}
    assert [(event.done, event.total) for event in told if event.doing == "time"] == [
        (number, FEWEST_ROUNDS) for number in range(FEWEST_ROUNDS)
    ]
    assert all(event.left_s > 0 for event in told)
    assert (built.plan, built.folder) == (listed[1].plan, tmp_path / "finalist-0")
    assert (built.verify.measured_s, built.verify.max_rel_error, built.verify.rounds) == (9.0, 1e-5, 6)
    assert built.verify.additive_error_s == pytest.approx(9.0 - listed[1].plan.total_s)
    assert workshop.profiled == ["finalist-0"], "the winner took nine times as long as its parts"
    assert outcome.profile == Profile(9.0, {}, 9.0)
    assert any(isinstance(event, Note) and "longer than its parts" in event.text for event in events)
    assert [one.reason for one in listed] == [
        "", "", "", "it errs by 0.5, 0.001 is allowed", "assembling the plan failed: broken", "it was refused",
    ]  # fmt: skip
    assert [time.measured_s is None for time in outcome.times] == [False, False, False, True, True, True]


def test_those_that_were_built_before_are_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = three()
    (tmp_path / "finalist-0").mkdir()
    listed[1].folder, listed[1].verify = tmp_path / "finalist-0", Verify(sets={"drawn": {"out": 0.0}})
    workshop = Workshop(monkeypatch, Timed(search=10.0, a=10.0, b=1.0), {})
    built = built_by(tmp_path, listed[0])
    assert compare_whole(built, listed, lambda event: None).winner == 2
    assert (workshop.built, built.folder) == (["b"], tmp_path / "finalist-1")


def test_two_are_built_at_once_each_in_a_worker_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both, workers = threading.Barrier(2, timeout=30), set[str]()

    def assemble(built: Built, plan: Any, folder: Path, timeout_s: float, worker: str) -> None:
        workers.add(worker)
        both.wait()

    listed = three()
    Workshop(monkeypatch, Timed(search=10.0, a=9.0, b=12.0), {})
    monkeypatch.setattr(module, "AT_ONCE", 2)
    monkeypatch.setattr(module, "usable_cores", lambda: 2)
    monkeypatch.setattr(module, "assemble_plan", assemble)
    monkeypatch.setattr(module, "errors_of", lambda built, name, folder, timeout_s: {"drawn": {"out": 0.0}})
    assert compare_whole(built_by(tmp_path, listed[0]), listed, lambda event: None).winner == 1
    assert workers == {"assemble", "assemble-1"}
    assert {one.folder for one in listed[1:]} == {tmp_path / "finalist-0", tmp_path / "finalist-1"}


def test_where_the_run_is_stopped_no_other_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    def assemble(built: Built, plan: Any, *arguments: Any) -> None:
        begun.append(plan.partitions[0].target)
        raise Cancelled

    Workshop(monkeypatch, Timed(search=10.0), {})
    monkeypatch.setattr(module, "assemble_plan", assemble)
    listed = three()
    with pytest.raises(Cancelled):
        compare_whole(built_by(tmp_path, listed[0]), listed, lambda event: None)
    assert begun[0] == "a"
    assert all(one.folder is None for one in listed[1:])


def rival(name: str, total_s: float) -> Finalist:
    return finalist(name, RIVAL, total_s=total_s)


def test_the_best_target_and_what_may_be_as_fast_as_the_plan_come_first_and_of_the_others_rivals() -> None:
    greedy, near, far = finalist("greedy", total_s=11.0), finalist("near", total_s=12.0), finalist("far", total_s=30.0)
    unsure, unknown = finalist("unsure", total_s=14.0), finalist("unknown")
    unsure.plan, unknown.guessed_s = unsure.plan.model_copy(update={"total_interval_s": 3.0}), None

    def names(*listed: Finalist) -> list[str]:
        return [next(iter(one.names)) for one in by_promise(listed, 10.0)]

    found = names(rival("rival 2", 10.4), far, unsure, unknown, rival("rival 1", 10.2), near, greedy)
    assert found == ["greedy", "near", "unsure", "rival 1", "rival 2", "far", "unknown"]
    assert names(rival("rival 1", 10.2), far, greedy) == ["greedy", "far", "rival 1"]


def test_a_partitioning_from_elsewhere_is_compared_first_however_far_behind_it_is() -> None:
    listed = [finalist("greedy", total_s=10.1), finalist("tvm@fusion:FuseOps", total_s=40.0), rival("rival 1", 10.2)]
    assert [next(iter(one.names)) for one in by_promise(listed, 10.0)] == ["tvm@fusion:FuseOps", "greedy", "rival 1"]


class Slow:
    """A clock that the building of each finalist turns on, and a deadline on it."""

    def __init__(self, patch: pytest.MonkeyPatch, limit_s: float, build_s: float):
        self.now_s = 0.0
        self.deadline = Deadline(limit_s, lambda: self.now_s)
        plain = module.assemble_plan

        def assemble(built: Built, *given: Any) -> None:
            self.now_s += build_s
            plain(built, *given)

        patch.setattr(module, "assemble_plan", assemble)
        patch.setattr(module.time, "monotonic", lambda: self.now_s)


def several() -> list[Finalist]:
    return [
        finalist("search", SEARCHED, total_s=0.01), rival("rival 1", 0.0101), rival("rival 2", 0.0102),
        finalist("a", total_s=0.015), finalist("b", total_s=0.011), finalist("c", total_s=0.0111),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("limit_s", "wanted"),
    [
        (100.0, ["b", "c", "rival 1", "rival 2", "a"]),
        (30.0, ["b", "c", "rival 1", "rival 2"]),
        (12.0, ["b"]),
        (5.0, []),
        (0.0, []),
    ],
)
def test_what_would_be_ready_too_late_is_not_built_the_least_promising_first(
    limit_s: float, wanted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Building one takes 5 s, and timing some of them a few."""
    listed = several()
    times = {"search": 0.01, "a": 0.015, "b": 0.011, "c": 0.0111, "rival 1": 0.0101, "rival 2": 0.0102}
    workshop = Workshop(monkeypatch, Timed(**times), {})
    slow, built = Slow(monkeypatch, limit_s, 5.0), built_by(tmp_path, listed[0])
    built.verify, built.took_s = replace(built.verify, measured_s=0.01), 5.0
    outcome = compare_whole(built, listed, lambda event: None, deadline=slow.deadline)
    assert workshop.built == wanted
    assert outcome.winner == 0
    for one, time in zip(listed[1:], outcome.times[1:], strict=True):
        is_built = next(iter(one.names)) in wanted
        assert (one.reason, time.measured_s is not None) == ("" if is_built else NO_TIME, is_built)
    rows = {row.name: row.reason for row in alternatives(listed, outcome.times, 0)}
    assert [name for name, reason in rows.items() if reason == NO_TIME] == [name for name in rows if name not in wanted]


def test_one_other_plan_is_timed_where_the_time_is_enough_for_the_fewest_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any there is no verdict; building one takes 5 s, and each round of the two 2 s."""
    listed = [finalist("search", SEARCHED, total_s=1.0), finalist("a", total_s=1.0), finalist("b", total_s=1.1)]
    workshop = Workshop(monkeypatch, Timed(search=1.0, a=1.0, b=1.1), {})
    slow, built = Slow(monkeypatch, 5.0 + 2 * SHORTEST_ROUNDS, 5.0), built_by(tmp_path, listed[0])
    built.verify, built.took_s = replace(built.verify, measured_s=1.0), 5.0
    compare_whole(built, listed, lambda event: None, deadline=slow.deadline)
    assert (workshop.built, listed[2].reason) == (["a"], NO_TIME)


def test_where_the_time_is_over_nobody_looks_where_the_time_of_the_plan_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [finalist("search", SEARCHED, total_s=1.0)]
    for limit_s, profiled in ((0.0, []), (100.0, ["plan"])):
        workshop = Workshop(monkeypatch, Timed(search=10.0), {})
        compare_whole(built_by(tmp_path, listed[0]), listed, lambda event: None, deadline=Deadline(limit_s, lambda: 0.0))
        assert workshop.profiled == profiled


@pytest.mark.parametrize(("available", "wanted"), [(10.0, ["b", "c", "rival 1", "rival 2", "a"]), (3.0, ["b", "c"]), (0.5, [])])
def test_of_a_large_model_as_many_are_built_as_memory_holds(
    available: float, wanted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that holds one takes 1.3 times the weights, of nine tenths of what is `available`, in multiples of these."""
    listed = several()
    workshop = Workshop(monkeypatch, Timed(**dict.fromkeys(("search", "a", "b", "c", "rival 1", "rival 2"), 0.01)), {})
    monkeypatch.setattr(module, "available_bytes", lambda: int(available * 1e9))
    built = built_by(tmp_path, listed[0])
    built.weight_bytes, built.verify = 10**9, replace(built.verify, measured_s=0.01)
    outcome = compare_whole(built, listed, lambda event: None)
    assert workshop.built == wanted
    assert outcome.winner == 0
    late = {next(iter(one.names)): one.reason for one in listed if one.reason}
    assert late == dict.fromkeys(sorted({"a", "b", "c", "rival 1", "rival 2"} - set(wanted)), NO_MEMORY)


def test_a_build_that_is_ended_since_the_time_is_over_says_so_and_one_that_fails_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float] = []

    def assemble(built: Built, plan: Any, folder: Path, timeout_s: float, worker: str) -> None:
        limits.append(timeout_s)
        slow.now_s += timeout_s
        raise CollageError("assembling the plan failed") from WorkerTimeout(timeout_s)

    Workshop(monkeypatch, Timed(search=0.01), {})
    slow, listed = Slow(monkeypatch, 30.0, 0.0), three()[:2]
    monkeypatch.setattr(module, "assemble_plan", assemble)
    built = built_by(tmp_path, listed[0])
    built.verify = replace(built.verify, measured_s=0.01)
    compare_whole(built, listed, lambda event: None, deadline=slow.deadline)
    assert (limits, listed[1].reason, listed[1].is_late) == ([30.0], NO_TIME, True)
    listed = three()[:2]
    compare_whole(built_by(tmp_path, listed[0]), listed, lambda event: None)
    assert (listed[1].reason, listed[1].is_late) == ("assembling the plan failed", False)


def test_what_a_comparison_takes_follows_from_its_builds_and_its_turns(tmp_path: Path) -> None:
    built = built_by(tmp_path, three()[0])
    built.took_s, built.verify = 7.0, replace(built.verify, measured_s=1.0)
    turn_s = 1.0
    assert needed_s(built, [finalist("a", total_s=1.0)]) == 7.0 + 2 * FEWEST_ROUNDS * turn_s
    assert needed_s(built, [finalist("a", total_s=2.0)]) == 7.0 + FEWEST_ROUNDS * turn_s + 3 * 2 * turn_s, (
        "one far behind leaves rounds out"
    )
    there = finalist("a", total_s=1.0)
    there.folder = tmp_path
    assert needed_s(built, [there]) == 2 * FEWEST_ROUNDS * turn_s


def test_where_none_runs_the_reason_is_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Workshop(monkeypatch, Timed(search=-1.0), {})
    with pytest.raises(CollageError, match="it crashed"):
        compare_whole(built_by(tmp_path, three()[0]), three()[:1], lambda event: None)
