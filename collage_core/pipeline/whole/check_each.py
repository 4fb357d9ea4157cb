"""`check_each`: compares every partition boundary of an assembled plan with the reference, and finds where an error begins.

A built plan enters; errors by partition leave. The plan is assembled once more so that it also returns what its partitions make; that, and
its run, happen in worker processes. Nothing of the artifact changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...errors import AccuracyError
from ...model.model import Arrays
from ...model.reference.accuracy import relative_error
from ...rewrite.assemble import assemble
from ...rewrite.partition_models import PartitionModel
from ...rewrite.runtime.artifact_calls import run_artifact
from ...rules.spec import HOST_TARGET
from .assemble_and_verify import BUILD_TIMEOUT_S, Built, about_artifact, in_worker, pieces_of, run_in_worker

FOLDER = "each"
"""Name of the folder of the plan that returns every boundary."""
ASSEMBLES, RUNS = "assemble", "plan"
"""Names of the workers that have the toolchains already, since they built and ran the plan."""


@dataclass(frozen=True)
class PartitionError:
    """The errors at the boundary of one partition, in the run of the whole.

    Attributes:
        names: Its nodes.
        input_error, output_error: Largest relative error of what it reads and of what it makes, against the reference.
        worst: The tensor that has the second.
    """

    id: str
    target: str
    names: tuple[str, ...]
    input_error: float
    output_error: float
    worst: str


class PartitionAccuracyError(AccuracyError):
    """The plan is wrong, and it is known in which partition the error begins.

    Attributes:
        each: The document of `check_each`.
    """

    def __init__(self, message: str, hint: str, each: Mapping[str, Any]):
        super().__init__(message, hint)
        self.each = each


def check_each(built: Built) -> dict[str, Any]:
    """Return the errors of each partition of a built plan, in the order in which they run, on the inputs on which the whole errs most.

    Returns:
        ``accuracy``; ``partitions``: as `PartitionError`, infinite errors as None; ``begins``: the id of the first partition that reads
        what is right within the accuracy and makes what is not, None where there is none.

    Raises:
        CollageError: the plan cannot be built or run with its boundaries as outputs.
    """
    pieces = pieces_of(built.model, built.plan)
    boundaries, inputs = _boundaries(built, pieces), built.worst.inputs
    got = _run(built, pieces, boundaries, inputs)
    wanted = built.model.activations(inputs, boundaries)
    errors = {name: relative_error(got[name], wanted[name], built.plan.value_policy) if name in got else math.inf for name in boundaries}
    rows = _rows(pieces, errors)
    accuracy = built.plan.accuracy
    begins = next((row for row in rows if row.input_error <= accuracy and not row.output_error <= accuracy), None)
    return {"accuracy": accuracy, "begins": None if begins is None else begins.id, "partitions": [_row_document(row) for row in rows]}


def begins_text(each: Mapping[str, Any]) -> str:
    """Say in which partition the error begins."""
    row = next((row for row in each["partitions"] if row["id"] == each["begins"]), None)
    if row is None:
        return "no partition errs while every boundary is kept, so the error comes from what lies between them"
    nodes = f"{row['names'][0]!r}" + (f" and {len(row['names']) - 1} more nodes" if len(row["names"]) > 1 else "")
    output = "NaN, infinite or of another shape" if row["output_error"] is None else f"off by {row['output_error']:.3g}"
    reads = f"its inputs are right within {row['input_error']:.2g}"
    return f"the error begins in the partition on {row['target']} of {nodes}: {reads}, its output {row['worst']!r} is {output}"


def _boundaries(built: Built, pieces: Sequence[PartitionModel]) -> list[str]:
    """Return every tensor that a partition makes for others or for the host; those of the host only have another name."""
    constants = built.model.graph.constants
    made = [tensor.name for piece in pieces if not _is_rename(piece) for tensor in piece.model.outputs]
    return [name for name in dict.fromkeys(made) if name not in constants]


def _is_rename(piece: PartitionModel) -> bool:
    return piece.target == HOST_TARGET and piece.control is None


def _run(built: Built, pieces: Sequence[PartitionModel], boundaries: Sequence[str], inputs: Arrays) -> dict[str, np.ndarray]:
    """Return what the partitions make in a run of the whole on `inputs`."""
    model, folder = built.model, built.scratch / FOLDER
    threads = int(built.plan.options.get("threads", 1))
    arguments = (pieces, model.graph.inputs, tuple(boundaries), folder, threads, about_artifact(model, built.plan))
    in_worker(built.pool, ASSEMBLES, assemble, *arguments, timeout_s=BUILD_TIMEOUT_S, what="assembling the plan with its boundaries")
    what = "running the plan with its boundaries"
    made: dict[str, np.ndarray] = run_in_worker(built.pool, RUNS, run_artifact, folder, dict(inputs), what=what)
    return made


def _rows(pieces: Sequence[PartitionModel], errors: Mapping[str, float]) -> list[PartitionError]:
    known, rows = dict(errors), []
    for piece in pieces:
        before = max((known.get(tensor.name, 0.0) for tensor in piece.model.inputs), default=0.0)
        if _is_rename(piece):
            known |= {tensor.name: before for tensor in piece.model.outputs}
            continue
        made = {tensor.name: known.get(tensor.name, 0.0) for tensor in piece.model.outputs}
        worst = max(made, key=lambda name: made[name], default="")
        rows.append(PartitionError(piece.id, piece.target, piece.names, before, made.get(worst, 0.0), worst))
    return rows


def _row_document(row: PartitionError) -> dict[str, Any]:
    document = asdict(row)
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in document.items()}
