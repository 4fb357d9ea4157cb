"""Makes packages of ncnn and runs them.

A sub-model enters; a package leaves: a network with its weights, and the variant of ncnn's options that was the fastest here. A kernel
hands the caller's inputs to ncnn where they lie, unless a layer could write into them, and copies the outputs.

ncnn prints what it does not understand, goes on, and crashes later. So `ncnn_import` gives it only what it is known to compute right,
and every return code is checked here.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.huge_pages import NewMemory
from ..model.base import SubModel
from .base import Kernel, ToolchainError
from .buffers import ALIGNMENT, aligned_empty
from .ncnn_import import ImportedNetwork, imported
from .ncnn_network import MatShape
from .reasons import one_line

SPIN_COUNT = "1000"
"""How often an idle thread looks for work before it sleeps; longer spinning takes cores from the toolchain that runs next."""

os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
import ncnn  # noqa: E402 - its threads read the variable above when they are loaded

MAGIC = b"collage-ncnn-1\n"

WINOGRAD = ("use_winograd23_convolution", "use_winograd43_convolution", "use_winograd63_convolution")

HINTS = "hints"
"""The option that tells ncnn the shapes of all blobs before it prepares the weights; the others are ncnn's own."""

VARIANTS: Mapping[str, Mapping[str, bool]] = {
    "winograd43": {HINTS: True, "use_winograd23_convolution": False, "use_winograd63_convolution": False},
    "hints": {HINTS: True},
    "plain": {},
    "winograd63": {HINTS: True, "use_winograd23_convolution": False, "use_winograd43_convolution": False},
    "winograd23": {HINTS: True, "use_winograd43_convolution": False, "use_winograd63_convolution": False},
    "direct": {"use_winograd_convolution": False, **dict.fromkeys(WINOGRAD, False)},
}
"""Options that are tried for convolutions, the likeliest winners first, and last the one that the others are compared with; networks
without convolutions have ``plain`` alone."""

MOST_RUNS = 5
LONGEST_S, ALL_S = 0.5, 3.0
"""How often each variant is run to find the fastest, and how long that may take; two runs in any case. After so long in all, once there is
one that is exact enough, those in `LIKELY` get one run each beside their first, and the others none."""

LIKELY = ("winograd43", "hints", "plain", "winograd63")
"""Variants one of which was the fastest for each large network of the samples; the others took 1.2 to 6 times as long."""

HOPELESS, HOPELESS_AT_FIRST = 1.25, 2.0
"""A variant that takes so many times as long as the fastest is run no more: after some runs, and after the first, which is slower."""

LARGEST_ERROR = 1e-5
"""The largest error for each convolution that Winograd's algorithm computes, relative to the largest output of direct convolution, up to
which a variant is taken: errors of deep networks add up. One convolution errs by 1e-6 as F(2,3), by 3e-6 as F(4,3), and by 5e-6 to
3e-5 as F(6,3)."""


@dataclass(frozen=True)
class _Entry:
    """An input of a package: the index of its blob (None where nothing depends on it), its Mat, and whether ncnn may read it in place."""

    blob: int | None
    shape: MatShape
    in_place: bool


@dataclass(frozen=True)
class _Package:
    """Description at the beginning of a package."""

    options: Mapping[str, bool]
    inputs: tuple[_Entry, ...]
    outputs: tuple[tuple[int, MatShape], ...]
    text: str
    weights: bytes

    def tops(self) -> list[int]:
        """Return the number of blobs that each layer makes."""
        return [int(line.split()[3]) for line in self.text.splitlines()[2:]]

    def to_bytes(self) -> bytes:
        header = {
            "options": dict(self.options),
            "inputs": [[entry.blob, entry.shape, entry.in_place] for entry in self.inputs],
            "outputs": self.outputs,
            "text": self.text,
        }
        written = json.dumps(header).encode()
        return b"".join([MAGIC, len(written).to_bytes(8, "little"), written, self.weights])

    @classmethod
    def from_bytes(cls, package: bytes) -> _Package:
        """Raises ValueError or KeyError where `package` is none."""
        if not package.startswith(MAGIC):
            raise ValueError("this is no package of ncnn")
        start = len(MAGIC) + 8
        end = start + int.from_bytes(package[len(MAGIC) : start], "little")
        header = json.loads(package[start:end])
        return cls(
            header["options"],
            tuple(_Entry(blob, tuple(shape), in_place) for blob, shape, in_place in header["inputs"]),
            tuple((blob, tuple(shape)) for blob, shape in header["outputs"]),
            header["text"],
            package[end:],
        )


