"""Rounds over fresh processes: who is asked in which order, what a ratio says, and what a process tells that works or fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import fresh_measure
import fresh_process
import numpy as np
import onnx
import pytest
from fresh_process import ALONE, MIX, Measurement, Rounds, in_turns, until_apart

from collage_core.base.bursts import BURST_S
from collage_core.cost.measuring.paired_rounds import ratio_of
from collage_core.graph.index_set import IndexSet
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.accuracy import largest_error
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.toolchains.conformance.small_models import node, normal, sub_model, tensor


def told(asked: list[str], name: str, *seconds: float | str) -> Callable[[], Measurement]:
    """A contender that gives these seconds one after another, or fails for a reason; the last one ever after."""

    def values() -> Iterator[float | str]:
        yield from seconds
        while True:
            yield seconds[-1]

    following = values()

    def one() -> Measurement:
        asked.append(name)
        value = next(following)
        return Measurement(None, value) if isinstance(value, str) else Measurement(value)

    return one


def never(rounds: Rounds) -> bool:
    return False


def test_contenders_take_turns_and_every_other_round_is_in_reverse() -> None:
    asked: list[str] = []
    contenders = {name: told(asked, name, 1.0) for name in "abc"}
    rounds = in_turns(contenders, never, fewest=1, most=3)
    assert "".join(asked) == "abc" + "cba" + "abc"
    assert rounds.seconds == {"a": [1.0] * 3, "b": [1.0] * 3, "c": [1.0] * 3}


def test_what_fails_is_asked_no_more_and_has_no_figures() -> None:
    asked: list[str] = []
    contenders = {"good": told(asked, "good", 1.0, 2.0, 3.0), "bad": told(asked, "bad", 1.0, "it crashed")}
    rounds = in_turns(contenders, never, fewest=1, most=3)
    assert rounds == Rounds({"good": [1.0, 2.0, 3.0]}, {"bad": "it crashed"})
    assert asked.count("bad") == 2
    asked.clear()
    assert in_turns({"bad": told(asked, "bad", "no")}, never) == Rounds({}, {"bad": "no"})
    assert asked == ["bad"], "where nothing runs there is no further round"


def test_rounds_go_on_until_they_are_enough_but_the_fewest_are_measured() -> None:
    seen: list[int] = []

    def is_enough(rounds: Rounds) -> bool:
        seen.append(len(rounds.seconds["a"]))
        return len(rounds.seconds["a"]) == 7

    in_turns({"a": told([], "a", 1.0)}, is_enough, fewest=5, most=15)
    assert seen == [5, 6, 7]


def test_one_that_is_far_behind_in_its_group_takes_no_further_turns() -> None:
    asked: list[str] = []
    contenders = {"mix": told(asked, "mix", 9.0), "a": told(asked, "a", 1.0), "b": told(asked, "b", 2.5), "c": told(asked, "c", 1.1)}
    rounds = in_turns(contenders, never, fewest=6, most=6, groups=(("a", "b", "c"),))
    assert {name: asked.count(name) for name in contenders} == {"mix": 6, "a": 6, "b": 2, "c": 6}, "two rounds of twice as long"
    assert rounds.best(("a", "b", "c")) == "a"
    assert rounds.time_s("b") == 2.5
    ratio = rounds.ratio("a", "mix")
    assert ratio is not None
    assert ratio.rounds == 6


def test_a_ratio_is_that_of_the_same_round() -> None:
    """The machine gets slower and slower; each round has the same ratio all the same."""
    slow = [2.0, 3.0, 5.0, 8.0, 20.0]
    rounds = Rounds({"openvino": slow, MIX: [second / 1.25 for second in slow]})
    ratio = rounds.ratio("openvino")
    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high, ratio.rounds) == pytest.approx((1.25, 1.25, 1.25, 5))
    assert str(ratio) == "1.25 [1.25–1.25]"
    assert rounds.ratio("ncnn") is None
    assert rounds.ratio(None) is None
    assert Rounds({"openvino": slow}).ratio("openvino") is None


def test_a_ratio_and_its_interval_are_those_by_which_runs_compare_plans() -> None:
    """A disturbance of one side in two of six rounds moves the ratio of low quantiles as little as it moves what runs decide by."""
    mine, mix = [1.2, 1.21, 1.19, 1.2, 5.0, 1.2], [1.0, 1.0, 1.01, 4.0, 1.0, 1.0]
    ratio = Rounds({"ncnn": mine, MIX: mix}).ratio("ncnn")
    found = ratio_of([{0: one, 1: other} for one, other in zip(mine, mix, strict=True)], 0, 1)
    assert ratio is not None
    assert found is not None
    assert (ratio.value, ratio.low, ratio.high) == (found.value, found.low, found.high)
    assert ratio.value == pytest.approx(1.2, abs=0.01)
    single = Rounds({"ncnn": mine[:1], MIX: mix[:1]}).ratio("ncnn")
    assert single is not None
    assert (single.low, single.high) == (-math.inf, math.inf), "one round says nothing of an interval"


def test_the_best_is_the_one_of_the_least_time() -> None:
    """A round in which the machine was busy does not count."""
    seconds = {"onnxruntime": [5.0, 5.0, 5.0, 5.0, 5.0], "openvino": [4.0, 4.0, 9.0, 4.0, 4.0], "openvino@bf16": [1.0] * 5}
    assert Rounds(seconds).best(ALONE) == "openvino"
    assert Rounds({**seconds, MIX: [4.0, 1.0, 1.0, 1.0, 1.0]}).best(ALONE) == "openvino"
    assert Rounds(seconds).best(["ncnn"]) is None


@pytest.mark.parametrize(("wanted", "is_enough"), [(0.89, True), (0.95, False), (1.31, True)])
def test_rounds_are_enough_when_they_tell_the_ratio_from_the_wanted_one(wanted: float, is_enough: bool) -> None:
    rounds = Rounds({"ncnn": [1.1, 1.3, 0.9, 1.2, 1.0], "openvino": [9.0] * 5, MIX: [1.0] * 5})
    assert until_apart(wanted)(rounds) is is_enough
    assert until_apart(wanted)(Rounds({MIX: [1.0]})), "without a toolchain alone there is nothing to tell"


def test_a_model_is_run_as_often_as_a_second_holds_and_not_fewer_than_five_times_unless_it_takes_seconds() -> None:
    now, runs = [0.0], [0]

    def run_for(seconds: float) -> Callable[[], None]:
        def run() -> None:
            runs[0] += 1
            now[0] += seconds

        return run

    slow = fresh_measure.timed(run_for(0.5), lambda: now[0])
    assert (len(slow), runs[0]) == (fresh_measure.FEWEST_RUNS, fresh_measure.FEWEST_RUNS + fresh_measure.WARM_UP_RUNS)
    runs[0] = 0
    assert len(fresh_measure.timed(run_for(6.0), lambda: now[0])) == 1, "TVM's default kernels may take that long"
    assert runs[0] == 2
    runs[0] = 0
    quick = fresh_measure.timed(run_for(2**-10), lambda: now[0])
    assert fresh_measure.LONG_ENOUGH_S <= sum(quick) < fresh_measure.LONG_ENOUGH_S + 2 * BURST_S
    assert runs[0] - len(quick) >= fresh_measure.WARM_UP_S * 1024, "the warm-up, and the first runs of each burst"


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "its process crashed (SIGSEGV)"),
        ("import sys; print('noise'); sys.exit('it broke')", "its process ended with status 1: it broke"),
        ("pass", "its process ended with status 0: it said nothing"),
        ("import time; time.sleep(600)", "no answer within 1 s"),
        ("print('noise'); print('{\"low_s\": null, \"reason\": \"it cannot\"}'); print('more noise')", "it cannot"),
    ],
)
def test_a_process_that_gives_no_figure_says_why(program: str, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "measure.py"
    script.write_text(program)
    monkeypatch.setattr(fresh_process, "MEASURE", script)
    limit_s = 1.0 if "sleep" in program else 60.0
    assert fresh_process.measure("ncnn", tmp_path, 1, tmp_path / "inputs.npz", limit_s=limit_s) == Measurement(None, reason)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A convolution with its activation, as a file, and inputs beside it."""
    weights = {"w": normal(8, 3, 3, 3, scale=0.2)}
    nodes = [node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("Relu", "c", "y")]
    path = tmp_path / "model.onnx"
    path.write_bytes(sub_model(nodes, [tensor("x", (1, 3, 16, 16))], [tensor("y", (1, 8, 16, 16))], weights).onnx)
    onnx.checker.check_model(str(path))
    np.savez(tmp_path / "inputs.npz", x=normal(1, 3, 16, 16, seed=1))
    return path


