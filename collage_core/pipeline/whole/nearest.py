"""`nearest_alone`: of the toolchains that take the whole model, the one that comes nearest to the reference, where no plan is right.

The partitions of each target alone enter; the least error leaves, with the tensor at which it begins and the accuracy that would take it.
They are built and run in worker processes, those of the nearest one once more with every tensor as an output; no artifact stays.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from pathlib import Path

import numpy as np

from ...base.isolation.worker import Pool
from ...documents.verify import Nearest, Parting
from ...errors import Cancelled, CollageError
from ...graph.dataflow_graph import DataflowGraph
from ...graph.index_set import IndexSet
from ...model.model import Arrays
from ...model.onnx_model import OnnxModel
from ...model.reference.accuracy import output_errors
from ...rewrite.assemble import assemble
from ...rewrite.partition_models import PartitionModel
from ...rewrite.runtime.artifact_calls import MODULE_IMPORTS, run_artifact
from ...rules.spec import HOST_TARGET
from .assemble_and_verify import BUILD_TIMEOUT_S, about_model, in_worker, run_in_worker
from .references import Reference, references_of

MOST_BYTES = 1 << 30
"""Tensors of more than this in all are not looked at one by one."""


def nearest_alone(
    model: OnnxModel,
    alone: Mapping[str, Sequence[PartitionModel]],
    inputs: Mapping[str, np.ndarray],
    accuracy: float,
    threads: int,
    value_policy: str,
    should_stop: Callable[[], bool],
) -> Nearest | None:
    """Return the nearest target; None where none could be built and run.

    Args:
        alone: Target → the partitions on it that are the whole model.
        inputs: The first set of inputs that everything is compared on; the error of a target is the largest over all sets.
        should_stop: No further target is tried once it says so, and a worker that is busy ends.
    """
    references = references_of(model, inputs, value_policy)
    with tempfile.TemporaryDirectory(prefix="collage-nearest-") as folder, Pool(should_stop=should_stop) as pool:
        runs = {
            name: _Runs(model, pieces, references, threads, value_policy, Path(folder) / f"{index}", pool)
            for index, (name, pieces) in enumerate(alone.items())
        }
        errors: dict[str, float] = {}
        worst: dict[str, Reference] = {}
        begins = None
        with suppress(Cancelled):
            for name, run in runs.items():
                with suppress(CollageError):  # It has no error to compare; why it fails was said when the run met it.
                    by_set = run.outputs_errors()
                    worst[name] = max(references, key=lambda one: by_set[one.name])
                    errors[name] = by_set[worst[name].name]
            if errors:
                begins = _parting(runs[_least(errors)], worst[_least(errors)].inputs, accuracy)
    if not errors:
        return None
    target = _least(errors)
    error = _number(errors[target])
    takes = None if error is None else accuracy_for(error)
    others = {name: _number(one) for name, one in errors.items()}
    return Nearest(target=target, error=error, accuracy=takes, begins=begins, errors=others)


def _least(errors: Mapping[str, float]) -> str:
    return min(errors, key=lambda name: (not math.isfinite(errors[name]), errors[name]))


@dataclass(frozen=True)
class _Runs:
    """Runs of the model on one target alone."""

    model: OnnxModel
    pieces: Sequence[PartitionModel]
    references: Sequence[Reference]
    threads: int
    value_policy: str
    folder: Path
    pool: Pool

    def outputs_errors(self) -> dict[str, float]:
        """Return the largest error of the model's outputs on each set of inputs.

        Raises:
            CollageError: it cannot be built or run.
        """
        folder = self._assembled(self.pieces, self.model.graph.outputs)
        return {
            one.name: max(one.errors(self._run(folder, one.inputs), self.value_policy).values(), default=0.0) for one in self.references
        }

    def errors(self, pieces: Sequence[PartitionModel], names: Sequence[str], inputs: Arrays) -> dict[str, float]:
        """Return the errors of tensors that `pieces` make on `inputs`.

        Raises:
            CollageError: they cannot be built or run so.
        """
        got = self._run(self._assembled(pieces, names), inputs)
        return output_errors(got, self.model.activations(inputs, names), self.model.row_sets(inputs), self.value_policy)

    def _assembled(self, pieces: Sequence[PartitionModel], names: Sequence[str]) -> Path:
        model, folder = self.model, self.folder / str(len(names))
        about = {"model": about_model(model)}
        constants = {name: model.constant(name) for name in names if name in model.graph.constants}
        given = pieces, model.graph.inputs, tuple(names), folder, self.threads, about, constants, dict(self.references[0].inputs)
        in_worker(self.pool, "assemble", assemble, *given, timeout_s=BUILD_TIMEOUT_S, what="assembling it alone", imports=MODULE_IMPORTS)
        return folder

    def _run(self, folder: Path, inputs: Arrays) -> dict[str, np.ndarray]:
        made: dict[str, np.ndarray] = run_in_worker(self.pool, str(folder), run_artifact, folder, dict(inputs), what="running it alone")
        return made


def _number(error: float) -> float | None:
    return error if math.isfinite(error) else None


def accuracy_for(error: float) -> float:
    """Return an accuracy of two digits that takes `error`."""
    exact = Decimal(error)
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 1), ROUND_CEILING))


def nearest_text(nearest: Nearest) -> str:
    """Say which toolchain alone comes nearest, and where it parts from the reference."""
    error = f"off by {nearest.error:.3g}" if nearest.error is not None else "with NaN, infinity or another shape where there are numbers"
    said = f"of the toolchains alone {nearest.target} comes nearest, {error}"
    begins = nearest.begins
    if begins is None:
        return said
    own = f"off by {begins.error:.2g}" if begins.error is not None else "NaN, infinite or of another shape"
    where = f"at {begins.tensor!r}, which {begins.op} {begins.node!r} makes"
    return f"{said}; it parts from the reference {where}: its inputs are right within {begins.input_error:.2g}, it is {own}"


def nearest_hint(nearest: Nearest) -> str:
    """Say what to do about it."""
    if nearest.accuracy is None:
        return f"no accuracy takes {nearest.target} alone: name other targets with --targets"
    return f"--accuracy {nearest.accuracy:g} takes {nearest.target} alone; or name other targets with --targets"


def _parting(run: _Runs, inputs: Arrays, accuracy: float) -> Parting | None:
    """Return where a target parts from the reference when it returns every tensor; None where it does not then, or cannot."""
    graph = run.model.graph
    made = [tensor for node in graph.nodes for tensor in node.outputs if not tensor.type.is_opaque]
    if sum(tensor.type.bytes for tensor in made) > MOST_BYTES:
        return None
    index = {node.name: node.index for node in graph.nodes}
    pieces = []
    for piece in run.pieces:
        if piece.target != HOST_TARGET:
            nodes = IndexSet(index[name] for name in piece.names)
            exposed = run.model.cut(nodes, [tensor.name for at in nodes for tensor in graph.nodes[at].outputs if not tensor.type.is_opaque])
            piece = replace(piece, model=replace(exposed, tuning=piece.model.tuning))
        pieces.append(piece)
    names = [tensor.name for piece in pieces for tensor in piece.model.outputs if tensor.name not in graph.constants]
    with suppress(CollageError):  # More is asked for than the model's outputs, which may be more than the toolchain can.
        return first_parting(graph, run.errors(pieces, list(dict.fromkeys(names)), inputs), accuracy)
    return None


def first_parting(graph: DataflowGraph, errors: Mapping[str, float], accuracy: float) -> Parting | None:
    """Return the first tensor that errs by more than `accuracy` though its node reads what does not.

    Where there is none such, it is the tensor at which the error grows most; None where none errs.
    """
    steps = []
    for node in graph.nodes:
        before = max((errors.get(name, 0.0) for name in node.inputs), default=0.0)
        for tensor in node.outputs:
            error = errors.get(tensor.name, 0.0)
            parting = Parting(tensor=tensor.name, node=node.name, op=node.op, input_error=before, error=_number(error))
            if before <= accuracy and not error <= accuracy:
                return parting
            if math.isfinite(before):
                steps.append((error - before, parting))
    growth, steepest = max(steps, key=lambda step: step[0])
    return steepest if growth > 0 else None
