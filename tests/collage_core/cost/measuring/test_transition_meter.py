"""The meter of transitions: two sizes become a line; it is measured, kept and reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import stand_in_device
from misbehaviours import plug_in_names

from collage_core.cost.cost import Transition, TransitionModel
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.records import MeasuredTransition, TransitionKey, machine_id
from collage_core.cost.measuring import transition_meter
from collage_core.cost.measuring.transition_meter import SIZES, TransitionMeter, fit, measure_pair
from collage_core.cost.measuring.trial import TrialLimits, TrialRunner
from collage_core.cost.measuring.trial_backend import Caller, LocalBackend
from collage_core.events import Event, Note
from collage_core.model.model import SubModel
from collage_core.model.probe import product_model, relu_model
from collage_core.toolchains import registry
from collage_core.toolchains.onnx_models.nchwc_models import REORDER_TARGET
from tests.helpers.long_cases import mostly_long

WELL = "collage_test_toolchains:Numpy,collage_test_toolchains:Babbles"


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.EXTRA, f"{WELL},{plug_in_names('segfaults_at_run', 'refuses_relu', 'hangs_at_build')}")


@pytest.mark.parametrize(("fixed", "slope"), [(0.0, 0.0), (2e-6, 0.0), (1e-6, 1e-12)])
def test_two_sizes_give_back_the_line_that_made_them(fixed: float, slope: float) -> None:
    small, large = (fixed + slope * size for size in SIZES)
    assert fit(small, large) == pytest.approx((fixed, slope))


@pytest.mark.parametrize(("small", "large"), [(2e-6, 1e-6), (0.0, 1e-3), (1e-9, 1e-3)])
def test_no_part_of_the_line_is_negative(small: float, large: float) -> None:
    fixed, slope = fit(small, large)
    assert fixed >= 0
    assert slope >= 0
    assert fixed <= small


def test_probe_model_is_one_relu() -> None:
    import onnx

    made = relu_model(16)
    (node,) = onnx.load_from_string(made.onnx).graph.node
    assert node.op_type == "Relu"
    assert [tensor.type.bytes for tensor in (*made.inputs, *made.outputs)] == [64, 64]


@pytest.mark.parametrize("target", ["blas", "onednn"])
def test_a_library_of_calls_is_probed_with_a_product_of_as_many_bytes(target: str) -> None:
    made = product_model(64)
    assert [tensor.type.bytes for tensor in (*made.inputs, *made.outputs)] == [256, 256]
    if not registry.get(target).availability().usable:
        pytest.skip(registry.get(target).availability().reason)
    relus = transition_meter._loaded(registry.get, target, 4096, 1)
    relus.maker.run()
    relus.reader.run()
    first, _, last = transition_meter._buffers(4096)
    np.testing.assert_allclose(last, first, rtol=1e-6)


@pytest.fixture
def database(tmp_path: Path) -> CostDatabase:
    return CostDatabase(tmp_path / "costs.sqlite3")


class Impatient:
    """A caller that waits half a second for `hangs_at_build`, and as long as it takes for the others."""

    def __init__(self, caller: Caller):
        self._caller = caller

    def call(self, function: Callable[..., Any], *args: Any, timeout_s: float, should_stop: Callable[[], bool] | None = None) -> Any:
        return self._caller.call(function, *args, timeout_s=0.5 if "hangs_at_build" in args else timeout_s, should_stop=should_stop)

    def close(self) -> None:
        self._caller.close()


class ImpatientBackend(LocalBackend):
    def caller(self) -> Caller:
        return Impatient(super().caller())


def meter_of(database: CostDatabase, events: list[Event]) -> TransitionMeter:
    backend = ImpatientBackend(TrialRunner(registry.get, 1, 0.0, TrialLimits()), registry.get)
    return TransitionMeter(threads=1, database=database, backend=backend, emit=events.append, get_toolchain=registry.get)


def measured(meter: TransitionMeter, *targets: str) -> TransitionModel:
    return meter.measure(list(permutations(targets, 2)), dict.fromkeys(targets, "1"))


def test_both_directions_are_measured_and_kept(database: CostDatabase) -> None:
    events: list[Event] = []
    meter = meter_of(database, events)
    model = measured(meter, "numpy", "babbles")
    meter.close()
    assert set(model.pairs) == {("numpy", "babbles"), ("babbles", "numpy")}
    assert events == []
    for maker, reader in model.pairs:
        kept = database.get_transition(TransitionKey(maker, reader, "1", "1", 1, machine_id()))
        assert kept is not None
        assert (kept.fixed_s, kept.per_byte_s, kept.note) == (*model.to_json()[f"{maker}->{reader}"].values(), "")
        assert 0 <= kept.fixed_s < 1e-2
        assert 0 <= kept.per_byte_s < 1e-6


def test_only_what_is_asked_for_is_measured_and_what_is_kept_is_known_without(database: CostDatabase) -> None:
    pairs, versions = [("numpy", "babbles"), ("babbles", "numpy")], {"numpy": "1", "babbles": "1"}
    database.put_transition(TransitionKey("babbles", "numpy", "1", "1", 1, machine_id()), MeasuredTransition(4.0, 2.0))
    meter = meter_of(database, [])
    assert meter.recall(pairs, versions).pairs == {("babbles", "numpy"): Transition(4.0, 2.0)}
    assert set(meter.measure(pairs[:1], versions).pairs) == set(pairs)
    meter.close()


def test_what_is_kept_is_not_measured_again(database: CostDatabase) -> None:
    for maker, reader in (("numpy", "hangs_at_build"), ("hangs_at_build", "numpy")):
        database.put_transition(TransitionKey(maker, reader, "1", "1", 1, machine_id()), MeasuredTransition(4.0, 2.0))
    meter = meter_of(database, [])
    assert measured(meter, "numpy", "hangs_at_build").cost_s("hangs_at_build", "numpy", 1, "float32") == 6.0
    meter.close()


@pytest.mark.parametrize(
    ("target", "why"),
    mostly_long(
        [
            ("segfaults_at_run", "crashed with SIGSEGV"),
            ("refuses_relu", "no converter for Relu"),
            ("hangs_at_build", "gave no answer within 500 ms"),
        ]
    ),
)
def test_target_that_cannot_be_measured_is_free_named_once_and_spoils_no_other_pair(database: CostDatabase, target: str, why: str) -> None:
    said = [Note(f"transitions to and from {target} cannot be measured and count as free: {why}")]
    for _ in range(2):
        events: list[Event] = []
        meter = meter_of(database, events)
        model = measured(meter, "numpy", target, "babbles")
        meter.close()
        assert events == said
        assert model.pairs["numpy", target] == model.pairs[target, "babbles"] == Transition()
        assert ("numpy", "babbles") in model.pairs


class Ticking:
    """A toolchain whose kernels take as long as they say, by a clock of their own."""

    style = "graph"
    now = 0.0

    def __init__(self, layout: str, seconds: float):
        self.layout = layout
        self._seconds = seconds

    def build(self, model: SubModel, threads: int) -> bytes:
        return b""

    def load(self, *_unused: Any) -> Ticking:
        return self

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        assert [array.shape for array in inputs] == [array.shape for array in outputs]

    def run(self) -> None:
        Ticking.now += self._seconds


def test_only_targets_of_different_layouts_pay_for_a_reorder(monkeypatch: pytest.MonkeyPatch) -> None:
    ticking = {name: Ticking("nchw16c", 1e-6) for name in ("one@nchw16c", "other@nchw16c")}
    ticking |= {"plain": Ticking("", 1e-6), REORDER_TARGET: Ticking("", 5e-6)}
    monkeypatch.setattr(transition_meter, "time", SimpleNamespace(perf_counter=lambda: Ticking.now))
    monkeypatch.setattr(transition_meter, "_relus", {})
    costs = {pair: sum(measure_pair(cast(Any, ticking.__getitem__), *pair, 1)) for pair in permutations([*ticking][:3], 2)}
    assert costs == {pair: pytest.approx(5e-6 if "plain" in pair else 0.0, abs=1e-9) for pair in costs}


def test_between_the_host_and_a_device_a_copy_is_timed_and_anything_else_of_a_device_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.EXTRA, f"{WELL},stand_in_device:OnDevice")
    device = "standin:dev:0"
    memory = stand_in_device.StandInMemory("dev:0")
    monkeypatch.setattr(stand_in_device, "memory_at", lambda location: memory)
    for pair, direction in ((("host", device), "in"), ((device, "host"), "out")):
        memory.copied.clear()
        fixed_s, per_byte_s = measure_pair(registry.get, *pair, 1)
        assert fixed_s >= 0
        assert per_byte_s >= 0
        timed = [(way, shape) for way, shape in memory.copied if way == direction]
        assert {shape for _, shape in timed} == {(size,) for size in SIZES}
    memory.counted.clear()
    assert measure_pair(registry.get, "numpy", device, 1) == measure_pair(registry.get, device, "numpy", 1) == (0.0, 0.0)
    assert not memory.counted
