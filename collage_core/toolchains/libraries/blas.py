"""The toolchain `blas`: products of matrices by ``cblas_sgemm`` of an OpenBLAS, with what is added to them.

The library is the one in SciPy's wheel, or the system's (Debian's ``libopenblas0``). It is loaded by ctypes, in `build` and `load` alone;
kernels of TVM's call it by ``blas_calls.c``.
Its number of threads is one for the whole process, SciPy's own calls included.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from ctypes import c_float, c_int, c_void_p
from ctypes.util import find_library
from dataclasses import dataclass
from functools import cache
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np

from ...base.isolation.environment import OPENBLAS_IDLE
from ...graph.dataflow_graph import DataflowGraph, Node
from ...rules.operators import type_of
from ..toolchain import Availability, ToolchainError
from .library_functions import Bind, LibraryCall, LibraryFunctions, LibraryToolchain, Run
from .native_call import NativeCall

CALLS_VERSION = "+collage.1"
"""Version of the calls here, which the toolchain's version ends with. Count up when kernels change, so that
their costs are measured again."""
HINT = "pip install scipy, whose wheels bring one, or apt install libopenblas0"
FUNCTIONS = LibraryFunctions("float32")

CALLS_IN_C = Path(__file__).with_name("blas_calls.c")
VARIABLE = "COLLAGE_OPENBLAS"
"""The variable of the environment that names the library to ``blas_calls.c``."""
FAILURES = (f"OpenBLAS cannot be loaded: set {VARIABLE} to its file", "OpenBLAS fails")
_ROW_MAJOR, _PLAIN, _TRANSPOSED = 101, 111, 112
_MOST_AXES = 12
"""``MOST_AXES`` of ``library_calls.h``."""


class BlasToolchain(LibraryToolchain):
    """Takes products with one matrix, in float32, and the sum with another tensor behind them."""

    name = "blas"
    letter = "L"
    distributions = ("scipy",)
    functions = FUNCTIONS

    def availability(self) -> Availability:
        library = _library()
        if library is None:
            return Availability(False, reason="no OpenBLAS was found", hint=HINT, precision="float32")
        return Availability(True, library[2] + CALLS_VERSION, precision="float32")

    def environment(self) -> dict[str, str]:
        library = _library()
        return {VARIABLE: library[0]} if library else {}

    def native_call(self, call: LibraryCall) -> NativeCall | None:
        found, terms = _library(), _terms(call)
        made = call.nodes[-1].outputs[0].type.shape
        if found is None or len(made) > _MOST_AXES:
            return None
        words = (("LIBRARY", found[0]), ("PREFIX", found[1]), ("IDLE", OPENBLAS_IDLE[1]))
        names = (*terms.factors, terms.summand or terms.factors[0])
        operands = tuple(np.ascontiguousarray(call.weights[name]) if name in call.weights else name for name in names)
        return NativeCall(CALLS_IN_C, words, " ".join(map(str, _numbers(call, terms, made))), operands, FAILURES)


@cache
def _library() -> tuple[str, str, str] | None:
    """Return file, prefix of the functions' names, and version of the library; None where there is none. Nothing is loaded."""
    scipy = util.find_spec("scipy")
    if scipy is not None and scipy.origin:
        files = sorted((Path(scipy.origin).parent.parent / "scipy.libs").glob("libscipy_openblas-*.so"))
        if files:
            return str(files[0]), "scipy_", f"scipy-{metadata.version('scipy')}"
    name = find_library("openblas")
    return (name, "", name) if name else None


@cache
def _functions() -> tuple[Any, Any]:
    """Return ``cblas_sgemm`` and the function that sets the number of threads.

    Raises:
        ToolchainError: the library cannot be loaded, at stage ``build``.
    """
    os.environ.setdefault(*OPENBLAS_IDLE)
    found = _library()
    if found is None:
        raise ToolchainError("build", "no OpenBLAS was found")
    try:
        library = ctypes.CDLL(found[0])
        return library[f"{found[1]}cblas_sgemm"], library[f"{found[1]}openblas_set_num_threads"]
    except (OSError, AttributeError) as error:
        raise ToolchainError("build", f"OpenBLAS cannot be loaded: {error}") from error


