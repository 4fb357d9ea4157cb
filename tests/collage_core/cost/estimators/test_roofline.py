"""Estimates by the work alone: figures by hand, whose rates count, and every mistake in a `[cost]`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from recorded_costs import MEASURED_WHOLLY

from collage_core.base.isolation.worker_errors import WorkerDied
from collage_core.cost.estimators import machine_speed as speeds
from collage_core.cost.estimators import roofline
from collage_core.cost.estimators.factory import make_estimator
from collage_core.cost.estimators.machine_speed import MachineSpeed, machine_speed, measure_speed
from collage_core.cost.estimators.roofline import CALL_S, RooflineEstimator
from collage_core.errors import CollageError
from collage_core.events import Event, Note
from collage_core.graph.index_set import IndexSet
from collage_core.model.onnx_model import OnnxModel
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import read_record
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.spec import HOST_TARGET
from collage_core.toolchains.described import DescribedToolchain, read_description
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Toolchain
from collage_core.what_if.estimates import estimates
from tests.helpers.graphs import graph
from tests.helpers.models import loaded, model_of, weights, write

CONV_RELU = """g (float[1,1,4,4] x) => (float[1,2,4,4] y) {
    [conv] c = Conv<pads = [1, 1, 1, 1]>(x, w)
    [relu] y = Relu(c)
}"""
"""Conv: 32 elements, 9 multiplications and additions each: 576 operations; Relu: 32. Bytes: 64 read, 72 of weights, 128 written."""
OPERATIONS, BYTES = 608, 264
WEIGHTS = {"w": weights(2, 1, 3, 3)}


@pytest.fixture
def model(tmp_path: Path) -> OnnxModel:
    return loaded(tmp_path, CONV_RELU, WEIGHTS, fold=False)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A machine of 1e9 operations and 1e8 bytes a second; gives how many threads it was asked for."""
    threads: list[int] = []

    def machine(count: int) -> MachineSpeed:
        threads.append(count)
        return MachineSpeed(1e9, 1e8)

    monkeypatch.setattr("collage_core.cost.estimators.roofline.machine_speed", machine)
    return threads


def hook(folder: Path, cost: str = "", rules: str = '[[pattern]]\nmatch = "Relu(Conv(*, *))"\n', head: str = "") -> Path:
    path = folder / "hook.toml"
    path.write_text(f'name = "hook"\n{head}{rules}{cost}')
    return path


def described(folder: Path, cost: str, **more: str) -> DescribedToolchain:
    return read_description(hook(folder, cost, **more))


def estimate(estimator: RooflineEstimator, model: OnnxModel, target: str, *nodes: int, rule: str = "test") -> Any:
    candidate = CandidatePartition(model.graph, target, IndexSet(nodes), rule)
    ((found, cost, from_cache),) = estimator.estimate(model.graph, [candidate])
    assert found is candidate
    assert not from_cache
    return cost


@pytest.mark.parametrize(
    ("cost", "seconds"),
    [
        ("launch_s = 2e-6\nflops_per_s = 1e9\nbytes_per_s = 1e9", 2e-6 + OPERATIONS / 1e9),
        ("launch_s = 2e-6\nflops_per_s = 4e12\nbytes_per_s = 1e6", 2e-6 + BYTES / 1e6),
        ("flops_per_s = 1e9", OPERATIONS / 1e9),
        ("bytes_per_s = 1e9", BYTES / 1e9),
        ("launch_s = 2e-6", 2e-6),
        ("launch_s = 0", 0.0),
        ("flops_per_s = 1", 608.0),
    ],
)
def test_a_call_and_the_longer_of_computing_and_moving(tmp_path: Path, model: OnnxModel, cost: str, seconds: float) -> None:
    estimator = RooflineEstimator({"hook": described(tmp_path, f"[cost]\n{cost}")}, 1)
    got = estimate(estimator, model, "hook", 0, 1)
    assert got.seconds == pytest.approx(seconds, rel=1e-12)
    assert (got.source, got.samples, got.spread_s) == ("estimate", 0, None)
    assert "by the [cost] of hook's file" in got.reason


