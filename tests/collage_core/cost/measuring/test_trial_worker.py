"""The worker's side of a trial: in which state the caches are when a sample is taken. The rest is in test_trial.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inexact_toolchains import RoundsUp

from collage_core.cost.measuring import trial_worker
from collage_core.cost.measuring.activations import ActivationStore
from collage_core.cost.measuring.noise_filter import UNKNOWN_SPEED
from collage_core.cost.measuring.sampling import SINGLE_THREADED
from collage_core.cost.measuring.timing import TimingLimits
from collage_core.cost.measuring.trial_worker import ArrayFile
from collage_core.graph.index_set import IndexSet
from collage_core.model.onnx_model import load_model
from collage_core.model.probe import relu_model
from collage_core.rules.base_rules import Explicit
from collage_core.rules.rule import PartitionRule, RuleOptions
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Availability, Toolchain
from tests.helpers.models import model_of, write
from tests.helpers.odd_models import odd_model

LIMITS = TimingLimits(warm_up_s=0.0, interval=-1.0, total_s=0.05, longest_s=0.5)
FLUSHED = 1 << 16
ELEMENTS = 100


class Read(np.ndarray[Any, Any]):
    """Keeps in `done` that it was read as a whole, or at one byte of each line of a cache."""

    def sum(self, *args: Any, **more: Any) -> Any:
        done.append(("flushed", self.nbytes))
        return np.asarray(self).sum(*args, **more)

    def max(self, *args: Any, **more: Any) -> Any:
        done.append(("inputs", self.size))
        return np.asarray(self).max(*args, **more)


done: list[Any] = []


class Kernel:
    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        self._inputs, self._outputs = inputs, outputs

    def run(self) -> None:
        done.append("run")
        np.maximum(self._inputs[0], 0, out=self._outputs[0])


class Kept(Toolchain):
    """A toolchain whose kernels say when they run."""

    name = "kept"

    def availability(self) -> Availability:
        return Availability(True, "1")

    def rule(self, options: RuleOptions) -> PartitionRule:
        return Explicit(())

    def build(self, model: Any, threads: int) -> bytes:
        return b"package"

    def load(self, *given: Any) -> Any:
        return Kernel()


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A kernel that was built and checked; what is read for its samples is kept in `done`."""
    ones, aligned = np.ones, trial_worker._aligned
    monkeypatch.setattr(trial_worker.np, "ones", lambda *given, **more: ones(*given, **more).view(Read))
    monkeypatch.setattr(trial_worker, "_aligned", lambda *given: aligned(*given).view(Read))
    model, given = relu_model(ELEMENTS), np.linspace(-1, 1, ELEMENTS, dtype=np.float32)[np.newaxis]
    files = []
    for tensor, array in zip((*model.inputs, *model.outputs), (given, np.maximum(given, 0)), strict=True):
        np.save(tmp_path / f"{tensor.name}.npy", array)
        files.append(ArrayFile(tensor, tmp_path / f"{tensor.name}.npy"))
    tool = Kept()
    trial_worker.build(lambda name: tool, "kept", model, 1)
    assert trial_worker.check(files[:1], files[1:], 1e-6).error == 0.0
    done.clear()
    yield
    trial_worker.release()


def sampled(flushed_bytes: int) -> list[Any]:
    """Return what was done for all samples; the warm-up is the first run."""
    trial_worker.sample_kernel(LIMITS, None, None, flushed_bytes, UNKNOWN_SPEED, SINGLE_THREADED)
    return done[done.index("run") + 1 :]


def test_before_each_sample_the_weights_are_made_cold_and_then_the_inputs_are_as_if_just_written(checked: None) -> None:
    """So much is read as the model moves, which leaves nothing of the weights in the caches; then each line of each input is."""
    lines = -(-ELEMENTS * 4 // 64)
    found = sampled(FLUSHED)
    assert found == [("flushed", FLUSHED), ("inputs", lines), "run"] * (len(found) // 3)
    assert found


def test_where_the_whole_model_stays_in_the_cache_nothing_is_made_cold(checked: None) -> None:
    assert set(sampled(0)) == {"run"}


@pytest.mark.parametrize(
    "name",
    [
        "strings",
        "sequence_at_the_ends",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("optional", "int4_quantised", "texts_in_a_sequence")),
    ],
)
def test_values_that_are_no_plain_memory_are_read_checked_and_timed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))
    model = load_model(write(tmp_path, odd_model(name)), fold=False)
    store = ActivationStore(model, model.seeded_inputs())
    for node in model.graph.nodes:
        part = model.cut(IndexSet([node.index]))
        store.fetch(tensor.name for tensor in (*part.inputs, *part.outputs))
        given, wanted = ([store.file(tensor.name) for tensor in tensors] for tensors in (part.inputs, part.outputs))
        trial_worker.build(get, "onnxruntime", part, 1)
        found = trial_worker.check(given, wanted, 1e-3)
        assert (found.error, found.overwritten, found.element) == (0.0, "", "")
        timed = trial_worker.sample(LIMITS, None, None, FLUSHED, UNKNOWN_SPEED)
        assert timed.check.error == 0.0
        assert timed.samples.seconds
    store.close()


def test_a_wrong_sequence_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))
    model = load_model(write(tmp_path, odd_model("sequence_empty")), fold=False)
    insert = model.cut(IndexSet([model.graph.producer["sequence_empty/s"]]))
    right, other = (ActivationStore(model, model.seeded_inputs(seed)) for seed in (0, 1))
    for store in (right, other):
        store.fetch(tensor.name for tensor in (*insert.inputs, *insert.outputs))
    trial_worker.build(get, "onnxruntime", insert, 1)
    found = trial_worker.check([right.file(tensor.name) for tensor in insert.inputs], [other.file("sequence_empty/s")], 1e-3)
    assert (found.worst, found.error > 1e-3, found.has_other_type) == ("sequence_empty/s", True, False)
    trial_worker.release()
    right.close()
    other.close()


def test_a_difference_by_one_counts_as_its_step_where_floats_were_rounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs of the model are compared element by element."""
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))
    body = "q = QuantizeLinear(x, s, o) y = DequantizeLinear(q, s, o) z = QuantizeLinear(x, s, o)"
    made = model_of(f"m (float[4, 8] x) => (float[4, 8] y, int8[4, 8] z) {{ {body} }}", {"s": np.float32(0.1), "o": np.int8(0)})
    model = load_model(write(tmp_path, made), fold=False)
    store = ActivationStore(model, model.seeded_inputs())
    errors = []
    for name in ("q", "z"):
        part = model.cut(IndexSet([model.graph.producer[name]]))
        store.fetch(tensor.name for tensor in (*part.inputs, *part.outputs))
        trial_worker.build(lambda target: RoundsUp(), "rounds_up", part, 1)
        errors.append(trial_worker.check([store.file("x")], [store.file(name)], 2e-2).error)
        trial_worker.release()
    store.close()
    assert errors == [1 / 128, 1.0]
