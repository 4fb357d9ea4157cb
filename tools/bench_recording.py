"""Records raw trials for the ablation of `make bench-costs`: every sample with its signs of noise, disturbed ones too.

It takes samples by name. It gives `RawTrial`s, and the JSON file that holds them. Of each model some small candidates and the
whole model on one toolchain are timed, in rounds over them as a run times what its plan rests on; a visit to a model is
`ROUNDS` such rounds, and all models are visited in turn. Nothing is left out and nothing is judged here.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from recorded_costs import MEASURED_WHOLLY

from collage_core.base.isolation.worker import Pool
from collage_core.base.processor import usable_cores
from collage_core.cost.measuring import trial_worker
from collage_core.cost.measuring.activations import ActivationStore
from collage_core.cost.measuring.noise_filter import Speed, SpeedHistory
from collage_core.cost.measuring.reference_kernel import Clock
from collage_core.cost.measuring.repetition_rounds import ROUND_EVERY_S
from collage_core.cost.measuring.repetitions import MOST
from collage_core.cost.measuring.run_queue_waits import Waits
from collage_core.cost.measuring.sampling import NoiseSigns
from collage_core.cost.measuring.timing import TimingLimits
from collage_core.cost.measuring.trial_backend import RestOfModel
from collage_core.cost.measuring.trial_worker import ArrayFile
from collage_core.graph.index_set import IndexSet
from collage_core.model.model import SubModel
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.accuracy import default_accuracy
from collage_core.model.samples.registry import resolve
from collage_core.pipeline.record.record import CostedCandidate, RunRecord
from collage_core.toolchains import registry

ROUNDS = MOST
LIMITS = TimingLimits(interval=-1.0, most=2000)
"""No interval is narrow enough: so a recorded trial is as long as any trial of a run, with or without some sign of noise."""
QUANTILES = {"onnxruntime": 0.25, "openvino": 0.6, "tvm": 0.95}
"""Of the costs of small candidates of these targets, which one is timed."""
SMALL = 8
"""Nodes of a small candidate at most."""
FEWEST_VISITS = 2
"""As many as a comparison needs."""
WHOLE = "whole"
SIGNS = ("reference", "waits", "latency")
_TIMEOUT_S = 300.0

RawSample = tuple[float, float, float, float]
"""As `noise_filter.Sample`: seconds of a run, of the reference kernel, share that was waited, core-to-core latency."""


@dataclass(frozen=True)
class RawTrial:
    """One recorded trial.

    Attributes:
        model, part, target: The timed sub-model; `part` is ``whole`` or the nodes.
        visit, round: When, in turns; both from 0.
        started_s: When, on the clock of the recording.
        load_s: Loading, the first run and checking.
        elapsed_s: Taking all samples, with their signs.
        spent_s: Each of `SIGNS` → its part of `elapsed_s`.
    """

    model: str
    part: str
    target: str
    visit: int
    round: int
    started_s: float
    load_s: float
    elapsed_s: float
    spent_s: dict[str, float]
    samples: tuple[RawSample, ...]

    @property
    def computation(self) -> tuple[str, str, str]:
        return self.model, self.part, self.target

    @property
    def is_whole(self) -> bool:
        return self.part == WHOLE


@dataclass(frozen=True)
class Recording:
    """All trials of one recording, and the machine that it was made on."""

    machine: str
    trials: tuple[RawTrial, ...]

    def save(self, path: Path) -> None:
        """Write the recording as JSON, compressed."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt", encoding="utf-8", compresslevel=5) as file:
            json.dump({"machine": self.machine, "trials": [asdict(trial) for trial in self.trials]}, file)

    @classmethod
    def load(cls, path: Path) -> Recording:
        """Read what `save` wrote."""
        with gzip.open(path, "rt", encoding="utf-8") as file:
            data = json.load(file)
        trials = (RawTrial(**{**item, "samples": tuple(map(tuple, item["samples"]))}) for item in data["trials"])
        return cls(data["machine"], tuple(trials))


def record(models: Sequence[str], visits: int, longest_s: float, machine: str) -> Recording:
    """Visit all `models` in turn, `visits` times: twice at least, and not once more where that would take longer than `longest_s`."""
    with Pool() as pool, _prepared(models) as prepared:
        recorder = _Recorder(pool)
        for visit in range(max(visits, FEWEST_VISITS)):
            if visit >= FEWEST_VISITS and recorder.elapsed_s() * (visit + 1) / visit > longest_s:
                break
            for name, works in prepared.items():
                recorder.visit(works, visit)
                print(f"visit {visit + 1} of {visits}: {name}, {recorder.elapsed_s():.0f} s", flush=True)
    return Recording(machine, tuple(recorder.trials))


@dataclass(frozen=True)
class _Work:
    """A sub-model that is timed again and again."""

    name: str
    part: str
    target: str
    model: SubModel
    given: list[ArrayFile]
    wanted: list[ArrayFile]
    accuracy: float
    flushed_bytes: int


