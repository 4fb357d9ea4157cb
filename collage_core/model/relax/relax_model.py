"""`RelaxModel`: a region of a Relax function, ready for partitioning like an ONNX model.

A path and the user's shapes enter. A worker process reads the file, since that runs TVM; what leaves it is an ONNX model, whose nodes
are named after the bindings. The reference is the region as TVM's default pipeline compiles it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, numpy_helper

from ...base.isolation.shared import shared_worker
from ...base.isolation.worker import Worker
from ...base.isolation.worker_errors import WorkerError
from ...base.module_regions import RegionSummary
from ...base.user_file import read_file
from ...errors import CollageError
from ..files.external_data import MOST_BYTES
from ..forms.normalising import normalise
from ..forms.values import Value, fix_values
from ..model import Arrays, FoldedNode
from ..onnx_model import OnnxModel
from ..shapes.shapes import assumed_texts

if TYPE_CHECKING:
    from .reading import ReadRegion

READ_S, REFERENCE_S = 300.0, 900.0
"""Longest that reading a file, and compiling and running the reference, may take."""


def tvm_worker() -> AbstractContextManager[Worker]:
    """Give the shared worker that reads modules, and runs them as TVM compiles them."""
    return shared_worker("relax", imports=("tvm",))


@dataclass(frozen=True)
class RelaxSource:
    """A region for toolchains that read Relax and answer with nodes of its graph.

    Attributes:
        ir: As `RelaxModel.ir`.
        nodes: The names of the graph's nodes. Those of one binding are called as its variable, or as it with a slash and more.
    """

    ir: str
    nodes: tuple[str, ...]


class RelaxModel(OnnxModel):
    """A region of a Relax function (satisfies `Model`).

    Attributes:
        ir: A module whose ``main`` is the region, as TVM saves it.
        notes: What the user should know: bindings that are left to TVM, and why.
        bound: The names of the nodes that the user's annotations bind to the processor.
    """

    def __init__(
        self,
        name: str,
        digest: str,
        user: ModelProto,
        gone: tuple[FoldedNode, ...],
        fold: bool,
        fixed: Mapping[str, Any],
        read: ReadRegion,
    ):
        super().__init__(name, digest, user, gone, fold, fixed, assumed=read.assumed)
        self.ir = read.ir
        self.notes = (*assumed_texts(self.assumed), *read.left)
        self.bound = frozenset(read.bound)
        self._parameters = read.parameters

    @property
    def source(self) -> RelaxSource:
        """The region with the names of its nodes."""
        return RelaxSource(self.ir, tuple(node.name for node in self.graph.nodes))

    def reference(self, inputs: Arrays) -> dict[str, np.ndarray]:
        """Return the outputs of the region as TVM's default pipeline compiles it, by output name.

        Raises:
            CollageError: TVM cannot compile or run it.
        """
        names = [value.name for value in self._user.graph.output]
        fixed = {tensor.name: numpy_helper.to_array(tensor) for tensor in self._user.graph.initializer if tensor.name in self.fixed}
        given = {**inputs, **fixed}
        with tvm_worker() as worker:
            try:
                outputs = worker.call(_run, self.ir, [np.asarray(given[name]) for name in self._parameters], timeout_s=REFERENCE_S)
            except WorkerError as error:
                raise CollageError(f"TVM could not run the module as it is: {error}", "", "toolchain") from error
        return dict(zip(names, outputs, strict=True))


def load_relax(
    source: str | Path,
    shapes: Mapping[str, Sequence[int]] | None = None,
    fold: bool = True,
    name: str | None = None,
    *,
    values: Mapping[str, Value] | None = None,
    region: str | None = None,
    asks: bool = False,
) -> RelaxModel:
    """Load a region of the Relax module at `source`; the further arguments are those of `onnx_model.load_model`.

    Args:
        region: The name of the region (`region_names`); the largest one of the function ``main``, or of the only one, unless given.
        asks: Where none is named and there are several, raise `SeveralRegions`.

    Raises:
        CollageError: the file cannot be read, holds no module, or no region of its function can be partitioned.
    """
    path = Path(source)
    try:
        digest = hashlib.sha256(read_file(path, MOST_BYTES)).hexdigest()
    except OSError as error:
        raise CollageError(f"cannot read {str(path)!r}: {error.strerror}", "check the path and its permissions", "unreadable") from error
    with tvm_worker() as worker:
        read = read_in(worker, path, dict(shapes or {}), region, asks=asks)
    user, gone = normalise(ModelProto.FromString(read.onnx))
    fixed = fix_values(user, values or {})
    identity = [
        digest,
        read.function,
        sorted(read.sizes.items()),
        fold,
        *([sorted(fixed.items())] if fixed else []),
        *([region] if region else []),
    ]
    hashed = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    return RelaxModel(name or path.stem, hashed, user, gone, fold, fixed, read)


def regions_in(path: Path, shapes: Mapping[str, Sequence[int]]) -> tuple[list[RegionSummary], list[str]]:
    """Return the regions of the module in a file, and what is left to TVM, as `reading.read_regions`.

    Raises:
        CollageError: as `load_relax`.
    """
    with tvm_worker() as worker:
        found: tuple[list[RegionSummary], list[str]] = _called(worker, _read_regions, path, shapes)
        return found


def read_in(
    worker: Worker,
    path: Path,
    shapes: Mapping[str, Sequence[int]],
    region: str | None = None,
    timeout_s: float = READ_S,
    asks: bool = False,
) -> ReadRegion:
    """Return the region that `worker` reads in the file at `path`.

    Raises:
        CollageError: as `load_relax`; also where reading takes the process down, or too much time or memory.
    """
    read: ReadRegion = _called(worker, _read, path, region, shapes, asks, timeout_s=timeout_s)
    return read


def _called(worker: Worker, function: Callable[..., Any], path: Path, *given: Any, timeout_s: float = READ_S) -> Any:
    try:
        return worker.call(function, str(path.resolve()), *given, timeout_s=timeout_s)
    except WorkerError as error:
        message = f"{str(path)!r} cannot be read as a Relax module: {error}"
        raise CollageError(message, "repair it, or save it again", "not_relax") from error


def _read(path: str, region: str | None, shapes: Mapping[str, Sequence[int]], asks: bool) -> ReadRegion:
    from .reading import read_relax

    return read_relax(path, region, shapes, asks)


def _read_regions(path: str, shapes: Mapping[str, Sequence[int]]) -> tuple[list[RegionSummary], list[str]]:
    from .reading import read_regions

    return read_regions(path, shapes)


def _run(ir: str, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    from .reading import run_module

    return run_module(ir, inputs)
