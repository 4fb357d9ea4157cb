"""`MeasureEstimator`: costs measured on this machine, or on those of a fleet, each distinct computation once, kept in the cost database.

It takes candidates and gives their costs one by one, as they get known: first those in the database, then those of trials, single
nodes on the quick toolchains before the rest, so that candidates that are sure to lose are soon settled. Trials run in worker
processes (`trial`). Everything measured is committed before it is told.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain, permutations

import numpy as np

from ...base.isolation.worker import Pool
from ...errors import Cancelled, CollageError
from ...events import Emit, Note, ignore
from ...graph.computation import Computations
from ...graph.dataflow_graph import DataflowGraph
from ...graph.index_set import IndexSet
from ...graph.sub_graph import SubGraph
from ...graph.value_policy import FINITE
from ...model.model import EXTREME, Arrays, Model
from ...model.reference.bearing import fingerprint
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ...toolchains import registry
from ...toolchains.abilities import PlainTwin, Profiles, WeightValues, location_of
from ...toolchains.blocked_layout import has_blocked_end
from ...toolchains.device_tensors import HOST_LOCATION
from ...toolchains.toolchain import Availability
from ..cost import HOST_COST, Cost, TransitionModel
from ..database.database import CostDatabase
from ..database.records import CostKey, Record, machine_id
from ..error_limit import ErrorLimit
from ..estimator import Known, TunedCosts
from ..measuring.activations import ActivationStore
from ..measuring.build_disturbance import builds_disturb
from ..measuring.call_meter import CallMeter, CallRounds
from ..measuring.error_limits import ErrorLimits
from ..measuring.noise_filter import Speed
from ..measuring.repetition_noise import RepetitionNoise
from ..measuring.repetition_rounds import RepetitionRounds
from ..measuring.repetitions import cost_of, repetition_values
from ..measuring.transition_meter import TransitionMeter
from ..measuring.trial import TrialLimits, TrialRunner, TrialTask
from ..measuring.trial_backend import LocalBackend, RestOfModel, TrialBackend
from ..measuring.trial_worker import CheckSet, GetToolchain
from ..profile import ProfiledPart
from .single_nodes import SingleNodes
from .tuner import Tuner

TOO_LITTLE = 1e-3
"""A candidate that takes less than this share of the whole plan need not be known better: it cannot change it."""
_CORE_LATENCY_HOLDS = timedelta(hours=1)
"""So long a machine is taken to be what it was: its cores may come to lie as near to each other as they did."""


@dataclass(frozen=True, slots=True)
class _Computation:
    """Candidates of one target that are the same work.

    Attributes:
        key: The key under which their cost is kept, as they are built now.
        plain: The key of their cost with the default schedules.
    """

    key: CostKey
    plain: CostKey
    candidates: list[CandidatePartition]

    @property
    def target(self) -> str:
        return self.key.toolchain

    @property
    def inside(self) -> IndexSet:
        return self.candidates[0].inside


def _options(precision: str, flushed: int, value_policy: str) -> str:
    """`CostKey.options`: costs of a part that meets cold weights are not those of one that does not, nor are those of a stricter check."""
    cold = f"{precision}, {flushed >> 20} MiB flushed" if flushed else precision
    return cold if value_policy == FINITE else f"{cold}, NaN and infinities compared"


class MeasureEstimator:
    """Measures what the database does not know yet.

    Args:
        model: Whose graph the candidates are over.
        inputs: Its inputs while activations are recorded.
        threads: For each toolchain.
        database: Keeps the costs; it is closed with this.
        accuracy: Largest relative error of a candidate.
        percentile: Of the samples, as the cost.
        get_toolchain: Finds a toolchain by name, in this process and in the workers; a module-level function.
        emit: Gets a `Note` where something is not as it should be.
        on_trial: Called before each trial with one of its candidates, how many computations are known, how many there are, and
            which repetition it is.
        should_stop: Asked often; when it says so, the work ends with `Cancelled` within about 50 ms.
        limits: How long a trial may take; from the environment (`TrialLimits.from_environment`) unless given.
        call_rounds: Measures what calls of the assembled module take (`CallMeter`); they count as free unless given.
        flushed: Bytes that are read between two timed runs; as many as the rest of the model moves (`RestOfModel`) unless given.
        backend: Runs trials; worker processes of this machine unless given. It is closed with this.
        is_afresh: `estimate` measures what the database knows, too.
        workers: As `TrialRunner` takes them.
        value_policy: How NaN and infinities of the reference are compared.
    """

    name = "measure"

    def __init__(
        self,
        model: Model,
        inputs: Arrays,
        threads: int,
        database: CostDatabase,
        accuracy: float,
        *,
        percentile: float = 50.0,
        get_toolchain: GetToolchain = registry.get,
        emit: Emit = ignore,
        on_trial: Callable[[CandidatePartition, int, int, int], None] = lambda candidate, done, total, repetition: None,
        should_stop: Callable[[], bool] | None = None,
        limits: TrialLimits | None = None,
        call_rounds: CallRounds | None = None,
        flushed: int | None = None,
        backend: TrialBackend | None = None,
        is_afresh: bool = False,
        workers: Pool | None = None,
        value_policy: str = FINITE,
    ):
        self._model = model
        self._threads = threads
        self._database = database
        self._accuracy = accuracy
        self._value_policy = value_policy
        self._percentile = percentile
        self._get_toolchain = get_toolchain
        self._emit = emit
        self._on_trial = on_trial
        self._is_afresh = is_afresh
        self._should_stop = should_stop
        self._ends: dict[str, None] = {}
        self._told = 0
        self._flushed, self._rest = flushed, RestOfModel(model.graph)
        self._backend = backend or self._here((limits or TrialLimits.from_environment()).of_percentile(percentile), workers)
        self.machine = self._backend.machine
        self._tuner = Tuner(database, self._backend, get_toolchain, threads, should_stop)
        self._inputs = inputs
        self._stores: dict[str, ActivationStore] = {}
        self._checked_on = fingerprint(model.hash, inputs, value_policy)
        self._meter = TransitionMeter(
            threads=threads, database=database, backend=self._backend, emit=emit, should_stop=should_stop, get_toolchain=get_toolchain
        )
        self._calls = call_rounds and CallMeter(
            threads=threads, database=database, backend=self._backend, emit=emit, should_stop=should_stop, call_rounds=call_rounds
        )
        self._call_s: dict[str, float] = {}
        self._without_call: dict[CostKey, tuple[_Computation, Record]] = {}
        self._repetitions = RepetitionRounds(self._backend, database, self._repetition_of, percentile, should_stop)
        self._repeated: dict[CostKey, list[float]] = {}
        self._noise = RepetitionNoise()
        self._tell_notes()
        self._targets: dict[str, None] = {}
        self._singles = SingleNodes(model.graph)

    def _here(self, limits: TrialLimits, workers: Pool | None) -> TrialBackend:
        lowest_s = self._database.lowest_core_latency_s(machine_id(), _CORE_LATENCY_HOLDS) or math.inf
        known = Speed(core_latency_s=lowest_s)
        runner = TrialRunner(self._get_toolchain, self._threads, self._accuracy, limits, self._should_stop, known, workers)
        return LocalBackend(runner, self._get_toolchain)

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """As `CostEstimator.estimate`, where no plan is known. Transitions come first: they bound the costs of parts of the model."""
        if any(len(candidate.inside) < len(graph) for candidate in candidates):
            self.transitions(sorted({candidate.target for candidate in candidates}))
        yield from self.measure(candidates)

    def measure(self, candidates: Sequence[CandidatePartition], best_s: float | None = None) -> Iterator[Known]:
        """As `LazyEstimator.measure`; the candidates of one computation come one after another.

        Candidates of an earlier call come once more where the machine turns out to have been slowed down during their trial.

        Raises:
            Cancelled: `should_stop` said so; all measurements so far are kept.
            CollageError: a target is no toolchain, or the disk is full.
        """
        yield from ((c, HOST_COST, False) for c in candidates if c.target == HOST_TARGET)
        computations = self._computations(candidates)
        records = {} if self._is_afresh else self._database.get(computation.key for computation in computations)
        self._learn_noise(records)
        trials, done = [], 0
        for computation in sorted(computations, key=self._order):
            record = records.get(computation.key)
            if record is None or not self._still_holds(record):
                trials.append(computation)
                continue
            done += 1
            yield from self._known(computation, record, from_cache=True)
        self._note_ends(trials)
        yield from self._trials(trials, records, done, len(computations), best_s)

    def build_ahead(self, candidate: CandidatePartition) -> None:
        """As `ProfilingEstimator.build_ahead`."""
        if builds_disturb(self._threads) or not self._availability(candidate.target).usable:
            return
        with suppress(CollageError):
            model = replace(self._model.cut(candidate.inside), tuning=self._tuner.tuning(self.computation_key(candidate)))
            self._backend.build_ahead(TrialTask(candidate.target, model, (), (), None))

    def has_profiler(self, target: str) -> bool:
        """As `ProfilingEstimator.has_profiler`."""
        return isinstance(self._get_toolchain(target), Profiles)

    def profile(self, candidate: CandidatePartition) -> ProfiledPart | None:
        """As `ProfilingEstimator.profile`: the database's, or a new one on the inputs that are timed."""
        nodes, key = list(candidate.inside), self.computation_key(candidate)
        kernels = None if self._is_afresh else self._database.get_profile(key)
        if kernels is None or any(index >= len(nodes) for indices, _ in kernels for index in indices):
            try:
                model = self._model.cut(candidate.inside)
            except CollageError:
                return None
            store = next(iter(self._activations().values()))
            store.fetch(tensor.name for tensor in model.inputs)
            given = [store.file(tensor.name) for tensor in model.inputs]
            taken = self._backend.profile(TrialTask(candidate.target, model, given, (), None))
            kernels = tuple((profiled.nodes, profiled.seconds) for profiled in taken)
            if kernels:
                self._database.put_profile(key, kernels)
        groups = tuple((tuple(nodes[index] for index in indices), seconds) for indices, seconds in kernels if indices)
        return ProfiledPart(candidate, groups, sum(seconds for indices, seconds in kernels if not indices)) if groups else None

    def error_limits(self, candidate: CandidatePartition, ends: Sequence[int]) -> Iterator[ErrorLimit]:
        """As `ProfilingEstimator.error_limits`, on all inputs that candidates are checked on."""
        should_stop = self._should_stop or (lambda: False)
        limits = ErrorLimits(self._model, self._activations(), self._backend, self._accuracy, self._value_policy, should_stop)
        with closing(limits):
            yield from limits.of(candidate.target, candidate.inside, ends)

    def _order(self, computation: _Computation) -> tuple[bool, float, int]:
        """Single nodes first, those that are quick to build first, small before large."""
        size = len(computation.inside)
        return size > 1, self._get_toolchain(computation.target).build_s, size

    def recall(self, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """As `LazyEstimator.recall`: what the database has, and what it says of larger ones."""
        computations = self._computations(candidates)
        records = self._database.get(computation.key for computation in computations)
        self._learn_noise(records)
        for computation in sorted(computations, key=self._order):
            record = records.get(computation.key)
            if record is not None and (record.stopped_early or self._still_holds(record)):
                yield from self._known(computation, record, from_cache=True)

    def repeat(self, candidates: Sequence[CandidatePartition], best_s: float | None = None) -> Iterator[Known]:
        """As `LazyEstimator.repeat`."""
        computations = {computation.key: computation for computation in self._computations(candidates)}
        records = self._database.get(computations)
        measured = {key: one for key, one in computations.items() if key in records}
        self._note_ends(measured.values())
        for key, record in self._repetitions.one_round(measured, records, best_s):
            self._learn_noise({key: record})
            self._tell_notes()
            yield from self._known(*self._as_fast_as_it_can(computations[key], record), from_cache=False)

    @property
    def tunings(self) -> Mapping[str, bytes]:
        """As `TuningEstimator.tunings`."""
        return self._tuner.tunings

    def take(self, candidate: CandidatePartition, tuning: bytes) -> None:
        """As `TuningEstimator.take`."""
        self._tuner.take(self.computation_key(candidate), tuning)

    def tune(self, candidate: CandidatePartition, seconds: float, best_s: float | None = None) -> TunedCosts:
        """As `TuningEstimator.tune`."""
        plain = self.computation_key(candidate)
        before, known_s = self._tuner.tuning(plain), self._recorded_s(self._tuner.with_tuning(plain))
        if known_s is None:
            return TunedCosts(is_done=True)
        found = self._tuner.slice(plain, self._model.cut(candidate.inside), seconds)
        costs: dict[CandidatePartition, Cost] = {}
        if found.tuning != before:
            self._tuner.take(plain, found.tuning)
            try:
                costs = {one: cost for one, cost, _ in self.measure([candidate], best_s)}
            except Cancelled:
                self._tuner.take(plain, before)
                raise
            tuned_s = self._recorded_s(self._tuner.with_tuning(plain))
            if tuned_s is None or tuned_s >= known_s:
                self._tuner.take(plain, before)
                costs = {}
        if before and not costs:  # As known as before, but more was spent on it.
            costs = {one: cost for one, cost, _ in self.measure([candidate], best_s)}
        return TunedCosts(costs, found.trials, found.is_done, found.note)

    def _recorded_s(self, key: CostKey) -> float | None:
        """Return the cost in the database, without a call; None where there is none."""
        record = self._database.get([key]).get(key)
        if record is None:
            return None
        return cost_of(record, self._percentile, "measured", self._noise).judged(self._accuracy).seconds

    def _as_fast_as_it_can(self, computation: _Computation, record: Record) -> tuple[_Computation, Record]:
        """Return `computation` and its `record`, or those with the default schedules where a repetition shows that these are no slower."""
        untuned_s = self._recorded_s(computation.plain) if computation.key != computation.plain else None
        tuned_s = cost_of(record, self._percentile, "measured", self._noise).judged(self._accuracy).seconds
        if untuned_s is None or (tuned_s is not None and tuned_s < untuned_s):
            return computation, record
        self._tuner.take(computation.plain, b"")
        return replace(computation, key=computation.plain), self._database.get([computation.plain])[computation.plain]

    def calls(self, targets: Sequence[str]) -> Iterator[Known]:
        """As `LazyEstimator.calls`."""
        told = [pair for pair in self._without_call.values() if pair[0].target in targets]
        if self._calls is None or not told:
            return
        self._call_s.update(self._calls.measure({name: self._availability(name).version for name in targets}))
        for computation, record in told:
            del self._without_call[computation.key]
            yield from self._known(computation, record, from_cache=False)

    def computation_key(self, candidate: CandidatePartition) -> CostKey:
        """As `LazyEstimator.computation_key`: whatever schedules it is built with."""
        toolchain, target, available = self._get_toolchain(candidate.target), candidate.target, self._availability(candidate.target)
        if isinstance(toolchain, PlainTwin) and toolchain.plain and not has_blocked_end(self._model.graph, candidate.inside):
            target, available = toolchain.plain, self._backend.availability(toolchain.plain)
        weights = self._weights(candidate.inside) if isinstance(toolchain, WeightValues) and toolchain.reads_weights else ""
        computation = self._computation(candidate.inside)
        options = _options(available.precision, self._flushed_bytes(candidate.inside), self._value_policy)
        return CostKey(computation, target, available.version, self._threads, self.machine, options, weights)

    def transitions(self, targets: Sequence[str]) -> TransitionModel:
        """Measured between these targets and the host, or what the database has of them."""
        return self.transitions_between(list(permutations((HOST_TARGET, *targets), 2)))

    def transitions_between(self, pairs: Collection[tuple[str, str]]) -> TransitionModel:
        """As `LazyEstimator.transitions_between`."""
        return self._meter.measure(self._usable(pairs), self._versions(pairs))

    def known_transitions(self, targets: Sequence[str]) -> TransitionModel:
        """As `LazyEstimator.known_transitions`."""
        pairs = list(permutations((HOST_TARGET, *targets), 2))
        return self._meter.recall(self._usable(pairs), self._versions(pairs))

    def _usable(self, pairs: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return those of `pairs` that cost something and can be measured; of those with the host, the copies to and from a device."""
        named = [(pair, [name for name in pair if name != HOST_TARGET]) for pair in pairs]
        usable = [(pair, names) for pair, names in named if all(self._availability(name).usable for name in names)]
        return [
            pair
            for pair, names in usable
            if len(names) == 2 or any(location_of(self._get_toolchain(name)) != HOST_LOCATION for name in names)
        ]

    def _versions(self, pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
        return {name: self._availability(name).version for name in dict.fromkeys(chain(*pairs)) if name != HOST_TARGET}

    def transition(self, maker: str, reader: str, size: int, dtype: str) -> float:
        return self.transitions((maker, reader)).cost_s(maker, reader, size, dtype)

    def close(self) -> None:
        """End the workers, remove the activations, close the database."""
        self._backend.close()
        self._meter.close()
        self._tuner.close()
        if self._calls is not None:
            self._calls.close()
        for store in self._stores.values():
            store.close()
        self._stores.clear()
        self._database.close()
        self._tell_notes()

    def _computations(self, candidates: Sequence[CandidatePartition]) -> list[_Computation]:
        made: dict[CostKey, _Computation] = {}
        for candidate in candidates:
            if candidate.target != HOST_TARGET:
                plain = self.computation_key(candidate)
                made.setdefault(plain, _Computation(self._tuner.with_tuning(plain), plain, [])).candidates.append(candidate)
        return list(made.values())

    def _weights(self, inside: IndexSet) -> str:
        """A digest of the values of all constants that the nodes `inside` read."""
        graph, digest = self._model.graph, hashlib.sha256()
        for name in dict.fromkeys(name for index in inside for name in graph.nodes[index].inputs if name in graph.constants):
            digest.update(np.ascontiguousarray(self._model.constant(name)).tobytes())
        return digest.hexdigest()[:32]

    def _computation(self, inside: IndexSet) -> str:
        return self._model.graph.derive(Computations).key(inside)

    def _availability(self, target: str) -> Availability:
        self._targets[target] = None
        return self._backend.availability(target)

    def _still_holds(self, record: Record, values: str = "") -> bool:
        """Return whether a trial of today would surely tell the same: with as much time, the inputs and the accuracy of today.

        Args:
            values: Digest of the values at the ends of its candidate (`_values_at`), which takes runs of the model to know. Where it is not
                given, only records of this very model count as checked on the inputs of today.
        """
        if record.stopped_early:
            return False
        if record.limit_s is not None:
            return record.stage == "build" and record.limit_s >= self._backend.limits.build_s
        model, _, checked = record.checked_on.partition(" ")
        if record.stage in ("", "numerics") and model != self._checked_on and (not values or checked != values):
            return False
        if record.stage == "numerics" and record.error is not None:
            return record.error > self._accuracy
        return True

    def _is_settled(self, record: Record, budget_s: float | None) -> bool:
        """Return whether a trial that was ended because it was slow would be ended again under the budget of today."""
        if record.stopped_early:
            return budget_s is not None and min(record.samples) > budget_s
        return record.stage == "run" and record.limit_s is not None and record.limit_s >= self._backend.limits.first_run_s(budget_s)

    def _note_ends(self, trials: Iterable[_Computation]) -> None:
        """Note the tensors at the ends of `trials`: the next run of the whole model keeps them."""
        for computation in trials:
            sub_graph = SubGraph(self._model.graph, computation.inside)
            self._ends.update(dict.fromkeys((*sub_graph.input_tensors(), *sub_graph.output_tensors())))

    def _trials(
        self, trials: Sequence[_Computation], records: Mapping[CostKey, Record], done: int, total: int, best_s: float | None
    ) -> Iterator[Known]:
        """Yield the costs of `trials` as the runner ends them; in between, those of computations that need no trial."""
        settled: list[tuple[_Computation, Record, bool]] = []
        waiting: dict[int, _Computation] = {}

        def tasks() -> Iterator[TrialTask]:
            for number, computation in enumerate(trials, done):
                if self._should_stop is not None and self._should_stop():
                    raise Cancelled
                budget = self._budget_s(computation, best_s)
                older = records.get(computation.key)
                record, is_known = self._without_trial(computation, older, budget)
                task = self._task(computation, budget, best_s, is_timed=not _keeps_time(older)) if record is None else record
                if isinstance(task, Record):
                    settled.append((computation, task, is_known))
                else:
                    self._on_trial(computation.candidates[0], number, total, 1)
                    waiting[id(task)] = computation
                    yield task

        for task, record in self._backend.run_all(tasks()):
            yield from self._settled(settled)
            computation = waiting.pop(id(task))
            if not task.is_timed:
                record = _with_time(record, records[computation.key])
            if record.is_lasting:
                self._database.put(computation.key, record)
                self._tell_notes()
            yield from self._known(computation, record, from_cache=False)
        yield from self._settled(settled)

    def _repetition_of(self, computation: _Computation, repetition: int) -> TrialTask | Record:
        self._on_trial(computation.candidates[0], 0, 0, repetition)
        task = self._task(computation, None, None)
        return task if isinstance(task, Record) else replace(task, further=())

    def _settled(self, settled: list[tuple[_Computation, Record, bool]]) -> Iterator[Known]:
        while settled:
            computation, record, is_known = settled.pop(0)
            yield from self._known(computation, record, from_cache=is_known)

    def _without_trial(self, computation: _Computation, older: Record | None, budget_s: float | None) -> tuple[Record | None, bool]:
        """Return the record of a computation that needs no trial, else None, and whether the record is the older one."""
        reason = self._singles.why_refused(computation.inside, computation.target)
        if reason:
            return Record(stage="import", reason=reason), False
        if older is not None and self._is_settled(older, budget_s):
            return older, True
        values = "" if older is None else self._values_at(computation)
        if older is not None and self._still_holds(older, values):  # Another model gave it the same values.
            record = replace(older, checked_on=f"{self._checked_on} {values}")
            self._database.put(computation.key, record)
            return record, True
        return None, False

    def _task(
        self, computation: _Computation, budget_s: float | None, best_s: float | None, *, is_timed: bool = True
    ) -> TrialTask | Record:
        """The trial of a computation, or the record where there is none to be had."""
        available = self._availability(computation.target)
        if not available.usable:
            return Record(stage="device", reason=available.reason)
        stores = self._fetched()
        try:
            model = replace(self._model.cut(computation.inside), tuning=self._tuner.tuning(computation.plain))
        except CollageError as error:
            return Record(stage="import", reason=f"it cannot be cut out of the model: {error.message}")
        first, *further = (
            CheckSet(name, [store.file(tensor.name) for tensor in model.inputs], [store.file(tensor.name) for tensor in model.outputs])
            for name, store in stores.items()
        )
        enough_s = None if best_s is None else best_s * TOO_LITTLE
        what = computation.target, model, first.given, first.wanted
        checked_on = f"{self._checked_on} {self._values_at(computation)}"
        flushed = self._flushed_bytes(computation.inside)
        given = *what, budget_s, enough_s, self._value_policy
        return TrialTask(*given, further=further, checked_on=checked_on, is_timed=is_timed, flushed_bytes=flushed)

    def _flushed_bytes(self, inside: IndexSet) -> int:
        return self._rest.flushed_bytes(inside) if self._flushed is None else self._flushed

    def _values_at(self, computation: _Computation) -> str:
        """Return a digest of what arrives at the ends of a candidate on all sets of inputs, and of how its outputs are compared."""
        sub_graph, digest = SubGraph(self._model.graph, computation.inside), hashlib.sha256(self._value_policy.encode())
        for name, store in self._fetched().items():
            digest.update(name.encode())
            for tensor in (*sub_graph.input_tensors(), *sub_graph.output_tensors()):
                file = store.file(tensor)
                rows = file.rows and (file.rows.axis, file.rows.is_ordered, file.rows.moves)
                digest.update(store.digest(tensor) + f"{file.noise} {rows} {file.step or ''}".rstrip().encode())
        return digest.hexdigest()[:32]

    def _fetched(self) -> Mapping[str, ActivationStore]:
        """As `_activations`, with the files of all tensors that were noted."""
        stores = self._activations()
        for store in stores.values():
            store.fetch(self._ends)
        self._ends.clear()
        return stores

    def _activations(self) -> Mapping[str, ActivationStore]:
        """Return the tensors that arrive at candidates on each set of inputs that they are checked on; the first set is timed."""
        if not self._stores:
            for one in self._model.input_sets(self._inputs, self._value_policy).all:
                self._stores[one.name] = ActivationStore(self._model, one.arrays, allows_noise=one.name == EXTREME)
        return self._stores

    def _known(self, computation: _Computation, record: Record, *, from_cache: bool) -> Iterator[Known]:
        cost = self._cost(computation, record)
        self._singles.learn(computation.inside, computation.target, cost)
        yield from ((candidate, cost, from_cache) for candidate in computation.candidates)

    def _cost(self, computation: _Computation, record: Record) -> Cost:
        """The record as a cost under the accuracy and the percentile asked for, with its call in the assembled module if that is known."""
        cost = cost_of(record, self._percentile, "measured", self._noise).judged(self._accuracy)
        if cost.seconds is None:
            return cost
        call_s = self._known_call_s(computation.target)
        if call_s is None:
            self._without_call[computation.key] = computation, record
        cost = replace(cost, seconds=cost.seconds + (call_s or 0.0))
        untuned_s = None if computation.key == computation.plain else self._recorded_s(computation.plain)
        return cost if untuned_s is None else replace(cost, tuned=self._tuner.told(computation.plain, untuned_s + (call_s or 0.0)))

    def _known_call_s(self, target: str) -> float | None:
        """Return the seconds of a call of `target` if they are known without measuring; 0 where calls count as free."""
        if self._calls is None:
            return 0.0
        if target not in self._call_s:
            self._call_s.update(self._calls.recall({target: self._availability(target).version}))
        return self._call_s.get(target)

    def _learn_noise(self, records: Mapping[CostKey, Record]) -> None:
        """Learn from the repetitions of these records how far costs may be off; the costs told from now on say so."""
        values = {key: repetition_values(record, self._percentile) for key, record in records.items()}
        repeated = {key: each for key, each in values.items() if len(each) > 1}
        if repeated:
            self._repeated |= repeated
            self._noise = RepetitionNoise.of(self._repeated.values())

    def _budget_s(self, computation: _Computation, best_s: float | None) -> float | None:
        """As `SingleNodes.budget_s`, with the transitions between the targets that were asked for."""
        targets = tuple(name for name in self._targets if name != HOST_TARGET)
        are_known = self._meter.model.pairs.keys() >= set(self._usable(list(permutations(targets, 2))))
        return self._singles.budget_s(computation.inside, best_s, self._meter.model if are_known else None, targets)

    def _tell_notes(self) -> None:
        for note in self._database.notes[self._told :]:
            self._emit(Note(note))
        self._told = len(self._database.notes)


def _with_time(record: Record, older: Record) -> Record:
    """Return the record of a computation that was only checked, with the time of the `older` one.

    It keeps its time also where it is wrong on the inputs of today, and the error says so: it may be right on others.
    """
    if not record.stage or (record.stage == "numerics" and record.error is not None):
        return replace(older, error=record.error, checked_on=record.checked_on)
    return record


def _keeps_time(record: Record | None) -> bool:
    """Return whether a record has a time that holds on any inputs, so that a computation need only be checked on those of today."""
    return record is not None and not record.stage and not record.stopped_early