def refusal(graph: DataflowGraph, nodes: Sequence[Node]) -> str:
    """Return why the library does not take the product, and the sum behind it, that `nodes` are; empty where it does."""
    shapes = [kind.shape for kind in (type_of(graph, name) for name in nodes[0].inputs) if kind is not None]
    if len(shapes[0]) < 2 or len(shapes[1]) != 2:
        return "the second factor is no matrix"
    if any(0 in shape for shape in shapes):
        return "a tensor without elements"
    if len(nodes) > 1 and nodes[1].outputs[0].type.shape != nodes[0].outputs[0].type.shape:
        return "what is added makes the product larger"
    return "a product that is added to itself" if len(nodes) > 1 and len(set(nodes[1].inputs)) == 1 else ""


@dataclass(frozen=True)
class _Terms:
    """The arguments of ``cblas_sgemm`` in a call.

    Attributes:
        factors: Names of the two factors.
        summand: Name of what is added; empty where there is nothing.
        turned: Whether each factor is transposed.
        rows, columns, depth: Of the product.
        alpha, beta: Scales of the product and of what is added.
    """

    factors: tuple[str, str]
    summand: str
    turned: tuple[bool, bool]
    rows: int
    columns: int
    depth: int
    alpha: float
    beta: float


def _terms(call: LibraryCall) -> _Terms:
    first, shape = call.nodes[0], call.nodes[-1].outputs[0].type.shape
    summands = [*first.inputs[2:], *(name for node in call.nodes[1:] for name in node.inputs if name != first.outputs[0].name)]
    summand = next(filter(None, summands), "")
    turned = bool(first.attributes.get("transA", 0)), bool(first.attributes.get("transB", 0))
    depth = call.types[first.inputs[1]].shape[1 if turned[1] else 0]
    scales = first.attributes.get("alpha", 1.0), first.attributes.get("beta", 1.0) if summand else 0.0
    rows = int(np.prod(shape[:-1]))
    return _Terms((first.inputs[0], first.inputs[1]), summand, turned, rows, shape[-1], depth, *scales)


def _numbers(call: LibraryCall, terms: _Terms, made: Sequence[int]) -> list[int]:
    """Return the numbers that ``blas_calls.c`` reads."""
    lengths = [call.types[name].shape[-1] for name in terms.factors]
    scales = [int(np.float32(scale).view(np.uint32)) for scale in (terms.alpha, terms.beta)]
    numbers = [call.threads, *map(int, terms.turned), terms.rows, terms.columns, terms.depth, *lengths, *scales]
    if not terms.summand:
        return [*numbers, 0]
    shape = call.types[terms.summand].shape
    strides = np.broadcast_to(np.empty(shape, np.float32), made).strides
    return [*numbers, len(made), *made, *(stride // 4 for stride in strides)]


@FUNCTIONS.add("matmul", "MatMul(*, *)", refusal)
@FUNCTIONS.add("matmul_add", "Add(MatMul(*, *), *)", refusal)
@FUNCTIONS.add("gemm", "Gemm(*, *)", refusal)
def product(call: LibraryCall) -> Bind:
    """Return the product as one call of ``cblas_sgemm``, which adds to what stands in the output."""
    sgemm, set_threads = _functions()
    set_threads(call.threads)
    terms = _terms(call)
    constants = {name: np.ascontiguousarray(values) for name, values in call.weights.items()}

    def bind(inputs: Sequence[np.ndarray], output: np.ndarray) -> Run:
        arrays = {**constants, **dict(zip(call.inputs, inputs, strict=True))}
        one, other = (arrays[name] for name in terms.factors)
        sizes = [c_int(size) for size in (terms.rows, terms.columns, terms.depth)]
        order = [c_int(_ROW_MAJOR), *(c_int(_TRANSPOSED if is_turned else _PLAIN) for is_turned in terms.turned)]
        factors = (c_void_p(one.ctypes.data), c_int(one.shape[-1]), c_void_p(other.ctypes.data), c_int(other.shape[-1]))
        made = (c_float(terms.beta), c_void_p(output.ctypes.data), c_int(terms.columns))
        arguments = (*order, *sizes, c_float(terms.alpha), *factors, *made)
        if not terms.summand:
            return lambda: sgemm(*arguments)

        def run() -> None:
            np.copyto(output, arrays[terms.summand])
            sgemm(*arguments)

        return run

    return bind
