"""Measures how long an assembled module takes to call a partition, beyond its kernel; for `cost.measuring.call_meter`, in a worker.

Two artifacts of tiny Relus in a row (matrix products on a library of calls), of one and of several partitions of the same target, are
timed in turn with the same kernels called one after another from Python. The cost of one partition more is compared, so that what each
artifact does once (its own entry) cancels out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from ..graph.dataflow_graph import Tensor
from ..model.model import SubModel
from ..model.probe import product_model, relu_model
from ..toolchains import registry
from ..toolchains.border import build_package, load_kernel
from ..toolchains.buffers import aligned_empty
from ..toolchains.toolchain import Kernel
from .assemble import assemble
from .partition_models import PartitionModel
from .runtime.artifact import Artifact

ELEMENTS = 1024
LONG = 9
"""Partitions of the longer artifact."""
_RUNS = 30


@contextmanager
def call_rounds(target: str, threads: int) -> Iterator[Callable[[], float]]:
    """Yield a function that measures by how many seconds a call of a partition on `target` takes longer in an artifact than from Python.

    Raises:
        CollageError: the target or TVM is not usable, or cannot do it.
    """
    kernels = _chain(target, threads)
    with TemporaryDirectory(prefix="collage-call-") as folder:
        artifacts = {count: _artifact(target, count, threads, Path(folder) / str(count)) for count in (1, LONG)}
        _round(artifacts, kernels)
        yield lambda: _round(artifacts, kernels)


def _round(artifacts: dict[int, Artifact], kernels: Sequence[Kernel]) -> float:
    values = np.linspace(-1, 1, ELEMENTS, dtype=np.float32)
    given = {tensor.name: values.reshape(tensor.type.shape) for tensor in artifacts[1].inputs}
    called = {count: median(artifact.time(given, _RUNS)) for count, artifact in artifacts.items()}
    alone = {count: median(_chain_s(kernels[:count]) for _ in range(_RUNS)) for count in (1, LONG)}
    return ((called[LONG] - called[1]) - (alone[LONG] - alone[1])) / (LONG - 1)


def _chain_s(kernels: Sequence[Kernel]) -> float:
    begin = time.perf_counter()
    for kernel in kernels:
        kernel.run()
    return time.perf_counter() - begin


def _artifact(target: str, count: int, threads: int, folder: Path) -> Artifact:
    models = [_model(target, f"t{index}", f"t{index + 1}") for index in range(count)]
    pieces = [PartitionModel(target, (f"relu{index}",), model, f"p{index}") for index, model in enumerate(models)]
    assemble(pieces, models[0].inputs, [models[-1].outputs[0].name], folder, threads)
    return Artifact.open(folder)


def _model(target: str, given: str = "given", made: str = "made") -> SubModel:
    """Return a Relu, or a product where `target` is a library of calls."""
    return (product_model if registry.get(target).style == "library" else relu_model)(ELEMENTS, given, made)


def _chain(target: str, threads: int) -> list[Kernel]:
    """Return as many kernels as the longer artifact calls; each reads what the one before it wrote."""
    toolchain, model = registry.get(target), _model(target)
    package = build_package(toolchain, model, threads)
    buffers = [_zeros(model.outputs[0]) for _ in range(LONG + 1)]
    kernels = [load_kernel(toolchain, package, model.inputs, model.outputs, threads) for _ in range(LONG)]
    for index, kernel in enumerate(kernels):
        kernel.bind([buffers[index]], [buffers[index + 1]])
    return kernels


def _zeros(tensor: Tensor) -> np.ndarray:
    array = aligned_empty(tensor.type)
    array[...] = 0
    return array