@contextmanager
def _prepared(models: Sequence[str]) -> Iterator[dict[str, list[_Work]]]:
    stores: list[ActivationStore] = []
    try:
        yield {name: list(_works(name, load_model(resolve(name)), stores)) for name in models}
    finally:
        for store in stores:
            store.close()


def _works(name: str, model: OnnxModel, stores: list[ActivationStore]) -> Iterator[_Work]:
    store = ActivationStore(model, model.seeded_inputs())
    stores.append(store)
    for part, target, inside in chosen(RunRecord.load(MEASURED_WHOLLY / f"{name}.json.gz").candidates):
        sub_model = model.cut(inside)
        store.fetch(tensor.name for tensor in (*sub_model.inputs, *sub_model.outputs))
        given, wanted = ([store.file(tensor.name) for tensor in tensors] for tensors in (sub_model.inputs, sub_model.outputs))
        files = [file for file in given if file], [file for file in wanted if file]
        yield _Work(name, part, target, sub_model, *files, default_accuracy(model), RestOfModel(model.graph).flushed_bytes(inside))


def chosen(candidates: Sequence[CostedCandidate]) -> Iterator[tuple[str, str, IndexSet]]:
    """Yield (part, target, nodes) of one small candidate of each target, and of the whole model where it is fastest."""
    measured = [item for item in candidates if item.cost.source == "measured" and not item.cost.stopped_early]
    cheapest = sorted(measured, key=lambda item: item.cost.seconds or 0.0)
    for target, quantile in QUANTILES.items():
        small = [item for item in cheapest if item.target == target and len(item.inside) <= SMALL]
        if small:
            item = small[int(quantile * (len(small) - 1))]
            yield ",".join(map(str, item.inside)), target, item.inside
    most = max(len(item.inside) for item in measured)
    whole = next(item for item in cheapest if len(item.inside) == most)
    yield WHOLE, whole.target, whole.inside


class _Recorder:
    """Runs the trials, in one worker for each target."""

    def __init__(self, pool: Pool):
        self.trials: list[RawTrial] = []
        self._pool = pool
        self._began = time.monotonic()
        self._speeds = SpeedHistory()

    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def visit(self, works: Sequence[_Work], visit: int) -> None:
        """Time each of `works` once a round."""
        for round_ in range(ROUNDS):
            began_s = self.elapsed_s()
            self.trials += [self._trial(work, visit, round_) for work in works]
            time.sleep(max(0.0, began_s + ROUND_EVERY_S - self.elapsed_s()))

    def _trial(self, work: _Work, visit: int, round_: int) -> RawTrial:
        started_s = self.elapsed_s()
        self._call(work, trial_worker.build, registry.get, work.target, work.model, usable_cores())
        self._call(work, trial_worker.check, work.given, work.wanted, work.accuracy)
        load_s = self.elapsed_s() - started_s
        elapsed_s, spent_s, samples, speed = self._call(work, sample_all, work.flushed_bytes, self._speeds.fastest())
        self._speeds.add(speed)
        return RawTrial(work.name, work.part, work.target, visit, round_, started_s, load_s, elapsed_s, spent_s, samples)

    def _call(self, work: _Work, function: Callable[..., Any], *args: Any) -> Any:
        return self._pool.worker(work.target).call(function, *args, timeout_s=_TIMEOUT_S)


def sample_all(flushed: int, known: Speed) -> tuple[float, dict[str, float], tuple[RawSample, ...], Speed]:
    """Return, in the worker, the seconds that sampling took, those that each sign took of them, all samples, and their speed."""
    spent_s = dict.fromkeys(SIGNS, 0.0)
    signs = timed_signs(trial_worker.noise_signs(), spent_s, time.perf_counter)
    begin = time.perf_counter()
    series = trial_worker.sample_kernel(LIMITS, None, None, flushed, known, signs)
    elapsed_s = time.perf_counter() - begin
    trial_worker.release()
    samples = tuple((sample.seconds, sample.reference_s, sample.waited, sample.core_latency_s) for sample in series.samples)
    return elapsed_s, spent_s, samples, series.result().speed


def timed_signs(signs: NoiseSigns, spent_s: dict[str, float], clock: Clock) -> NoiseSigns:
    """Return `signs`, which add the seconds that each takes to `spent_s`."""

    def timed(sign: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            begin = clock()
            try:
                return function(*args)
            finally:
                spent_s[sign] += clock() - begin

        return call

    @contextmanager
    def waits() -> Iterator[Waits]:
        with signs.waits() as counters:
            yield timed("waits", counters)

    latency = signs.core_latency_s and timed("latency", signs.core_latency_s)
    return replace(signs, reference_s=timed("reference", signs.reference_s), waits=waits, core_latency_s=latency)
