"""`annotated_file`: the user's own ONNX file with the plan of a run in the metadata of each node.

A run and the user's model enter; the bytes of an ONNX file leave. The model is loaded, as the plan says, to know which of its nodes are in
which partition; nothing of it is run.
"""

from __future__ import annotations

from pathlib import Path

import onnx

from ..errors import CollageError
from ..model.relax.load import is_relax
from ..model.samples.registry import find_sample, resolve
from ..pipeline.discover import load_as_planned
from ..pipeline.record.record import RunRecord
from ..rewrite.export.annotated import annotate_original, annotated
from .node_rows import regret_texts

Source = str | Path | None
"""The user's model: a file or a sample's name; None where it was not said."""


def annotated_file(record: RunRecord, source: Source) -> bytes:
    """Return the user's ONNX file with the plan in the metadata of each node; of a Relax module, the ONNX model that its region became.

    Weights in files beside the model stay there: put the result beside them.

    Raises:
        CollageError: the model is not said, cannot be read, or is another one than the plan's.
    """
    source = _known(record, source)
    model = load_as_planned(record.plan, source)
    if model.hash != record.plan.model.hash:
        message = f"the run is about the model {record.plan.model.name!r} with other content than {str(source)!r} has"
        raise CollageError(message, "give the file that was partitioned", "other_model")
    regrets, path = regret_texts(record), resolve(str(source))
    ir = record.plan.options.get("ir")
    if is_relax(path, None if ir is None else str(ir)):
        return annotated(model, record.plan, regrets).SerializeToString(deterministic=True)
    original = onnx.load(path, load_external_data=False)
    annotate_original(original, model, record.plan, regrets)
    return original.SerializeToString(deterministic=True)


def _known(record: RunRecord, source: Source) -> str | Path:
    if source is not None:
        return source
    name = record.plan.model.name
    if find_sample(name) is None:
        message = f"the run keeps no copy of its model {name!r}, which the annotated ONNX file is made of"
        raise CollageError(message, "give the model with --model, or model=... from Python", "no_model")
    return name
