"""`annotated_file`: the user's own ONNX file with the plan of a run in the metadata of each node.

A run and the user's model enter; the bytes of an ONNX file leave. The model is loaded, as the plan says, to know which of its nodes are in
which partition; nothing of it is run.
"""

from __future__ import annotations

import onnx

from ..model.relax.load import is_relax
from ..pipeline.record.record import RunRecord
from ..rewrite.export.annotated import annotate_original, annotated
from .node_rows import regret_texts
from .planned_model import planned_model
from .source import Source


def annotated_file(record: RunRecord, source: Source) -> bytes:
    """Return the user's ONNX file with the plan in the metadata of each node; of a Relax module, the ONNX model that its region became.

    Weights in files beside the model stay there: put the result beside them.

    Raises:
        CollageError: the model is not said, cannot be read, or is another one than the plan's.
    """
    model, path = planned_model(record, source)
    regrets = regret_texts(record)
    ir = record.plan.options.get("ir")
    if is_relax(path, None if ir is None else str(ir)):
        return annotated(model, record.plan, regrets).SerializeToString(deterministic=True)
    original = onnx.load(path, load_external_data=False)
    annotate_original(original, model, record.plan, regrets)
    return original.SerializeToString(deterministic=True)
