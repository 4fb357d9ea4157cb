"""The toolchain `blas`: products of matrices by ``cblas_sgemm`` of an OpenBLAS, with what is added to them.

The library is the one in SciPy's wheel, or the system's (Debian's ``libopenblas0``). It is loaded by ctypes, in `build` and `load` alone.
Its number of threads is one for the whole process, SciPy's own calls included.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from ctypes import c_float, c_int, c_void_p
from ctypes.util import find_library
from functools import cache
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np

from ..graph.dataflow_graph import DataflowGraph, Node
from ..rules.operators import type_of
from .base import Availability, ToolchainError
from .library_functions import Bind, LibraryCall, LibraryFunctions, LibraryToolchain, Run

CALLS_VERSION = "+collage.1"
"""Version of the calls here, which the toolchain's version ends with. Count up when kernels change, so that
their costs are measured again."""
HINT = "pip install scipy, whose wheels bring one, or apt install libopenblas0"
FUNCTIONS = LibraryFunctions("float32")

IDLE = "17"
"""An idle thread of OpenBLAS looks for work for two to the power of this many cycles, some 50 microseconds, before it sleeps."""
_ROW_MAJOR, _PLAIN, _TRANSPOSED = 101, 111, 112


class BlasToolchain(LibraryToolchain):
    """Takes products with one matrix, in float32, and the sum with another tensor behind them."""

    name = "blas"
    letter = "L"
    functions = FUNCTIONS

    def availability(self) -> Availability:
        found = _library()
        if found is None:
            return Availability(False, reason="no OpenBLAS was found", hint=HINT, precision="float32")
        return Availability(True, found[2] + CALLS_VERSION, precision="float32")


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
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", IDLE)
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


@FUNCTIONS.add("matmul", "MatMul(*, *)", refusal)
@FUNCTIONS.add("matmul_add", "Add(MatMul(*, *), *)", refusal)
@FUNCTIONS.add("gemm", "Gemm(*, *)", refusal)
def product(call: LibraryCall) -> Bind:
    """Return the product as one call of ``cblas_sgemm``, which adds to what stands in the output."""
    sgemm, set_threads = _functions()
    set_threads(call.threads)
    first = call.nodes[0]
    summands = [*first.inputs[2:], *(name for node in call.nodes[1:] for name in node.inputs if name != first.outputs[0].name)]
    summand = next(filter(None, summands), "")
    alpha = first.attributes.get("alpha", 1.0)
    beta = first.attributes.get("beta", 1.0) if summand else 0.0
    turned = [bool(first.attributes.get(name, 0)) for name in ("transA", "transB")]
    constants = {name: np.ascontiguousarray(values) for name, values in call.weights.items()}

    def bind(inputs: Sequence[np.ndarray], output: np.ndarray) -> Run:
        arrays = {**constants, **dict(zip(call.inputs, inputs, strict=True))}
        one, other = (arrays[name] for name in first.inputs[:2])
        columns, depth = output.shape[-1], other.shape[1 if turned[1] else 0]
        sizes = [c_int(size) for size in (output.size // columns, columns, depth)]
        order = [c_int(_ROW_MAJOR), *(c_int(_TRANSPOSED if is_turned else _PLAIN) for is_turned in turned)]
        factors = (c_void_p(one.ctypes.data), c_int(one.shape[-1]), c_void_p(other.ctypes.data), c_int(other.shape[-1]))
        arguments = (*order, *sizes, c_float(alpha), *factors, c_float(beta), c_void_p(output.ctypes.data), c_int(columns))
        if not summand:
            return lambda: sgemm(*arguments)

        def run() -> None:
            np.copyto(output, arrays[summand])
            sgemm(*arguments)

        return run

    return bind