def test_the_reason_names_every_figure(tmp_path: Path, model: OnnxModel) -> None:
    whole = RooflineEstimator({"hook": described(tmp_path, "[cost]\nlaunch_s = 2e-6\nflops_per_s = 4e12\nbytes_per_s = 2e11")}, 1)
    assert estimate(whole, model, "hook", 0, 1).reason == (
        "an estimate by roofline: 2 µs for the call and the longer of operations at 4e+12 per s and bytes at 2e+11 per s"
        " (by the [cost] of hook's file)"
    )
    bare = RooflineEstimator({"hook": described(tmp_path, "[cost]\nlaunch_s = 2e-6")}, 1)
    assert estimate(bare, model, "hook", 0, 1).reason == "an estimate by roofline: 2 µs for the call (by the [cost] of hook's file)"


def test_a_toolchain_that_is_here_is_as_fast_as_the_machine(model: OnnxModel, asked: list[int]) -> None:
    estimator = RooflineEstimator({"onnxruntime": get("onnxruntime"), "tvm": get("tvm")}, 2)
    got = estimate(estimator, model, "onnxruntime", 0, 1)
    assert got.seconds == pytest.approx(CALL_S + BYTES / 1e8, rel=1e-12)
    assert estimate(estimator, model, "tvm", 0).seconds == pytest.approx(CALL_S + max(576 / 1e9, 264 / 1e8), rel=1e-12)
    assert "as fast as NumPy multiplies matrices on 2 cores and copies here; the call is assumed" in got.reason
    assert set(asked) == {2}


def test_a_described_one_alone_needs_no_machine(tmp_path: Path, model: OnnxModel, asked: list[int]) -> None:
    estimator = RooflineEstimator({"hook": described(tmp_path, "[cost]\nlaunch_s = 1")}, 2)
    estimator.transitions(["hook"])
    estimate(estimator, model, "hook", 0, 1)
    assert asked == []


def test_the_host_is_free_and_equal_computations_share_an_estimate(tmp_path: Path) -> None:
    chain = graph(["a: Relu <- x", "b: Relu <- a", "c: Identity <- b"])
    estimator = RooflineEstimator({"hook": described(tmp_path, "[cost]\nflops_per_s = 2")}, 1)
    wanted = [CandidatePartition(chain, target, IndexSet((node,)), "test") for target, node in (("hook", 0), ("hook", 1), (HOST_TARGET, 2))]
    costs = [cost for _, cost, _ in estimator.estimate(chain, wanted)]
    assert costs[0].seconds == 2.0, "four elements at two a second"
    assert costs[0] is costs[1]
    assert (costs[2].seconds, costs[2].source) == (0.0, "host")


def test_adjacent_partitions_are_fused_only_where_the_rules_let_them(tmp_path: Path, model: OnnxModel) -> None:
    cost, tree = "[cost]\nlaunch_s = 1", '[rule]\nrule = "op_predicate"\nops = ["Relu", "Conv"]\n'
    free = RooflineEstimator({"hook": described(tmp_path, cost)}, 1)
    assert estimate(free, model, "hook", 0, 1, rule="hook.merged").seconds == 1.0
    for more in ({"head": 'style = "library"\n'}, {"head": 'fusion = "tvm"\n'}, {"rules": tree}):
        bound = RooflineEstimator({"hook": described(tmp_path, cost, **more)}, 1)
        refused = estimate(bound, model, "hook", 0, 1, rule="hook.merged")
        assert refused.is_invalid
        assert (refused.stage, refused.reason) == (
            "predicate",
            "the rules of hook don't take these partitions together, and nothing is tried",
        )
        assert estimate(bound, model, "hook", 0, 1).seconds == 1.0, "what the rules find stays"


