"""Functions of oneDNN's C interface that `onednn` calls, by ctypes: the wheel brings the library and no headers.

Numbers and signatures are those of oneDNN 3.2. Descriptors, memories and primitives are `Handle`s, which are destroyed with the last
reference to them. Only `library_path` may be called where the library must not be loaded.

The last functions write the text with which ``onednn_calls.c`` makes a primitive again in a kernel of TVM's: numbers in the order in which
it reads them. A layout is its form, its extents and, where they are given, its strides. Floats stand as the integers of their bits.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import POINTER, Structure, byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint, c_void_p
from functools import cache
from importlib import metadata
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np

from ..toolchain import ToolchainError

PACKAGE = "onednn-cpu-gomp"
FILE = "libdnnl.so.3"
SPIN_COUNT = "1000"
"""As for ncnn: how often an idle thread of GNU's OpenMP looks for work before it sleeps."""

CPU, IN_ORDER, INFERENCE, FLOAT32, ANY_FORMAT = 1, 1, 96, 3, 1
CONVOLUTION_DIRECT = 1
SOURCE, DESTINATION, WEIGHTS, BIAS = 1, 17, 33, 41
"""Arguments of a primitive."""
_DESCRIPTOR_OF: Mapping[int, int] = {SOURCE: 129, WEIGHTS: 131, DESTINATION: 133}
"""Argument → the query for its memory descriptor."""
_AXES, _STRIDES, _PADDED, _BLOCK_COUNT, _BLOCKS, _BLOCK_AXES = 256, 14, 260, 263, 264, 265
"""Queries of what a memory descriptor says."""
_ALLOCATE = c_void_p(-1)
_MOST_AXES = 12
_STATUS = {1: "out of memory", 2: "invalid arguments", 3: "it is not implemented", 5: "it failed as it ran"}
Extents = c_int64 * _MOST_AXES


PostOperation = tuple[str, tuple[Any, ...]]
"""Name of the function that appends it, and its arguments."""
Step = tuple[Any, ...]
"""One execution of a primitive: the arguments of the library's function."""


class ExecArgument(Structure):
    """One argument of a primitive: which it is, and its memory."""

    _fields_ = (("argument", c_int), ("memory", c_void_p))


class Handle:
    """An object of the library, destroyed with the last reference to it."""

    def __init__(self, pointer: c_void_p, destroy: Callable[[c_void_p], int]):
        self.pointer = pointer
        self._destroy = destroy

    def __del__(self) -> None:
        self._destroy(self.pointer)


