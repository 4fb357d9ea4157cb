"""Runs packages of ncnn: the description of a package, and its kernel. Needs ncnn and nothing of ONNX's, so that artifacts can run it.

A package enters, which `ncnn_build` made; a kernel leaves. It hands the caller's inputs to ncnn where they lie, unless a layer could
write into them, and copies the outputs. ncnn prints what it does not understand, goes on, and crashes later, so every return code is
checked here.
"""

from __future__ import annotations

import ctypes
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.huge_pages import NewMemory
from ..border import one_line
from ..buffers import ALIGNMENT
from ..toolchain import Kernel, ToolchainError
from .ncnn_network import MatShape

SPIN_COUNT = "1000"
"""How often an idle thread looks for work before it sleeps; longer spinning takes cores from the toolchain that runs next."""

os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
import ncnn  # noqa: E402 - its threads read the variable above when they are loaded

MAGIC = b"collage-ncnn-1\n"

WINOGRAD = ("use_winograd23_convolution", "use_winograd43_convolution", "use_winograd63_convolution")

HINTS = "hints"
"""The option that tells ncnn the shapes of all blobs before it prepares the weights; the others are ncnn's own."""


@dataclass(frozen=True)
class Entry:
    """An input of a package: the index of its blob (None where nothing depends on it), its Mat, and whether ncnn may read it in place."""

    blob: int | None
    shape: MatShape
    in_place: bool


@dataclass(frozen=True)
class Package:
    """Description at the beginning of a package."""

    options: Mapping[str, bool]
    inputs: tuple[Entry, ...]
    outputs: tuple[tuple[int, MatShape], ...]
    text: str
    weights: bytes

    def tops(self) -> list[int]:
        """Return the number of blobs that each layer makes."""
        return [int(line.split()[3]) for line in self.text.splitlines()[2:]]

    def described(self) -> dict[str, Any]:
        """Return all but the text and the weights, as plain data."""
        inputs = [[entry.blob, entry.shape, entry.in_place] for entry in self.inputs]
        return {"options": dict(self.options), "inputs": inputs, "outputs": self.outputs}

    def to_bytes(self) -> bytes:
        written = json.dumps({**self.described(), "text": self.text}).encode()
        return b"".join([MAGIC, len(written).to_bytes(8, "little"), written, self.weights])

    @classmethod
    def from_description(cls, described: Mapping[str, Any], text: str, weights: bytes) -> Package:
        """Raises ValueError, KeyError or TypeError where `described` is not what `described` returned."""
        inputs = tuple(Entry(blob, tuple(shape), in_place) for blob, shape, in_place in described["inputs"])
        outputs = tuple((blob, tuple(shape)) for blob, shape in described["outputs"])
        return cls(described["options"], inputs, outputs, text, weights)

    @classmethod
    def from_bytes(cls, package: bytes) -> Package:
        """Raises ValueError or KeyError where `package` is none."""
        if not package.startswith(MAGIC):
            raise ValueError("this is no package of ncnn")
        start = len(MAGIC) + 8
        end = start + int.from_bytes(package[len(MAGIC) : start], "little")
        header = json.loads(package[start:end])
        return cls.from_description(header, header["text"], package[end:])


def loaded(package: bytes, inputs: int, outputs: int, threads: int) -> Kernel:
    """Return the kernel of `package`, which must have so many inputs and outputs.

    Raises:
        ToolchainError: at stage ``build``.
    """
    return NetworkKernel(read_package(package, inputs, outputs), threads)


def read_package(package: bytes, inputs: int, outputs: int) -> Package:
    """Return `package`, which must have so many inputs and outputs. Raises ToolchainError at stage ``build``."""
    try:
        read = Package.from_bytes(package)
    except (ValueError, KeyError, TypeError) as error:
        raise ToolchainError("build", one_line(error)) from error
    if (len(read.inputs), len(read.outputs)) != (inputs, outputs):
        raise ToolchainError("build", "the package has other inputs or outputs")
    return read


class NetworkKernel:
    """A network of ncnn on the caller's buffers.

    ncnn takes memory from pools that belong to the kernel, so nothing is returned to the system between two runs. After the first run
    they are complete, and go into huge pages. Weights may lie in the pools too: `_net` is the first attribute, since attributes are
    released in their order.
    """

    def __init__(self, package: Package, threads: int):
        self._net = ncnn.Net()
        self._package = package
        self._memory: NewMemory | None = NewMemory()
        self._blobs, self._workspace = ncnn.UnlockedPoolAllocator(), ncnn.PoolAllocator()
        for name, value in option_values(package.options, threads).items():
            setattr(self._net.opt, name, value)
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


def option_values(chosen: Mapping[str, bool], threads: int) -> dict[str, bool | int]:
    """Return ncnn's options by name, with those of a variant as `chosen`; ncnn's defaults are half precision and two threads."""
    lower = [name for name in dir(ncnn.Option) if name.startswith(("use_fp16", "use_bf16", "use_int8", "use_vulkan"))]
    kept = ("lightmode", "use_packing_layout", "use_sgemm_convolution", "use_winograd_convolution", *WINOGRAD)
    own = {name: value for name, value in chosen.items() if name != HINTS}
    return {**dict.fromkeys(lower, False), "num_threads": threads, **dict.fromkeys(kept, True), **own}


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