def fastest_package(model: SubModel, threads: int) -> bytes:
    """Return the package of `model` whose variant is the fastest on this machine.

    Raises:
        ToolchainError: at stage ``import`` or ``build``.
    """
    try:
        network = imported(model)
    except ToolchainError:
        raise
    except Exception as error:  # a sub-model that is broken: ncnn has not seen it
        raise ToolchainError("import", one_line(error)) from error
    packages = {name: _package(network, options) for name, options in VARIANTS.items() if _makes_a_difference(network, name)}
    try:
        return packages[_fastest(packages, model, threads, LARGEST_ERROR * max(1, _winograds(network)))].to_bytes()
    except ToolchainError as error:
        raise ToolchainError("build", error.message) from error


def loaded(package: bytes, inputs: int, outputs: int, threads: int) -> Kernel:
    """Return the kernel of `package`, which must have so many inputs and outputs.

    Raises:
        ToolchainError: at stage ``build``.
    """
    return NetworkKernel(read_package(package, inputs, outputs), threads)


def read_package(package: bytes, inputs: int, outputs: int) -> _Package:
    """Return `package`, which must have so many inputs and outputs. Raises ToolchainError at stage ``build``."""
    try:
        read = _Package.from_bytes(package)
    except (ValueError, KeyError, TypeError) as error:
        raise ToolchainError("build", one_line(error)) from error
    if (len(read.inputs), len(read.outputs)) != (inputs, outputs):
        raise ToolchainError("build", "the package has other inputs or outputs")
    return read


def _makes_a_difference(network: ImportedNetwork, name: str) -> bool:
    """Return whether the variant could change anything in `network`."""
    if name == "plain":
        return True
    if name == "hints":
        return any(layer.type == "Convolution" for layer in network.network.layers)
    return _winograds(network) > 0


def _winograds(network: ImportedNetwork) -> int:
    """Return how many convolutions Winograd's algorithm may compute."""
    convolutions = [layer.parameters for layer in network.network.layers if layer.type == "Convolution"]
    return sum(all(parameters[key] == value for key, value in _WINOGRAD_WINDOW.items()) for parameters in convolutions)


_WINOGRAD_WINDOW = {1: 3, 11: 3, 2: 1, 12: 1, 3: 1, 13: 1}
"""Kernel, dilations and strides of a convolution that Winograd's algorithm computes."""


def _package(network: ImportedNetwork, options: Mapping[str, bool]) -> _Package:
    finished = network.network
    inputs = tuple(
        _Entry(None if blob is None else finished.index_of[blob], shape, blob is not None and finished.may_share(blob))
        for blob, shape in zip(network.inputs, network.shapes, strict=True)
    )
    outputs = tuple(zip(finished.outputs, network.outputs, strict=True))
    return _Package(options, inputs, outputs, finished.text(options.get(HINTS, False)), finished.weights())