def library_path() -> Path | None:
    """Return the library in the wheel; None where that is not installed. Nothing is loaded."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.name == FILE), None)


class OneDnn:
    """The library, with one engine and one stream: its kernels run one after another."""

    def __init__(self, path: Path):
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
        self._library = ctypes.CDLL(str(path))
        self._threads = ctypes.CDLL("libgomp.so.1").omp_set_num_threads
        self._library.dnnl_primitive_desc_query_md.restype = c_void_p
        self._library.dnnl_memory_desc_get_size.restype = c_size_t
        self._execute = self._library.dnnl_primitive_execute
        self._execute.argtypes = [c_void_p, c_void_p, c_int, POINTER(ExecArgument)]
        self._engine = self.made("engine", "engine_create", c_int(CPU), c_size_t(0))
        self._stream = self.made("stream", "stream_create", self._engine, c_uint(IN_ORDER))

    def made(self, kind: str, function: str, *arguments: Any) -> Handle:
        """Return what `function` creates, which ``dnnl_<kind>_destroy`` destroys.

        Raises:
            ToolchainError: it fails, at stage ``build``.
        """
        pointer = c_void_p()
        given = [argument.pointer if isinstance(argument, Handle) else argument for argument in arguments]
        self._check(getattr(self._library, f"dnnl_{function}")(byref(pointer), *given), function)
        destroy = getattr(self._library, f"dnnl_{kind}_destroy")
        destroy.argtypes = [c_void_p]
        return Handle(pointer, destroy)

    @staticmethod
    def _check(status: int, function: str) -> None:
        if status:
            raise ToolchainError("build", f"oneDNN fails in {function}: {_STATUS.get(status, f'status {status}')}")

    def plain(self, shape: Sequence[int], strides: Sequence[int] | None = None) -> Handle:
        """Return the descriptor of a float32 tensor whose elements are `strides` apart; in C's order unless given."""
        steps = strides or [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
        return self.made("memory_desc", "memory_desc_create_with_strides", len(shape), Extents(*shape), FLOAT32, Extents(*steps))

    def any_layout(self, shape: Sequence[int]) -> Handle:
        """Return the descriptor of a float32 tensor whose layout the primitive may choose."""
        return self.made("memory_desc", "memory_desc_create_with_tag", len(shape), Extents(*shape), FLOAT32, ANY_FORMAT)

    def attributes(self, post_operations: Sequence[PostOperation]) -> Handle:
        """Return the attributes of a primitive that computes `post_operations`, given as (function, arguments), on its result."""
        chain = self.made("post_ops", "post_ops_create")
        for name, arguments in post_operations:
            self._check(getattr(self._library, f"dnnl_post_ops_append_{name}")(chain.pointer, *arguments), name)
        attributes = self.made("primitive_attr", "primitive_attr_create")
        self._check(self._library.dnnl_primitive_attr_set_post_ops(attributes.pointer, chain.pointer), "primitive_attr_set_post_ops")
        return attributes

    def descriptor(self, function: str, *arguments: Any) -> Handle:
        """Return the descriptor of a primitive on this engine."""
        return self.made("primitive_desc", f"{function}_primitive_desc_create", self._engine, *arguments)

    def layout(self, descriptor: Handle, argument: int) -> c_void_p:
        """Return the memory descriptor of an argument of a primitive, which belongs to `descriptor`."""
        return c_void_p(self._library.dnnl_primitive_desc_query_md(descriptor.pointer, _DESCRIPTOR_OF[argument], 0))

    def layout_numbers(self, layout: c_void_p) -> list[int]:
        """Return what tells a layout from any other: its rank, padded extents, strides, and its inner blocks with their axes."""
        axes, count = (self._queried(layout, query, c_int).value for query in (_AXES, _BLOCK_COUNT))
        lists = [(_PADDED, axes), (_STRIDES, axes), (_BLOCKS, count), (_BLOCK_AXES, count)]
        padded, strides, blocks, of = (self._queried(layout, query, POINTER(c_int64))[:length] for query, length in lists)
        return [axes, *padded, *strides, count, *blocks, *of]

    def _queried(self, layout: c_void_p, query: int, kind: Any) -> Any:
        found = kind()
        self._check(self._library.dnnl_memory_desc_query(layout, query, byref(found)), "memory_desc_query")
        return found

    def reordered(self, values: np.ndarray, plain: Handle, layout: c_void_p) -> np.ndarray:
        """Return `values`, which lie as `plain` says, in the layout `layout`, as a list of float32."""
        given = np.ascontiguousarray(values)
        if self.equal(plain.pointer, layout):
            return given.reshape(-1)
        made = np.zeros(self._library.dnnl_memory_desc_get_size(layout) // given.itemsize, given.dtype)
        memories = [self.memory_of_caller(one) for one in (plain.pointer, layout)]
        for memory, array in zip(memories, (given, made), strict=True):
            self.use(memory, array)
        primitive = self.reorder(plain.pointer, layout)
        if self._execute(*self.step(primitive, dict(zip((SOURCE, DESTINATION), memories, strict=True)))):
            raise ToolchainError("build", "oneDNN fails in primitive_execute")
        return made

    def equal(self, one: c_void_p, other: c_void_p) -> bool:
        """Return whether two memory descriptors describe the same layout."""
        return bool(self._library.dnnl_memory_desc_equal(one, other))

    def primitive(self, descriptor: Handle) -> Handle:
        return self.made("primitive", "primitive_create", descriptor)

    def reorder(self, source: c_void_p, destination: c_void_p) -> Handle:
        """Return a primitive that copies a tensor from one layout into another."""
        primitive = self.made("primitive_desc", "reorder_primitive_desc_create", source, self._engine, destination, self._engine, None)
        return self.primitive(primitive)

    def memory(self, layout: c_void_p) -> Handle:
        """Return memory of that layout, which the library allocates."""
        return self.made("memory", "memory_create", layout, self._engine, _ALLOCATE)

    def memory_of_caller(self, layout: c_void_p) -> Handle:
        """Return memory of that layout without a buffer, which `use` sets."""
        return self.made("memory", "memory_create", layout, self._engine, None)

    def use(self, memory: Handle, array: np.ndarray) -> None:
        """Let `memory` be that of `array`, which outlives its use."""
        self._check(self._library.dnnl_memory_set_data_handle(memory.pointer, c_void_p(array.ctypes.data)), "memory_set_data_handle")

    def step(self, primitive: Handle, memories: Mapping[int, Handle]) -> Step:
        """Return one execution of `primitive` on `memories`, by argument, as `runner` takes it."""
        arguments = (ExecArgument * len(memories))(*(ExecArgument(argument, memory.pointer) for argument, memory in memories.items()))
        return primitive.pointer, self._stream.pointer, len(memories), arguments

    def use_threads(self, threads: int) -> None:
        """Let the primitives that this thread of the process makes and runs use `threads` threads."""
        self._threads(threads)

    def runner(self, steps: Sequence[Step], threads: int) -> Callable[[], None]:
        """Return a function that executes `steps` in order, with `threads` threads whichever thread of the process calls it.

        The function raises ToolchainError where one fails, at stage ``run``.
        """
        execute, steps, known = self._execute, tuple(steps), get_ident()

        def run() -> None:
            nonlocal known
            if get_ident() != known:
                known = get_ident()
                self.use_threads(threads)
            for step in steps:
                if execute(*step):
                    raise ToolchainError("run", "oneDNN fails in primitive_execute")

        return run


def eltwise(algorithm: int, alpha: float = 0.0, beta: float = 0.0) -> PostOperation:
    """Return an elementwise function as a post-operation."""
    return "eltwise", (algorithm, c_float(alpha), c_float(beta))


def added() -> PostOperation:
    """Return the post-operation that adds the result to what stands in the destination."""
    return "sum", (c_float(1.0), c_int32(0), FLOAT32)


@cache
def onednn() -> OneDnn:
    """Return the library, loaded once in a process.

    Raises:
        ToolchainError: it cannot be loaded, at stage ``build``.
    """
    path = library_path()
    if path is None:
        raise ToolchainError("build", f"the package {PACKAGE} is not installed")
    try:
        return OneDnn(path)
    except OSError as error:
        raise ToolchainError("build", f"oneDNN cannot be loaded: {error}") from error


MOST_AXES = 12
"""``MOST_AXES`` of ``library_calls.h``."""
NO_LAYOUT, CHOSEN, GIVEN = 0, 1, 2
KINDS = {"Conv": 0, "Gemm": 1, "MatMul": 2}


def chosen(shape: Sequence[int]) -> list[int]:
    """Return a layout that the primitive chooses."""
    return [CHOSEN, len(shape), *shape]


def given(shape: Sequence[int], strides: Sequence[int] | None = None) -> list[int]:
    """Return a layout whose elements are `strides` apart; in C's order unless given."""
    steps = strides or [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    return [GIVEN, len(shape), *shape, *steps]


def post_numbers(operations: Sequence[PostOperation]) -> list[int]:
    """Return how many post-operations there are and, of each, the algorithm and its two numbers; 0 for a sum."""
    return [len(operations), *(number for name, arguments in operations for number in _post(name, arguments))]


def _post(name: str, arguments: Sequence[Any]) -> Iterator[int]:
    if name == "sum":
        yield 0
        return
    algorithm, alpha, beta = arguments
    yield algorithm
    for value in (alpha, beta):
        yield int(np.float32(value.value).view(np.uint32))