def checked(kind: str, model: Path) -> Measurement:
    """Measure in a fresh process, and compare its outputs with the reference."""
    outputs = model.with_name(f"{kind}.npz")
    found = fresh_process.measure(kind, model, 1, model.with_name("inputs.npz"), outputs)
    if found.low_s is not None:
        with np.load(outputs) as got, np.load(model.with_name("inputs.npz")) as given:
            assert set(got) >= {"y"}
            bound = 1e-2 if "bf16" in kind else 1e-5
            assert largest_error(dict(got), load_model(model).reference(dict(given))) <= bound
    return found


@pytest.mark.long
def test_a_toolchain_alone_is_measured_in_a_fresh_process(model: Path) -> None:
    found = checked("onnxruntime", model)
    assert found.low_s is not None
    assert 0 < found.low_s < fresh_measure.LONG_ENOUGH_S


def test_a_toolchain_that_does_not_read_the_model_says_so(model: Path) -> None:
    model.write_bytes(b"no model")
    found = fresh_process.measure("onnxruntime", model, 1, model.with_name("inputs.npz"))
    assert found.low_s is None
    assert "model.onnx" in found.reason


@pytest.mark.long
@pytest.mark.parametrize("kind", sorted({*ALONE, *fresh_process.LESS_PRECISE} - {"onnxruntime"}))
def test_every_toolchain_alone_computes_what_the_model_says(kind: str, model: Path) -> None:
    pytest.importorskip(kind.partition("@")[0])
    assert checked(kind, model).reason == ""