def _fastest(packages: Mapping[str, _Package], model: SubModel, threads: int, most_error: float) -> str:
    """Return the variant that runs the fastest; one that errs more than `most_error` is left out. One is loaded at a time.

    Raises:
        ToolchainError: ncnn does not load or run the network.
    """
    random = np.random.default_rng(0)
    inputs = [aligned_empty(tensor.type) for tensor in model.inputs]
    for array in inputs:
        array[...] = random.standard_normal(array.shape)
    start = time.perf_counter()
    *_, exact = _first_run(list(packages.values())[-1], model, inputs, threads)
    seconds: dict[str, float] = {}
    for name, package in packages.items() if len(packages) > 1 else ():
        is_late = bool(seconds) and time.perf_counter() - start > ALL_S
        if is_late and name not in LIKELY:
            continue
        kernel, first_s, outputs = _first_run(package, model, inputs, threads)
        best_s = min(seconds.values(), default=math.inf)
        if _error(outputs, exact) <= most_error and first_s < HOPELESS_AT_FIRST * best_s:
            seconds[name] = _least_s(kernel, best_s, 1 if is_late else MOST_RUNS)
        del kernel
    return min(seconds or packages, key=lambda name: seconds.get(name, 0.0))


def _first_run(
    package: _Package, model: SubModel, inputs: Sequence[np.ndarray], threads: int
) -> tuple[NetworkKernel, float, list[np.ndarray]]:
    """Return the kernel of `package`, the seconds of its first run, and its outputs."""
    kernel, outputs = NetworkKernel(package, threads), [aligned_empty(tensor.type) for tensor in model.outputs]
    kernel.bind(inputs, outputs)
    before = time.perf_counter()
    kernel.run()
    return kernel, time.perf_counter() - before, outputs


def _error(outputs: Sequence[np.ndarray], exact: Sequence[np.ndarray]) -> float:
    """Return the largest difference, relative to the largest element of its output; infinite where that is not a number."""
    errors = [float(np.abs(got - want).max()) / max(float(np.abs(want).max()), 1e-30) for got, want in zip(outputs, exact, strict=True)]
    return max((error if np.isfinite(error) else np.inf for error in errors), default=0.0)


def _least_s(kernel: NetworkKernel, best_s: float, most_runs: int) -> float:
    """Return the least seconds of at most `most_runs` runs, where the fastest variant so far takes `best_s`."""
    least_s, start = math.inf, time.perf_counter()
    for number in range(most_runs):
        before = time.perf_counter()
        if number >= 2 and (before - start > LONGEST_S or least_s > HOPELESS * best_s):
            break
        kernel.run()
        least_s = min(least_s, time.perf_counter() - before)
    return least_s


