"""`TransitionMeter`: measures what a transition costs, the passing of a tensor from one toolchain to another on this machine.

On one CPU nothing is copied: both work on the same buffer. A transition costs time because the reader meets caches and thread pools as
the maker left them. So both toolchains are loaded in one process, each with a tiny kernel of two sizes (a Relu; a matrix product on a
library of calls), and the reader's time right after the maker is compared with its time right after itself, in rounds that take turns;
disturbed rounds are left out (`noise_filter`). The time of a call is no part of it: every measured kernel includes it already, or it is
measured apart (`call_meter`). The difference counts only where the 95 % interval of its median over the rounds is above zero; two sizes
give a fixed part and a part per byte. Between targets of different layouts the reader's time includes the reorder that the assembled
module does there. The dtype makes no difference (docs/measuring.md). The host only passes pointers, and costs nothing.

From the host to a target with the memory of a device, and back, the cost is that of a copy of page-locked memory. Any other transition
of such a target is free: what it reads is in its memory, by a copy that costs already.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from ...base.isolation.worker_errors import WorkerError
from ...errors import CollageError
from ...graph.dataflow_graph import Tensor, TensorType
from ...model.probe import product_model, relu_model
from ...toolchains.abilities import DeviceTensors, layout_of
from ...toolchains.border import build_package, load_kernel, one_line
from ...toolchains.buffers import aligned_empty
from ...toolchains.device_tensors import HOST_LOCATION, DeviceMemory
from ...toolchains.onnx_models.nchwc_models import REORDER_TARGET, reorder_model
from ...toolchains.toolchain import Kernel
from ..cost import Transition, TransitionModel
from ..database.records import MeasuredTransition, TransitionKey
from .difference_rounds import significant_difference, undisturbed_rounds
from .meter import Meter
from .noise_filter import SpeedHistory
from .trial_worker import GetToolchain

SIZES = (4 << 10, 4 << 20)
"""Bytes of the two tensors."""
ROUNDS = 9
_ROUND_S = 0.004
_MOST_RUNS = 50
_TOO_SLOW_S = 0.02


@dataclass(kw_only=True, eq=False)
class TransitionMeter(Meter):
    """Measures each ordered pair of targets once.

    Attributes:
        get_toolchain: Finds a toolchain by name, in the worker; a module-level function.
        model: The transitions that are known so far.
    """

    get_toolchain: GetToolchain

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pairs: dict[tuple[str, str], Transition] = {}
        self.model = TransitionModel(self._pairs)

    def measure(self, pairs: Collection[tuple[str, str]], versions: Mapping[str, str]) -> TransitionModel:
        """Return all transitions that are known once those of `pairs` are (maker, reader).

        A pair that cannot be measured costs nothing, with a note.

        Args:
            versions: Target → its version.

        Raises:
            Cancelled: the user stopped it.
        """
        missing = [pair for pair in pairs if not self._recall(pair, versions)]
        refusals = {target: self._refusal(target) for target in dict.fromkeys(name for pair in missing for name in pair)}
        for pair in missing:
            note = refusals[pair[0]] or refusals[pair[1]]
            measured = MeasuredTransition(note=note) if note else self._measured(*pair)
            self._keep(pair, measured)
            self.database.put_transition(self._key(pair, versions), measured)
        return self.model

    def recall(self, pairs: Collection[tuple[str, str]], versions: Mapping[str, str]) -> TransitionModel:
        """Return all transitions that are known, those of `pairs` that the database has among them; nothing is measured."""
        for pair in pairs:
            self._recall(pair, versions)
        return self.model

    def _recall(self, pair: tuple[str, str], versions: Mapping[str, str]) -> bool:
        if pair in self._pairs:
            return True
        found = self.database.get_transition(self._key(pair, versions))
        if found is not None:
            self._keep(pair, found)
        return found is not None

    def _keep(self, pair: tuple[str, str], measured: MeasuredTransition) -> None:
        self._pairs[pair] = Transition(measured.fixed_s, measured.per_byte_s)
        self._tell(measured.note)

    def _key(self, pair: tuple[str, str], versions: Mapping[str, str]) -> TransitionKey:
        maker, reader = pair
        return TransitionKey(maker, reader, versions.get(maker, ""), versions.get(reader, ""), self.threads, self.backend.machine)

    def _refusal(self, target: str) -> str:
        """Return why the target cannot run the Relu, so that this is met once and not pair by pair; empty where it can."""
        if target == HOST_LOCATION:
            return ""
        try:
            self._call(prepare, self.get_toolchain, target, self.threads)
        except (CollageError, WorkerError) as error:
            return f"transitions to and from {target} cannot be measured and count as free: {one_line(error)}"
        return ""

    def _measured(self, maker: str, reader: str) -> MeasuredTransition:
        try:
            fixed_s, per_byte_s = self._call(measure_pair, self.get_toolchain, maker, reader, self.threads)
        except (CollageError, WorkerError) as error:
            why = one_line(error)
            return MeasuredTransition(note=f"the transition from {maker} to {reader} cannot be measured and counts as free: {why}")
        return MeasuredTransition(fixed_s, per_byte_s)


@dataclass(frozen=True)
class _Relus:
    """A target's Relu, or product, of one size twice: one that writes the tensor that is passed, one that reads it."""

    maker: Kernel
    reader: Kernel


_relus: dict[tuple[str, int], _Relus] = {}
"""In the worker: the kernels that were loaded so far, by target and size."""
_history = SpeedHistory()