def test_transitions_are_free_and_that_is_said_once(tmp_path: Path, asked: list[int]) -> None:
    events: list[Event] = []
    targets: dict[str, Toolchain] = {"hook": described(tmp_path, "[cost]\nlaunch_s = 1"), "tvm": get("tvm")}
    estimator = RooflineEstimator(targets, 2, events.append)
    assert estimator.transitions(["hook", "tvm", HOST_TARGET]).pairs == {}
    estimator.transitions(["hook", "tvm"])
    assert estimator.transition("hook", "tvm", 10**9, "float32") == 0.0
    notes = [event.text for event in events if isinstance(event, Note)]
    assert len(notes) == 2
    assert notes[0] == (
        "hook is not measured. Each of its costs is an estimate by roofline: 1 s for the call (by the [cost] of hook's file);"
        " transfers free"
    )
    assert notes[1].startswith("tvm is not measured. Each of its costs is an estimate by roofline: 2 µs for the call and the longer of")


def test_a_described_one_without_cost_is_a_mistake(tmp_path: Path, model: OnnxModel) -> None:
    path = hook(tmp_path)
    targets = {"hook": read_description(path)}
    with pytest.raises(CollageError) as caught:
        make_estimator("roofline", model=model, inputs={}, threads=1, accuracy=1e-3, toolchains=targets, emit=lambda event: None)
    assert caught.value.message == (
        f"the target 'hook' is only described, and its file {str(path)!r} has no [cost], so its time cannot be estimated"
    )
    assert caught.value.hint == "add [cost] with launch_s, flops_per_s or bytes_per_s to the file, or use mock costs"


@pytest.mark.parametrize(
    ("cost", "line", "message"),
    [
        ("[cost]", 4, "cost is {}, it must be given with some of launch_s, flops_per_s, bytes_per_s, or left out"),
        ("[cost]\ntransfer_latency_s = 1e-5", 4, "cost is {'transfer_latency_s': 1e-05}, it must be given with some of launch_s"),
        (
            '[cost]\nlaunch_s = 1\ntransfer_bytes_per_s = 1\n[location]\nname = "g"\nfrom_host = {fixed_s = 1}\nto_host = {fixed_s = 1}',
            6,
            "cost.transfer_bytes_per_s is 1, it must be left out where there is a [location], which says what copies cost",
        ),
        ("[cost]\nlaunch_s = -1e-6", 5, "cost.launch_s is -1e-06, it must be a positive, finite number (from 0 to 1e+06)"),
        ("[cost]\nlaunch_s = 2e6", 5, "cost.launch_s is 2000000.0, it must be a positive, finite number (from 0 to 1e+06)"),
        ("[cost]\nlaunch_s = nan", 5, "cost.launch_s is nan, it must be a positive, finite number"),
        ("[cost]\nlaunch_s = 1\nflops_per_s = 0", 6, "cost.flops_per_s is 0, it must be a positive, finite number (from 1 to 1e+30)"),
        ("[cost]\nflops_per_s = inf", 5, "cost.flops_per_s is inf, it must be a positive, finite number"),
        ("[cost]\nbytes_per_s = true", 5, "cost.bytes_per_s is True, it must be a positive, finite number"),
        ('[cost]\nbytes_per_s = "2e11"', 5, "cost.bytes_per_s is '2e11', it must be a positive, finite number"),
        (
            "[cost]\nflops = 4e12",
            5,
            "cost.flops is 4000000000000.0, it must be left out: only launch_s, flops_per_s, bytes_per_s, transfer_latency_s",
        ),
    ],
)
def test_a_mistake_in_cost_is_told_with_file_and_line(tmp_path: Path, cost: str, line: int, message: str) -> None:
    path = hook(tmp_path, cost)
    with pytest.raises(CollageError) as caught:
        read_description(path)
    assert caught.value.message.startswith(f"{path}, line {line}: {message}")