class NetworkKernel:
    """A network of ncnn on the caller's buffers.

    ncnn takes memory from pools that belong to the kernel, so nothing is returned to the system between two runs. After the first run
    they are complete, and go into huge pages. Weights may lie in the pools too: `_net` is the first attribute, since attributes are
    released in their order.
    """

    def __init__(self, package: _Package, threads: int):
        self._net = ncnn.Net()
        self._package = package
        self._memory: NewMemory | None = NewMemory()
        self._blobs, self._workspace = ncnn.UnlockedPoolAllocator(), ncnn.PoolAllocator()
        _set_options(self._net.opt, package.options, threads)
        self._net.opt.blob_allocator, self._net.opt.workspace_allocator = self._blobs, self._workspace
        reader = _WeightReader(package.weights)
        if self._net.load_param_mem(package.text) != 0 or self._net.load_model(reader) != 0 or reader.position != len(package.weights):
            raise ToolchainError("build", "ncnn does not load the network")
        self._inputs: list[tuple[int, Any, bool]] = []
        self._outputs: list[tuple[int, np.ndarray]] = []
        self._buffers: tuple[np.ndarray, ...] = ()

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        self._inputs = []
        for index, (entry, array) in enumerate(zip(self._package.inputs, inputs, strict=True)):
            if entry.blob is not None:
                mat, is_regular = self._given(index, array, entry.shape)
                self._inputs.append((entry.blob, mat, entry.in_place and is_regular))
        self._outputs = [(blob, array.reshape(shape)) for (blob, shape), array in zip(self._package.outputs, outputs, strict=True)]
        self._buffers = (*inputs, *outputs)

    def run(self) -> None:
        failure = self._run()
        if failure:  # raised here, where no frame of the traceback holds memory of the pools
            raise ToolchainError("run", failure)
        if self._memory is not None:
            self._memory.use_huge_pages()
            self._memory = None

    def layer_seconds(self) -> list[float]:
        """Run one inference layer by layer, and return the seconds of each.

        Raises:
            ToolchainError: a layer failed.
        """
        seconds, failure = self._run_layers()
        if failure:  # as in `run`
            raise ToolchainError("run", failure)
        return seconds

    def _run_layers(self) -> tuple[list[float], str]:
        extractor = self._net.create_extractor()
        for blob, mat, in_place in self._inputs:
            if extractor.input(blob, mat if in_place else mat.clone(self._blobs)) != 0:
                return [], "ncnn does not take an input"
        seconds, top = [], 0
        for tops in self._package.tops():
            begin = time.perf_counter()
            code, _ = extractor.extract(top, 1)  # as it lies: no change of packing is timed
            seconds.append(time.perf_counter() - begin)
            del _  # a layer that works in place copies what somebody else holds
            if code != 0:
                return [], f"ncnn could not run a layer (code {code})"
            top += tops
        return seconds, ""

    def _run(self) -> str:
        """Run one inference, and return what went wrong."""
        extractor = self._net.create_extractor()
        for blob, mat, in_place in self._inputs:
            if extractor.input(blob, mat if in_place else mat.clone(self._blobs)) != 0:
                return "ncnn does not take an input"
        for index, (blob, array) in enumerate(self._outputs):
            failure = self._made(extractor, index, blob, array)
            if failure:
                return failure
        return ""

    def _given(self, index: int, array: np.ndarray, shape: MatShape) -> tuple[Any, bool]:
        """Return the Mat over the input `index`, and whether its memory is laid out as ncnn itself would."""
        return ncnn.Mat(array.reshape(shape)), _is_regular(array, shape)

    def _made(self, extractor: Any, index: int, blob: int, array: np.ndarray) -> str:
        """Compute the output `index` into `array`, and return what went wrong."""
        code, mat = extractor.extract(blob)
        if code != 0:
            return f"ncnn could not run the network (code {code})"
        made = np.asarray(mat)
        if made.shape != array.shape:
            return f"ncnn made an output of shape {list(made.shape)}, not {list(array.shape)}"
        array[...] = made
        return ""


def _is_regular(array: np.ndarray, shape: MatShape) -> bool:
    """Return whether ncnn itself would have laid out the memory of `array` so: aligned, and no gap between channels."""
    return array.ctypes.data % ALIGNMENT == 0 and (len(shape) < 3 or shape[0] == 1 or int(np.prod(shape[1:])) % 4 == 0)


def _set_options(options: Any, chosen: Mapping[str, bool], threads: int) -> None:
    """Set every option that decides about precision, threads and speed; ncnn's defaults are half precision and two threads."""
    for name in dir(options):
        if name.startswith(("use_fp16", "use_bf16", "use_int8", "use_vulkan")):
            setattr(options, name, False)
    options.num_threads = threads
    options.lightmode = True
    options.use_packing_layout = True
    options.use_sgemm_convolution = True
    options.use_winograd_convolution = True
    for name in WINOGRAD:
        setattr(options, name, True)
    for name, value in chosen.items():
        if name != HINTS:
            setattr(options, name, value)


_address = ctypes.pythonapi.PyCapsule_GetPointer
_address.restype, _address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class _WeightReader(ncnn.DataReader):
    """Gives ncnn its weights from memory.

    Attributes:
        position: How many bytes were read.
    """

    def __init__(self, weights: bytes):
        super().__init__()
        self.position = 0
        self._weights = weights

    def scan(self, *_unused: Any) -> int:
        return 0

    def read(self, buffer: Any, size: int) -> int:
        part = self._weights[self.position : self.position + size]
        ctypes.memmove(_address(buffer, None), part, len(part))
        self.position += len(part)
        return len(part)
