"""`make bench-e2e`: its tables and goals say what was measured, and an interrupted run goes on where it ended."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import bench_e2e
import onnx
import pytest
from bench_e2e import asked_accuracy, from_json, jobs, parts_of
from e2e_report import HEADER, Goal, Job, Result, goals, report, row
from fresh_process import MIX, Rounds
from onnx import helper
from partitioned import Subject, facts_of, targets_of
from result_file import ResultFile
from suite import NETWORKS, OTHERS, SLACK, Case, named, suite

from collage_core.model.samples.registry import SAMPLES

MACHINE = "a machine"
NETWORK = Case("crnn", "crnn", by_hand=1.2)
OTHER = Case("mnist", "mnist")
CONVOLUTIONAL = Case("resnet50", "resnet50", is_convolutional=True)


def document() -> dict[str, Any]:
    """A document of `collage partition`, with what the tables show and some more."""
    return {
        "model": {"nodes": 60},
        "budget": {"first_plan_s": 4.2},
        "phases": {"load_s": 1.0},
        "targets": [
            {"name": "ncnn", "candidates": 1000, "unique": 50, "measured": 10},
            {"name": "openvino", "candidates": 500, "unique": 20, "measured": 5},
        ],
        "plan": {"total_s": 0.030, "partitions": [{"target": "ncnn"}, {"target": "onnxruntime"}, {"target": "ncnn"}], "transitions": []},
        "baselines": [
            {"name": "openvino", "total_s": 0.04, "measured_s": 0.041},
            {"name": "greedy", "total_s": 0.05, "measured_s": 0.052, "reason": ""},
        ],
        "verify": {"measured_s": 0.031, "additive_error_s": 0.001, "max_rel_error": 1e-6, "reference": "it"},
    }


def result(mix_s: float = 0.030, alone_s: float = 0.038, **changed: Any) -> Result:
    """A result whose best toolchain alone takes `alone_s`."""
    seconds = {MIX: [mix_s] * 5, "onnxruntime": [0.044] * 5, "openvino": [0.045] * 5, "ncnn": [alone_s] * 5}
    return replace(Result(facts_of(document()), Rounds(seconds), {MIX: 1e-6}, 1e-3, 95.0), **changed)


def cells(job: Job, found: Result) -> dict[str, str]:
    return dict(zip(HEADER, row(job, found), strict=True))


def test_the_additive_error_is_that_of_costs_before_they_were_corrected() -> None:
    corrected = document()
    corrected["plan"]["total_s"] = 0.031
    corrected["verify"]["additive_error_s"] = 0.006
    assert result(facts=facts_of(corrected)).additive_error == pytest.approx(0.24), "0.031 s for 0.025 s"


def test_a_row_shows_what_was_measured() -> None:
    shown = cells(Job(NETWORK, 1), result())
    assert shown == {
        "model": "crnn",
        "onnxruntime": "44",
        "openvino": "45",
        "ncnn": "**38**",
        "openvino@bf16": "-",
        "greedy": "50.3",
        "predicted": "30",
        "measured": "30",
        "off by": "+3.3%",
        "fresh": "+0.0%",
        "alone / mix": "1.27 [1.27–1.27]",
        "pieces / mix": "-",
        "mix of": "3: ncnn + onnxruntime",
        "candidates": "1,500 / 70 / 15",
        "first plan s": "4.2",
        "took s": "95",
    }


def test_a_row_of_a_job_that_failed_is_there_and_its_reason_below() -> None:
    failed = Result(seconds=3.0, reason="`collage partition` ended with status 3: no plan")
    assert set(cells(Job(OTHER, 1), failed).values()) == {"mnist", "-", "3"}
    text = report({"it": (Job(OTHER, 1), failed)})
    assert "- mnist: `collage partition` ended with status 3: no plan" in text.splitlines()


def test_notes_say_who_does_not_run_the_model_and_who_errs() -> None:
    found = result(errors={MIX: 1e-6, "openvino": 0.16})
    del found.rounds.seconds["ncnn"]
    found.rounds.reasons["ncnn"] = "TopK is not supported"
    text = report({"it": (Job(NETWORK, 2), found)})
    assert "### Float32 accuracy, 2 threads" in text
    assert "- crnn: ncnn alone does not run it: TopK is not supported" in text
    assert "- crnn: openvino alone errs by 0.16, 0.001 is allowed" in text
    assert text.count("- crnn:") == 2
    assert found.best == "onnxruntime", "one that errs is compared with all the same, and ONNX Runtime is faster here"


def judged(*results: tuple[Job, Result]) -> dict[str, Goal]:
    return {goal.name: goal for goal in goals({job.key: (job, found) for job, found in results})}


def test_the_ratio_of_a_network_is_judged_by_that_by_hand_and_of_another_by_one() -> None:
    found = judged((Job(NETWORK, 1), result(mix_s=0.0334)), (Job(OTHER, 1), result(mix_s=0.0386)))
    network = found["crnn, float32 accuracy, one thread, best float32 toolchain alone / mix"]
    other = found["mnist, float32 accuracy, one thread, best float32 toolchain alone / mix"]
    assert (network.bound, network.is_reached) == (pytest.approx(SLACK * 1.2), False)
    assert (other.bound, other.is_reached) == (0.99, False)
    assert str(other).startswith("FAIL  mnist")
    assert "0.984 (0.984 to 0.984 in 5 rounds), wanted at least 0.990" in str(other)
    good = judged((Job(NETWORK, 1), result(mix_s=0.0333)), (Job(OTHER, 1), result(mix_s=0.0383)))
    assert [goal.is_reached for goal in good.values() if goal.is_least] == [True, True]


def test_the_mean_is_judged_over_all_nine_and_only_then() -> None:
    results = [(Job(case, 1), result(mix_s=0.038 / (case.by_hand or 1))) for case in NETWORKS]
    mean = judged(*results)["float32 accuracy, one thread, geometric mean of the nine networks"]
    assert mean.is_reached
    assert mean.value == pytest.approx(1.57, abs=0.01)
    failed = judged((Job(NETWORKS[0], 1), Result(reason="it broke")), *results[1:])
    assert not failed["float32 accuracy, one thread, geometric mean of the nine networks"].is_reached
    assert not any("geometric mean" in name for name in judged(*results[:8]))


def test_models_that_layouts_make_faster_are_judged_by_hand_and_are_none_of_the_nine() -> None:
    layouts = {case.name: case.least_ratio for case in suite() if case.by_hand_layouts is not None}
    assert layouts == {"inception": 1.06, "resnet50": 1.03, "densenet121": 1.03}
    assert not any(case.by_hand for case in suite() if case.name in layouts)
    (goal, *_) = judged((Job(Case("resnet50", "resnet50", by_hand_layouts=1.03), 1), result(mix_s=0.0375))).values()
    assert (goal.bound, goal.is_reached) == (1.03, False)


def test_a_case_that_is_built_gets_its_file(tmp_path: Path) -> None:
    case = Case("small", "", build=lambda: helper.make_model(helper.make_graph([], "small", [], [])))
    made = case.written(tmp_path)
    assert (made.source, onnx.load(made.source).graph.name) == (str(tmp_path / "small.onnx"), "small")
    assert made.written(tmp_path) == made
    assert OTHER.written(tmp_path) is OTHER


def test_additive_errors_are_judged_in_each_group_and_ratios_on_one_thread_alone() -> None:
    def off_by(share: float) -> Result:
        return result(mix_s=0.030 * 1.5, facts={**result().facts, "measured_s": 0.030 * (1 + share), "additive_error_s": 0.030 * share})

    found = judged(*[(Job(case, 2), off_by(share)) for case, share in ((NETWORK, 0.02), (OTHER, -0.04), (CONVOLUTIONAL, 0.2))])
    errors = [goal for goal in found.values() if "additive" in goal.name]
    assert [(goal.value, goal.is_reached) for goal in errors] == [(pytest.approx(0.04), True), (pytest.approx(0.2), False)]
    assert "additive error, worst: 20.0%, wanted at most 15.0%" in str(errors[1])


def test_the_time_to_an_answer_is_judged() -> None:
    slow = result(seconds=151.0)
    late, large = ({**slow.facts, "first_plan_s": seconds, "nodes": nodes} for seconds, nodes in ((10.1, 60), (40.0, 500)))
    found = judged(
        (Job(NETWORK, 1), slow), (Job(OTHER, 1), result(seconds=44.0)), (Job(CONVOLUTIONAL, 1), result(seconds=40.0, facts=large))
    )
    times = {name.partition("seconds ")[2]: (goal.value, goal.is_reached) for name, goal in found.items() if "seconds" in name}
    assert times == {
        "of a run, median of 3": (44.0, True),
        "of a run, worst": (151.0, False),
        "until the first plan, worst of 2": (4.2, True),
    }
    name = "float32 accuracy, one thread, seconds of a run, median of 3"
    for seconds, is_reached in ((45.1, False), (44.9, True)):
        some = [(Job(case, 1), result(seconds=seconds)) for case in NETWORKS[:3]]
        assert judged(*some)[name].is_reached == is_reached
        assert not any("median of" in found and "seconds" in found for found in judged(*some[1:]))
    failed = judged((Job(NETWORK, 1), result(facts=late)))
    assert not failed["float32 accuracy, one thread, seconds until the first plan, worst of 1"].is_reached


def test_with_less_precision_more_is_wanted_and_a_toolchain_that_errs_too_much_does_not_count() -> None:
    job = Job(CONVOLUTIONAL, 1, "1e-2")
    found = result(mix_s=0.0210, errors={MIX: 5e-3, "openvino@bf16": 5e-3}, accuracy=1e-2)
    found.rounds.seconds["openvino@bf16"] = [0.020] * 5
    best, less = (goal for goal in judged((job, found)).values() if goal.is_least)
    assert (best.bound, best.is_reached) == (1.6, True)
    assert (less.value, less.is_reached) == (pytest.approx(0.952, abs=1e-3), False)
    assert found.best == "ncnn", "the ratio is about float32 toolchains"
    wrong = replace(found, errors={**found.errors, "openvino@bf16": 2e-2})
    assert sum(goal.is_least for goal in judged((job, wrong)).values()) == 1
    assert Job(NETWORK, 1, "1e-2").least_ratio == Job(NETWORK, 1).least_ratio


def test_a_job_without_a_figure_reaches_nothing_and_says_why() -> None:
    (goal,) = judged((Job(OTHER, 1), Result(reason="it broke"))).values()
    assert str(goal).endswith("no figure (it broke), wanted at least 0.990")
    assert str(goal).startswith("FAIL")


def test_the_status_is_that_of_the_goals(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "e2e.md"
    job = Job(OTHER, 1)
    assert bench_e2e.judge({job.key: (job, result())}, MACHINE, file) == 0
    out = capsys.readouterr().out
    assert out.count("PASS") == 5
    assert "FAIL" not in out
    written = file.read_text()
    assert written.startswith(MACHINE)
    assert "| mnist" in written
    assert "PASS  mnist, float32 accuracy, one thread" in written
    assert "Least of 1 others: 1.267 (mnist); additive error: median 3.3%, worst 3.3% (mnist)" in written
    assert bench_e2e.judge({job.key: (job, result(mix_s=0.05))}, MACHINE, None) == 1
    assert bench_e2e.judge({}, MACHINE, None) == 1


def test_a_result_survives_its_file(tmp_path: Path) -> None:
    path = tmp_path / "e2e.json"
    ResultFile(path, MACHINE, from_json).add("good", result())
    second = ResultFile(path, MACHINE, from_json)
    second.resume()
    assert second.results == {"good": result()}
    assert second.results["good"].ratio == result().ratio


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "resnet"], "'resnet' is not in the suite: speech_transformer, retinanet"),
        (["--threads", "0"], "--threads '0' is no number of threads, such as 1,2"),
        (["--accuracy", "high"], "--accuracy 'high' is neither 'model' nor a number between 0 and 1"),
        (["--accuracy", "2"], "--accuracy '2' is neither 'model' nor a number between 0 and 1"),
        (["--resume"], "--resume needs --json FILE"),
        (["--drawn", "2", "--resume"], "--resume of drawn models needs --seed N, which the interrupted run said"),
        (["--json", __file__], "is there already: add --resume to go on with it, or remove it"),
    ],
)
def test_mistakes_are_told_before_anything_is_measured(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench_e2e.main(arguments)
    assert message in capsys.readouterr().err


def test_an_interrupted_run_prints_what_is_known_and_keeps_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rounds_asked: list[int] = []

    def measured(job: Job, subject: Subject, targets: Any, folder: Path, pieces_s: float, fewest: int) -> Result:
        rounds_asked.append(fewest)
        if job.case.name == "mnist":
            signal.raise_signal(signal.SIGTERM)
        return result()

    monkeypatch.setattr(bench_e2e, "measured", measured)
    monkeypatch.setattr(bench_e2e, "toolchain_rows", list)
    monkeypatch.setattr(bench_e2e, "prepare", lambda case, folder: None)
    before, file = signal.getsignal(signal.SIGTERM), tmp_path / "e2e.json"
    try:
        assert bench_e2e.main(["--only", "crnn,mnist", "--threads", "1", "--accuracy", "model", "--rounds", "2", "--json", str(file)]) == 1
    finally:
        signal.signal(signal.SIGTERM, before)
    shown = capsys.readouterr()
    assert "| crnn " in shown.out
    assert "| mnist" not in shown.out
    assert "crnn, float32 accuracy, one thread: onnxruntime 44, openvino 45, ncnn **38**" in shown.err, "the row as soon as it is known"
    assert "interrupted: 1 of 2 rows are known" in shown.err
    assert rounds_asked == [2, 2]
    kept = ResultFile(file, bench_e2e.this_machine(("ncnn", "onnxruntime", "openvino")), from_json)
    kept.resume()
    assert list(kept.results) == ["crnn, float32 accuracy, one thread"]


def test_jobs_come_group_by_group() -> None:
    made = jobs([NETWORK, OTHER], ["1", "2"], ["model", "1e-2"])
    assert [job.key for job in made[:3]] == [
        "crnn, float32 accuracy, one thread",
        "mnist, float32 accuracy, one thread",
        "crnn, float32 accuracy, 2 threads",
    ]
    assert made[-1].key == "mnist, --accuracy 1e-2, 2 threads"
    assert len({job.key for job in made}) == 8
    assert parts_of(" a, b,") == ["a", "b"]


@pytest.mark.parametrize(("own", "accuracy", "asked"), [(1e-3, "model", 1e-3), (1e-3, "1e-2", 1e-2), (2e-2, "1e-2", 2e-2)])
def test_no_run_is_asked_for_more_than_its_model_can_give(own: float, accuracy: str, asked: float) -> None:
    subject = Subject(NETWORK, Path("m"), Path("i"), {}, 3, own)
    assert asked_accuracy(Job(NETWORK, 1, accuracy), subject) == asked


def test_targets_are_those_of_the_suite_in_the_models_precision_unless_less_is_allowed() -> None:
    rows = [
        {"name": "tvm", "usable": True, "precision": "model"},
        {"name": "openvino", "usable": True, "precision": "float32"},
        {"name": "openvino@bf16", "usable": True, "precision": "bfloat16"},
        {"name": "onnxruntime", "usable": True, "precision": "model"},
        {"name": "ncnn@nchw16c", "usable": True, "precision": "float32"},
        {"name": "ncnn", "usable": False, "precision": "float32"},
        {"name": "onnxruntime@cores:cpu:0", "usable": True, "precision": "model"},
    ]
    assert targets_of(rows, is_less_precise=False) == ("ncnn@nchw16c", "onnxruntime", "openvino")
    assert targets_of(rows, is_less_precise=True) == ("ncnn@nchw16c", "onnxruntime", "openvino", "openvino@bf16")


def test_the_suite_is_every_sample_and_the_real_models() -> None:
    cases = suite()
    assert {case.name for case in (*NETWORKS, *OTHERS)} == set(SAMPLES)
    assert [case.name for case in cases if case.name not in SAMPLES] == [
        "densenet121", "rapidocr_det", "rapidocr_rec", "rapidocr_cls", "magika",
    ]  # fmt: skip
    assert [case.by_hand is None for case in cases] == [False] * len(NETWORKS) + [True] * (len(cases) - len(NETWORKS))
    assert [case.name for case in named(cases, ["mnist", "crnn"])] == ["crnn", "mnist"]
    detection = next(case for case in cases if case.name == "rapidocr_det")
    assert detection.shape_options == ["--shape", "x=1,3,320,320"]


def test_a_drawn_model_is_judged_by_what_a_search_over_few_pieces_finds() -> None:
    job = Job(replace(NETWORK, name="crnn-across=96", by_hand=None, is_drawn=True), 2)

    def judged(*pieces_s: float) -> dict[str, Goal]:
        seconds = {**result().rounds.seconds, **{f"pieces {number}": [one_s] * 5 for number, one_s in enumerate(pieces_s, 1)}}
        return {goal.name.rpartition(", ")[2]: goal for goal in goals({"it": (job, result(rounds=Rounds(seconds)))})}

    behind = judged(0.040, 0.027)
    assert behind["best float32 toolchain alone / mix"].bound == 0.98
    assert not behind["best plan of few pieces / mix"].is_reached, "0.9 of the plan's time"
    assert not behind["geometric mean of 1 drawn models"].is_reached
    best = judged(0.040, 0.031)
    assert best["best plan of few pieces / mix"].is_reached
    mean = best["geometric mean of 1 drawn models"]
    assert mean.bound == pytest.approx(0.97 * 0.038 / 0.031), "the pieces allow less than 1.3"
    assert mean.is_reached
    assert not judged()["best plan of few pieces / mix"].is_reached, "without any there is no figure, and no goal reached"
