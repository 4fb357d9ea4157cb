"""Makes ONNX files for a viewer: the user's own, the partitioned one, and a partition's. Called in a worker process only.

Paths enter; `Shown`s leave: bytes that are sent to the page, bounded, with the number of tensors that came
without their values. Whatever the model's file does to the process, the server goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from collage_core.errors import CollageError

from ..shared.run_files import RECORD

if TYPE_CHECKING:
    from onnx import ModelProto

MOST_BYTES = 128 << 20
"""Most bytes of weights that a viewer gets: more only fill its memory, and no shape or name is in them."""


@dataclass(frozen=True)
class Shown:
    """A model for a viewer.

    Attributes:
        onnx: The file's content.
        left_out: How many tensors have no values in it.
    """

    onnx: bytes
    left_out: int


def original(path: str, shapes: Mapping[str, Sequence[int] | str], values: Mapping[str, str], region: str | None = None) -> Shown:
    """Return the file as it was opened; of a Relax module, what its region is in ONNX with these shapes and values of inputs.

    Raises:
        CollageError: it is too large to be read at once.
    """
    import onnx

    from collage_core.base.model_file import is_relax_file
    from collage_core.graph.index_set import IndexSet
    from collage_core.model.relax.relax_model import load_relax

    if is_relax_file(path):
        sizes = {name: shape for name, shape in shapes.items() if not isinstance(shape, str)}
        model = load_relax(path, sizes, fold=False, values=values, region=region)
        return _shown(onnx.ModelProto.FromString(model.cut(IndexSet(range(len(model.graph)))).onnx))
    return _shown(onnx.load(path, load_external_data=False))


def partitioned(path: str, plan: str) -> Shown:
    """Return the model as the plan in the file `plan` cuts it, with the plan and the regrets of the run beside it in its metadata.

    Raises:
        CollageError: the model or the plan cannot be read, or the plan is for another model.
    """
    from collage_core.pipeline.discover import load_as_planned
    from collage_core.pipeline.record.record import RunRecord
    from collage_core.results.node_rows import regret_texts
    from collage_core.rewrite.export.annotated import annotated
    from collage_core.rewrite.plan import read_plan

    known = read_plan(Path(plan))
    model = load_as_planned(known, path)
    if model.hash != known.model.hash:
        raise CollageError("the run's plan is for another model than the one that is open", "open the run's own model", "other_model")
    return _shown(annotated(model, known, regret_texts(RunRecord.load(Path(plan).with_name(RECORD)))))


def cut_partition(path: str, plan: str, chosen: str) -> Shown:
    """Return the partition `chosen` of the plan, cut out as it is handed to its toolchain.

    Raises:
        CollageError: as `partitioned` does, or there is no such partition.
    """
    from onnx import ModelProto

    from collage_core.graph.index_set import IndexSet
    from collage_core.pipeline.discover import load_as_planned
    from collage_core.rewrite.plan import read_plan

    known = read_plan(Path(plan))
    wanted = next((one for one in known.partitions if one.id == chosen), None)
    if wanted is None:
        raise CollageError(f"the plan has no partition {chosen[:40]!r}", "GET /api/v1/runs/<id>/plan lists them", "unknown_partition")
    model = load_as_planned(known, path)
    return _shown(ModelProto.FromString(model.cut(IndexSet(wanted.nodes)).onnx))


def _shown(model: ModelProto) -> Shown:
    from collage_core.rewrite.export.annotated import without_weights

    left_out = without_weights(model, MOST_BYTES)
    return Shown(model.SerializeToString(), left_out)
