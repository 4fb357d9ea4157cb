"""Tunes TVM's PrimFuncs by MetaSchedule: an evolutionary search over schedules, each built and timed in this very process.

A module after fusion enters, with what is known of its kernels; faster schedules leave as traces, with what the search took. The
process may crash or hang in a kernel, so all of it belongs in a worker. Nothing is kept here but the searches that were begun last,
which the next slice of the same kernel continues; where they are gone, a search begins again from the fastest schedule that is known.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np
import tvm
from tvm.s_tir import Schedule, meta_schedule
from tvm.s_tir.meta_schedule.arg_info import ArgInfo
from tvm.s_tir.meta_schedule.cost_model import RandomModel
from tvm.s_tir.meta_schedule.database import MemoryDatabase, TuningRecord
from tvm.s_tir.meta_schedule.runner import RunnerResult
from tvm.s_tir.meta_schedule.search_strategy import EvolutionarySearch
from tvm.s_tir.schedule import Trace
from tvm.tirx import PrimFunc
from tvm.tirx.buffer import BufferType

from ..border import one_line
from ..toolchain import ToolchainError
from ..tuning import MOST_TRIALS, TunedKernel, Tuning, Workload, begin_trial
from .tvm_build import cpu_target
from .tvm_replay import checked, target_text, workload_of
from .tvm_schedule import scheduled

SLICE = 16
"""Trials of a slice: so many schedules are picked at once."""
MARGIN = 0.97
"""A schedule is faster than the default one if it takes less than this share of its time: timings differ by as much."""
_HOPELESS = 4.0
"""A schedule that takes so many times as long as the fastest one is timed once."""
_SAMPLES, _SAMPLE_S, _MOST_RUNS = 5, 1e-3, 1000
_KEPT = 4
_SEED = 1

log = logging.getLogger(__name__)


def workloads_of(module: tvm.IRModule) -> list[Workload]:
    """Return the kernels of an unscheduled `module`, each once."""
    here = target_text()
    return [Workload(name, here) for name in _kernels(module)]


def tuned(module: tvm.IRModule, threads: int, seconds: float, known: bytes) -> Tuning:
    """Try about `SLICE` schedules of the kernel of `module` that could gain most, and return all its kernels.

    Args:
        module: Unscheduled, as its ``main`` calls it.
        seconds: No further schedule is tried after them.
        known: As `Tunes.tune` takes it.

    Raises:
        ToolchainError: a record is for another target.
    """
    begin, records = time.perf_counter(), checked(known)
    functions, calls = _kernels(module), _calls(module)
    if not functions:
        raise ToolchainError("build", "TVM makes no kernel of it that can be tuned")
    with cpu_target(threads):
        kernels = {name: records.get(name) or _default(name, function) for name, function in functions.items()}
        open_ = {name: kernel for name, kernel in kernels.items() if kernel.trials < MOST_TRIALS}
        trials = 0
        if open_:
            chosen = max(open_, key=lambda name: calls[name] * open_[name].seconds / (1 + open_[name].trials))
            search = _search(functions[chosen], threads, kernels[chosen])
            kernels[chosen] = search.slice(begin + seconds)
            trials = kernels[chosen].trials - open_[chosen].trials
    took_s = time.perf_counter() - begin
    if trials:
        kernels[chosen] = replace(kernels[chosen], spent_s=open_[chosen].spent_s + took_s)
    before_s = sum(calls[name] * kernel.default_s for name, kernel in kernels.items())
    after_s = sum(calls[name] * kernel.seconds for name, kernel in kernels.items())
    return Tuning(tuple(kernels.values()), trials, took_s, before_s, after_s)


def _kernels(module: tvm.IRModule) -> dict[str, PrimFunc]:
    """Return workload → PrimFunc of those that take buffers of known shape and can be scheduled."""
    kernels = {}
    for function in module.functions.values():
        if isinstance(function, PrimFunc) and _is_static(function) and _can_be_scheduled(function):
            kernels[workload_of(function)] = function
    return dict(sorted(kernels.items()))


def _calls(module: tvm.IRModule) -> Counter[str]:
    """Return workload → how often ``main`` calls it."""
    names = {name.name_hint: workload_of(function) for name, function in module.functions_items() if isinstance(function, PrimFunc)}
    values = [binding.value for block in module["main"].body.blocks for binding in block.bindings]
    called = [value.args[0].name_hint for value in values if getattr(getattr(value, "op", None), "name", "") == "relax.call_tir"]
    return Counter(names[name] for name in called)


def _is_static(function: PrimFunc) -> bool:
    kinds = [parameter.ty for parameter in function.params]
    return all(isinstance(kind, BufferType) and all(isinstance(extent, tvm.tirx.IntImm) for extent in kind.shape) for kind in kinds)


def _can_be_scheduled(function: PrimFunc) -> bool:
    try:
        schedule = Schedule(_module(function))
        return bool(schedule.get_child_blocks(schedule.get_sblock("root")))
    except Exception as error:  # noqa: BLE001 - not in the form that schedules need, such as a call to a sort
        log.debug("not tuned: %s", one_line(error))
        return False


def _module(function: PrimFunc) -> tvm.IRModule:
    return tvm.IRModule({"main": function.with_attr("global_symbol", "main")})


def _default(workload: str, function: PrimFunc) -> TunedKernel:
    """Return the record of a kernel of which nothing is known but its default schedule, which is timed."""
    seconds = _Timer(function).seconds(_module(scheduled(function)), math.inf)
    return TunedKernel(workload, target_text(), "", seconds, seconds, 0, 0.0)


class _Timer:
    """Builds and runs schedules of one function in this process."""

    def __init__(self, function: PrimFunc):
        random = np.random.default_rng(_SEED)
        self._arguments = [tvm.runtime.tensor(_values(random, parameter.ty)) for parameter in function.params]

    def seconds(self, module: tvm.IRModule, best_s: float) -> float:
        """Return the median seconds of a run of `module`; of its second run alone where that is hopelessly long beside `best_s`."""
        run = tvm.compile(module, tvm.target.Target.current())["main"]
        run(*self._arguments)
        began = time.perf_counter()
        run(*self._arguments)
        once_s = time.perf_counter() - began
        if once_s > _HOPELESS * best_s:
            return once_s
        runs = max(1, min(_MOST_RUNS, round(_SAMPLE_S / max(once_s, 1e-7))))
        return median(self._sample(run, runs) for _ in range(_SAMPLES))

    def _sample(self, run: Any, runs: int) -> float:
        began = time.perf_counter()
        for _ in range(runs):
            run(*self._arguments)
        return (time.perf_counter() - began) / runs


def _values(random: np.random.Generator, kind: Any) -> np.ndarray:
    shape, dtype = [int(extent.value) for extent in kind.shape], str(kind.dtype)
    if dtype.startswith("float"):
        return random.random(shape).astype(dtype)
    return np.zeros(shape, dtype)  # a valid index, whatever it is an index of


@dataclass
class _Search:
    """The evolutionary search for schedules of one kernel.

    Attributes:
        candidates: The batch of schedules that is tried.
        results: Those of the first of them, as far as they were tried.
    """

    kernel: TunedKernel
    context: Any
    database: Any
    workload: Any
    timer: _Timer
    candidates: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)

    def slice(self, until: float) -> TunedKernel:
        """Try what is left of the batch or a new one, less where the time is over, and return the kernel as it is known now."""
        if not self.candidates:
            self.candidates = list(self.context.generate_measure_candidates() or ())
        if not self.candidates:  # The whole space was tried.
            self.kernel = replace(self.kernel, trials=MOST_TRIALS)
            return self.kernel
        for candidate in self.candidates[len(self.results) :]:
            self.results.append(self._tried(candidate))
            if time.perf_counter() > until:
                break
        if len(self.results) == len(self.candidates):
            self.context.notify_runner_results(self.candidates, self.results)
            self.candidates, self.results = [], []
        return self.kernel

    def _tried(self, candidate: Any) -> Any:
        """Build and time a schedule; keep it if it is the fastest by more than timings differ."""
        kernel = self.kernel = replace(self.kernel, trials=self.kernel.trials + 1)
        begin_trial(kernel)
        try:
            seconds = self.timer.seconds(candidate.sch.mod, kernel.seconds)
        except Exception as error:  # noqa: BLE001 - a schedule that TVM cannot build is one that is not taken
            log.debug("a schedule is left out: %s", one_line(error))
            return RunnerResult(None, one_line(error))
        record = TuningRecord(candidate.sch.trace, self.workload, [seconds], self.context.target, candidate.args_info)
        self.database.commit_tuning_record(record)
        if seconds < min(kernel.seconds, MARGIN * kernel.default_s):
            trace = json.dumps(_plain(candidate.sch.trace.as_json()), separators=(",", ":"))
            self.kernel = replace(kernel, trace=trace, seconds=seconds)
        return RunnerResult([seconds], None)


_searches: OrderedDict[tuple[str, int], _Search] = OrderedDict()


def _search(function: PrimFunc, threads: int, kernel: TunedKernel) -> _Search:
    """Return the search for `kernel`: the one that was begun in this process, if it has got just as far, or a new one."""
    key = kernel.workload, threads
    begun = _searches.pop(key, None)
    if begun is None or begun.kernel.trials != kernel.trials:
        begun = _new_search(function, threads, kernel)
    begun.kernel = kernel
    _searches[key] = begun
    while len(_searches) > _KEPT:
        _searches.popitem(last=False)
    return begun


def _load_own_intrinsics() -> None:
    """Load the tensor intrinsics of this kind of processor, and keep TVM from loading those of all others, which takes it 17 s."""
    name = "tvm.s_tir.tensor_intrin"
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(Path(tvm.__file__).parent / "s_tir" / "tensor_intrin")]
        sys.modules[name] = package
        import_module(f"{name}.x86" if "x86" in tvm.target.codegen.llvm_get_system_triple() else f"{name}.arm_cpu")


def _new_search(function: PrimFunc, threads: int, kernel: TunedKernel) -> _Search:
    _load_own_intrinsics()
    module = _module(function)
    context = meta_schedule.TuneContext(
        module,
        target=cpu_target(threads),
        space_generator="post-order-apply",
        search_strategy=EvolutionarySearch(population_size=32, init_min_unmeasured=24, genetic_num_iters=2),
        task_name=kernel.workload,
        rand_state=_SEED + kernel.trials,
        num_threads=1,
        logger=log,
    )
    database = MemoryDatabase()
    workload = database.commit_workload(module)
    if kernel.trace:
        schedule = Schedule(module)
        Trace.apply_json_to_schedule(json.loads(kernel.trace), schedule)
        arguments = ArgInfo.from_prim_func(function)
        database.commit_tuning_record(TuningRecord(schedule.trace, workload, [kernel.seconds], context.target, arguments))
    model = RandomModel(seed=_SEED + kernel.trials)
    context.pre_tuning(max(SLICE, MOST_TRIALS - kernel.trials), SLICE, database=database, cost_model=model)
    return _Search(kernel, context, database, workload, _Timer(function))


def _plain(value: Any) -> Any:
    """Return a trace's JSON as Python's own lists, numbers and text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str | bytes):
        return str(value)
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    return int(value.value) if isinstance(value, tvm.tirx.IntImm) else float(value)
