"""Decisions that a run left open: what is told of them, what would decide them, and that measuring does."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path

import pytest
from brief_runs import shorten_trials

from collage_core.cli.undecided_text import needs_text, show_decided, stability_lines
from collage_core.cost.cost import Cost
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.maintenance import Selection, records
from collage_core.cost.database.records import CostKey, Record
from collage_core.cost.measuring.repetitions import repetition_count
from collage_core.documents.cost import UnknownCosts
from collage_core.documents.json_form import to_json
from collage_core.documents.undecided import Decided, DecisionNeeds, RepeatedCost, RunUndecided, StablePart, UndecidedRival
from collage_core.errors import CollageError
from collage_core.events import Event, PhaseEnded, ignore
from collage_core.graph.computation import Computations
from collage_core.options import Options
from collage_core.pipeline.loop.rivals import Rival
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import CostedCandidate, RunRecord, search_candidates
from collage_core.rules.candidate import CandidatePartition
from collage_core.what_if.terms import Terms
from collage_core.what_if.undecided import Timed, _as_inside, _with_costs, decide, decided, needs, undecided
from collage_core.what_if.what_if import replanned
from tests.helpers.command import document_of, in_this_process
from tests.helpers.searched_runs import searched_run

SECONDS = {"relu": 1.0, "add": 1.0, "sigmoid": 1.0, "mul": 1.0}


def seconds(candidate: CandidatePartition) -> float | None:
    names = [candidate.graph.nodes[index].name for index in candidate.inside]
    return SECONDS[names[0]] if len(names) == 1 else 9.0


@pytest.fixture
def record(chain: Path, monkeypatch: pytest.MonkeyPatch) -> RunRecord:
    """A run over single nodes of two equal toolchains, whose costs are as if measured: that of ``add`` is nearly a tie."""
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "collage_test_toolchains:Numpy,collage_test_toolchains:Partitions")
    found = partition(chain, Options(("numpy", "partitions"), costs="function:seconds"), ignore, seconds)
    costed = []
    for item in found.candidates:
        names = [found.graph.nodes[index].name for index in item.inside]
        is_add, is_numpy = names == ["add"], item.target == "numpy"
        cost_s = (item.cost.seconds or 0.0) + (0.0 if is_numpy else 0.1 if is_add else 0.5)
        costed.append(CostedCandidate(item.held, Cost(cost_s, "measured", interval_s=0.3 if is_add else 1e-3, samples=5)))
    return replace(found, candidates=costed, problem=found.problem.with_candidates(search_candidates(costed)))


def test_the_rival_that_could_be_better_is_told_with_what_decides(record: RunRecord) -> None:
    (rival,) = undecided(record).rivals
    assert [[item.target for item in side] for side in (rival.plan, rival.instead)] == [["numpy"], ["partitions"]]
    assert rival.above_s == pytest.approx(0.1)
    assert rival.width_s == pytest.approx(math.hypot(0.3, 0.3))
    assert rival.could_gain_s == pytest.approx(math.hypot(0.3, 0.3) - 0.1)
    assert rival.needs.computations == 2
    assert rival.needs.is_assumed, "no database was asked"
    assert undecided(record).seconds == rival.needs.seconds


def test_new_costs_ask_for_a_search_under_the_terms_of_the_run(record: RunRecord) -> None:
    """Its plan holds these terms, and was decided on the costs before."""
    dear = record.plan.partitions[0]
    renewed = _with_costs(record, {dear.id: Cost(1e3, "measured", samples=5)})
    assert replanned(record, Terms()).kept is record
    found = replanned(renewed, Terms())
    assert found.kept is None
    assert dear.id not in [part.id for part in found.plan.partitions]


def test_without_intervals_nothing_is_called_undecided(record: RunRecord) -> None:
    sure = [CostedCandidate(item.held, replace(item.cost, interval_s=None)) for item in record.candidates]
    found = undecided(replace(record, candidates=sure))
    assert (found.rivals, found.is_measured) == ((), False)


def rival(above_s: float, *widths: float) -> Rival:
    return Rival((), (), above_s, dict(enumerate(widths)))


def timed(count: int, repetitions: int = 1, seconds: float = 2.0) -> dict[Hashable, Timed]:
    return {number: Timed(repetitions, seconds, is_known=True) for number in range(count)}


def test_so_many_times_as_many_repetitions_are_needed_as_the_square_of_the_ratio_says() -> None:
    """The difference of 0.19 s is off by 0.4 s, and 0.01 s of 1 s makes none: four times as many repetitions halve that."""
    found = needs(rival(0.19, 0.4), timed(1), total_s=1.0)
    assert (found.repetitions, found.seconds, found.is_enough, found.is_assumed) == (3, 6.0, True, False)
    both = needs(rival(0.19, 0.24, 0.32), timed(2, repetitions=2, seconds=1.0), total_s=1.0)
    assert (both.repetitions, both.seconds, both.computations) == (12, 12.0, 2)


def test_what_is_nearly_as_fast_is_not_decided_by_the_most_repetitions() -> None:
    found = needs(rival(0.0, 0.4), timed(1), total_s=1.0)
    assert not found.is_enough
    assert found.repetitions == 10, "eleven of each at most"
    assert needs(rival(-0.1, 0.4), timed(1), total_s=0.0).repetitions == 10


def test_how_often_and_how_long_a_computation_was_timed_is_looked_up(record: RunRecord, tmp_path: Path) -> None:
    record = replace(record, machine="a CPU, 2 cores")
    add = next(item for item in record.candidates if item.target == "numpy" and len(item.inside) == 1 and 1 in item.inside)
    digest = record.graph.derive(Computations).key(add.inside)
    version = next(target.version for target in record.plan.targets if target.name == "numpy")
    key = CostKey(digest, "numpy", version, record.plan.options["threads"], record.machine, "float32")
    with CostDatabase(tmp_path / "costs.sqlite3") as database:
        database.put(key, Record(samples=(1.0,) * 6, repetitions=(3, 3), seconds_spent=4.0, created="2026-01-01T00:00:00+00:00"))
        found = undecided(record, database).rivals[0].needs
    assumed = undecided(record).rivals[0].needs
    assert found.seconds > assumed.seconds
    assert found.is_assumed, "nothing is known of the other one"


def test_toss_ups_are_told_the_least_stable_first() -> None:
    part = StablePart("id", "tvm", (0, 1), ("Conv", "Relu"), 1e-3, 1e-4, 0.62, "cost", "measured")
    lines = stability_lines([part, replace(part, stability=0.3, target="openvino"), replace(part, stability=1.0)])
    assert lines == [
        "toss-ups: 2 of 3 partitions (share of searches, with costs varied within their intervals, in which they stay in the plan):",
        "   30%  Conv+Relu on openvino, 1 ms ± 100 µs",
        "   62%  Conv+Relu on tvm, 1 ms ± 100 µs",
    ]
    assert stability_lines([replace(part, stability=0.97)]) == [
        "every partition stays in the plan in at least 97% of searches with costs varied within their intervals"
    ]
    assert stability_lines([replace(part, stability=None)]) == []


def test_stability_says_which_part_of_it_is_not_known() -> None:
    part = StablePart("id", "tvm", (0, 1), ("Conv", "Relu"), 1e-3, 1e-4, 1.0, "cost", "measured")
    unknown = UnknownCosts(58, 63, "58 of 63 costs are not known: how stable the partitions beside are is not known either")
    assert stability_lines([replace(part, stability=None)], unknown) == [unknown.text]
    assert stability_lines([part, replace(part, stability=None)], unknown) == [
        unknown.text,
        "every partition but 1, of which it is not known, stays in the plan in all searches with costs varied within their intervals",
    ]


def test_a_need_is_said_in_words() -> None:
    need = DecisionNeeds(seconds=19.7, repetitions=8, computations=2, is_enough=True, is_assumed=False)
    assert needs_text(need) == "measure these two for 20 s more"
    assert needs_text(replace(need, computations=1, seconds=0.2)) == "measure this one for 1 s more"
    said = needs_text(replace(need, computations=5, is_enough=False, is_assumed=True))
    assert (
        said
        == "measure these 5 for 20 s more, which may still not decide: both are nearly equally fast (how long a trial takes is assumed)"
    )


def test_the_command_tells_it(record: RunRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record.save(tmp_path)
    told = document_of(capsys, "explain", tmp_path, "--undecided")
    assert [row["above_s"] for row in told["rivals"]] == pytest.approx([0.1])
    status, out, _ = in_this_process(capsys, "explain", tmp_path, "--undecided")
    assert status == 0
    assert any(line.startswith("  Add on numpy instead of Add on partitions (nodes 1): the second could be ") for line in out.splitlines())


def test_what_was_measured_and_came_of_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    row = RepeatedCost("cafe", Cost(1e-3, "measured", interval_s=3e-4), Cost(1.1e-3, "measured", interval_s=1e-5))
    after = RunUndecided(2e-3, None, True, (), (), (), 0.0)
    one = UndecidedRival((), (), 0.0, 1e-4, 1e-4, DecisionNeeds(1.0, 1, 1, is_enough=True, is_assumed=False))
    document = Decided(replace(after, rivals=(one,)), after, (row,), (), 2e-3, None, "", is_same_plan=True)
    show_decided(document)
    assert capsys.readouterr().out.splitlines() == [
        "  cafe: 1 ms ± 300 µs before, 1.1 ms ± 10 µs now",
        "1 undecided before, 0 now",
        "the plan stays: predicted 2 ms",
    ]
    show_decided(replace(document, is_same_plan=False, change_text="-100 µs predicted"))
    assert "another plan is best now: predicted 2 ms, -100 µs predicted beside that of the run" in capsys.readouterr().out


def repetitions_known() -> int:
    with CostDatabase(read_only=True) as database:
        return sum(repetition_count(record) for _, record in records(database, Selection()))


def test_a_cost_inside_the_whole_stays_one() -> None:
    inside = Cost(3e-5, "measured", interval_s=1e-5, reason="inside the whole plan; alone it takes 0.08 ms", alone_s=8e-5)
    alone = Cost(8e-5, "measured", interval_s=2e-6, samples=9)
    assert _as_inside(inside, alone) == replace(alone, seconds=3e-5, reason=inside.reason, alone_s=8e-5)
    assert _as_inside(replace(inside, alone_s=None), alone) == alone
    failed = Cost.invalid("run", "it crashed")
    assert _as_inside(inside, failed) == failed


@pytest.mark.long
def test_measuring_what_is_undecided_narrows_it(chain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "collage_test_toolchains:Numpy,collage_test_toolchains:Partitions")
    shorten_trials(monkeypatch.setattr)
    run = searched_run(chain, Options(("numpy", "partitions"), budget_s=1.0))
    wide = Cost(1.0, "measured", interval_s=1.0)
    costed = [CostedCandidate(item.held, wide) if item.target != "host" else item for item in run.candidates]
    unsure = replace(run, candidates=costed, problem=run.problem.with_candidates(search_candidates(costed)))
    assert undecided(unsure).rivals, "each cost may be off by as much as it is"
    count = repetitions_known()
    found = decide(unsure, chain, 0.1)
    assert repetitions_known() > count
    assert found.repeated
    assert all(row.after.interval_s < row.before.interval_s for row in found.repeated)
    json.dumps(to_json(found))
    told: list[Event] = []
    known = decided(unsure, chain, 0.01, Terms(), told.append)
    assert [event.phase for event in told if isinstance(event, PhaseEnded)] == ["costs", "search"]
    assert {item.id for item in known.candidates} == {item.id for item in run.candidates}
    assert any(0.0 < (item.cost.interval_s or 0.0) < 1.0 for item in known.candidates), "what was repeated is known better"
    assert known.plan.total_s == known.document.plan.total_s
    sure = [CostedCandidate(item.held, replace(item.cost, interval_s=None)) for item in run.candidates]
    with pytest.raises(CollageError, match="nothing is undecided in this run"):
        decide(replace(run, candidates=sure), chain)