@pytest.mark.long
def test_an_artifact_computes_what_its_model_says(model: Path) -> None:
    whole = load_model(model)
    part = PartitionModel("onnxruntime", ("Conv_c", "Relu_y"), whole.cut(IndexSet(range(len(whole.graph)))), "p0")
    assemble([part], whole.graph.inputs, whole.graph.outputs, model.parent / "out", 1, {})
    inputs, outputs = model.with_name("inputs.npz"), model.with_name("outputs.npz")
    assert fresh_process.measure(MIX, model.parent / "out", 1, inputs, outputs).reason == ""
    with np.load(outputs) as got, np.load(inputs) as given:
        assert largest_error(dict(got), whole.reference(dict(given))) <= 1e-5


@pytest.mark.long
def test_what_ncnn_lacks_is_named(model: Path) -> None:
    path = model.with_name("argmax.onnx")
    path.write_bytes(sub_model([node("ArgMax", "x", "y")], [tensor("x", (1, 3, 16, 16))], [tensor("y", (1, 3, 16, 16), "int64")]).onnx)
    found = fresh_process.measure("ncnn", path, 1, model.with_name("inputs.npz"))
    assert found == Measurement(None, "ncnn has no layer for ArgMax")


def test_every_kind_that_is_asked_for_is_there() -> None:
    assert {MIX, fresh_process.TVM, *ALONE, *fresh_process.LESS_PRECISE} == set(fresh_measure.KINDS)