def prepare(get_toolchain: GetToolchain, target: str, threads: int) -> None:
    """Load and run the target's kernels in this process."""
    for size in SIZES:
        kernels = _loaded(get_toolchain, target, size, threads)
        kernels.maker.run()
        kernels.reader.run()


def measure_pair(get_toolchain: GetToolchain, maker: str, reader: str, threads: int) -> tuple[float, float]:
    """Return (seconds, seconds per byte) of the transition from `maker` to `reader`."""
    tools = {name: get_toolchain(name) for name in (maker, reader) if name != HOST_LOCATION}
    devices = [tool.memory() for tool in tools.values() if isinstance(tool, DeviceTensors)]
    if devices:
        return fit(*(copy_s(devices[0], size, maker == HOST_LOCATION) for size in SIZES)) if len(tools) == 1 else (0.0, 0.0)
    extra = []
    for size in SIZES:
        one, other = (_loaded(get_toolchain, name, size, threads) for name in (maker, reader))
        layouts = layout_of(get_toolchain(maker)), layout_of(get_toolchain(reader))
        between = _reorder(get_toolchain, size, threads, bool(layouts[1])) if layouts[0] != layouts[1] else None
        extra.append(_extra_s(one.maker if between is None else one.reader, other.maker, other.reader, between))
    return fit(*extra)


def copy_s(memory: DeviceMemory, size: int, to_device: bool) -> float:
    """Return the median seconds of a copy of `size` bytes between page-locked memory of the host and a device, until it is done.

    The device is kept awake: a link was seen to be slower while nothing ran on it.
    """
    kind = TensorType((size,), "uint8")
    at_host, at_device = memory.host_empty(kind), memory.empty(kind)
    source, target = (at_host, at_device) if to_device else (at_device, at_host)
    at_host[...] = 0
    memory.copy(at_host, at_device)
    times = []
    for _ in range(_MOST_RUNS):
        memory.synchronize()
        begin = time.perf_counter()
        memory.copy(source, target)
        memory.synchronize()
        times.append(time.perf_counter() - begin)
    return float(np.median(times[len(times) // 5 :]))


def fit(small_s: float, large_s: float) -> tuple[float, float]:
    """Return the line through the extra seconds at the two sizes, as (seconds, seconds per byte); neither is ever negative."""
    per_byte = max(0.0, (large_s - small_s) / (SIZES[1] - SIZES[0]))
    return max(0.0, small_s - per_byte * SIZES[0]), per_byte


def _extra_s(maker: Kernel, same: Kernel, reader: Kernel, between: Kernel | None = None) -> float:
    """Return the seconds by which `reader` takes longer after `maker` than after `same`, its own toolchain's kernel.

    `between` reorders what `maker` made; its time counts. Zero where a Relu takes so long that a transition would be lost in its noise.
    """
    start = time.perf_counter()
    _round(maker, reader, 1, between)
    once = time.perf_counter() - start
    if once > _TOO_SLOW_S:
        return 0.0
    runs = max(1, min(_MOST_RUNS, int(_ROUND_S / once)))
    return significant_difference(
        undisturbed_rounds(lambda: _round(maker, reader, runs, between) - _round(same, reader, runs), ROUNDS, _history)
    )


def _round(maker: Kernel, reader: Kernel, runs: int, between: Kernel | None = None) -> float:
    """Return the median seconds of `reader`, and of `between` before it, right after `maker`."""
    times = []
    for _ in range(runs):
        maker.run()
        before = time.perf_counter()
        if between is not None:
            between.run()
        reader.run()
        times.append(time.perf_counter() - before)
    return float(np.median(times))


def _loaded(get_toolchain: GetToolchain, target: str, size: int, threads: int) -> _Relus:
    if (target, size) not in _relus:
        toolchain = get_toolchain(target)
        is_library = toolchain.style == "library"
        model = product_model(size // 4) if is_library else relu_model(size // 4, shape=_image(size) if layout_of(toolchain) else ())
        package = build_package(toolchain, model, threads)
        maker, reader = (load_kernel(toolchain, package, model.inputs, model.outputs, threads) for _ in range(2))
        shape = model.inputs[0].type.shape
        first, passed, last = (array.reshape(shape) for array in _buffers(size))
        maker.bind([first], [passed])
        reader.bind([passed], [last])
        _relus[target, size] = _Relus(maker, reader)
    return _relus[target, size]


def _image(size: int) -> tuple[int, int, int, int]:
    """Return the shape of an image of `size` bytes that a blocked target holds blocked."""
    side = 4 if size == SIZES[0] else 32
    return 1, size // 4 // side**2, side, side


@cache
def _reorder(get_toolchain: GetToolchain, size: int, threads: int, to_blocked: bool) -> Kernel:
    """Return a kernel that reorders an image of `size` bytes as the assembled module does, from the last buffer to the one passed."""
    toolchain = get_toolchain(REORDER_TARGET)
    image = Tensor("image", TensorType(_image(size), "float32"))
    model = reorder_model(image, "given", "made", to_blocked)
    kernel = load_kernel(toolchain, build_package(toolchain, model, threads), model.inputs, model.outputs, threads)
    _, passed, last = (array.reshape(_image(size)) for array in _buffers(size))
    kernel.bind([last], [passed])
    return kernel


@cache
def _buffers(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the buffers that the maker reads, that is passed, and that the reader writes; the same for all toolchains."""
    made = [aligned_empty(TensorType((1, size // 4), "float32")) for _ in range(3)]
    for array in made:
        array[...] = np.linspace(-1, 1, size // 4, dtype=np.float32)
    return made[0], made[1], made[2]