def test_a_run_rests_on_estimates_and_says_so(tmp_path: Path, asked: list[int]) -> None:
    path = write(tmp_path, model_of(CONV_RELU, WEIGHTS))
    files = (hook(tmp_path, "[cost]\nlaunch_s = 2e-6\nflops_per_s = 1e9\nbytes_per_s = 1e9"),)
    record = partition(path, Options(("onnxruntime", "hook"), costs="roofline", toolchain_files=files, fold=False))
    (part,) = record.document.plan.partitions
    assert (part.target, part.source, part.samples) == ("hook", "estimate", 0)
    assert record.document.plan.total_s == pytest.approx(2e-6 + 608e-9, rel=1e-9)
    assert record.document.verify.measured_s is None
    assert record.machine == "", "it was measured nowhere"
    assert {row.measured for row in record.document.targets} == {0}
    assert {row.name: row.total_s for row in record.document.baselines}["onnxruntime"] == pytest.approx(2e-6 + 264e-8)


def test_this_machine_is_measured_once_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []

    class Fake:
        def __init__(self, environment: dict[str, str]):
            self.environment = environment

        def __enter__(self) -> Fake:
            return self

        def __exit__(self, *exception: object) -> None:
            calls.append(("closed",))

        def call(self, function: Any, *arguments: Any, timeout_s: float) -> MachineSpeed:
            calls.append((function, *arguments, self.environment["OPENBLAS_NUM_THREADS"]))
            return MachineSpeed(3.0, 4.0)

    monkeypatch.setattr(speeds, "Worker", Fake)
    machine_speed.cache_clear()
    try:
        assert machine_speed(7) == machine_speed(7) == MachineSpeed(3.0, 4.0)
    finally:
        machine_speed.cache_clear()
    assert calls == [(measure_speed, 7, "1"), ("closed",)]


def test_a_machine_whose_speed_cannot_be_measured_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(self: Any, *arguments: Any, **options: Any) -> None:
        raise WorkerDied("was killed by signal 9")

    monkeypatch.setattr(speeds.Worker, "call", dies)
    machine_speed.cache_clear()
    with pytest.raises(CollageError, match=r"this machine's speed cannot be measured: .*was killed by signal 9"):
        machine_speed(1)


def test_what_is_measured_is_a_speed() -> None:
    machine_speed.cache_clear()
    speed = machine_speed(1)
    assert math.isfinite(speed.operations_per_s)
    assert 1e6 < speed.operations_per_s < 1e15, "float32 operations of one core"
    assert 1e6 < speed.bytes_per_s < 1e13


def test_what_a_run_measured_is_estimated_beside_it_as_roofline_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "machine_speed", lambda threads: MachineSpeed(1e11 * threads, 1e10))
    record = read_record(MEASURED_WHOLLY / "lstm.json.gz")
    found = estimates(record)
    measured = [item for item in record.candidates if item.cost.seconds is not None and item.target != HOST_TARGET]
    candidates = [CandidatePartition(record.graph, item.target, item.inside, "rule") for item in measured]
    estimator = RooflineEstimator({}, record.plan.options["threads"])
    costs = [cost for _, cost, _ in estimator.estimate(record.graph, candidates)]
    assert found.seconds == {item.id: cost.seconds for item, cost in zip(measured, costs, strict=True)}
    assert found.reason == costs[0].reason
    assert not any(item.cost.source == "estimate" for item in record.candidates)


def test_this_machines_speed_says_nothing_of_a_gpu():
    estimator = RooflineEstimator({"tensorrt_rtx": get("tensorrt_rtx")}, 1)
    with pytest.raises(CollageError) as caught:
        estimator.transitions(["tensorrt_rtx"])
    assert caught.value.message == "the target 'tensorrt_rtx' runs on a GPU, so its time cannot be estimated from the speed of this machine"
    assert "--toolchain" in caught.value.hint
