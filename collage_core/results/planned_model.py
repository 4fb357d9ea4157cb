"""`planned_model`: the user's model as the plan of a run says, and its file."""

from __future__ import annotations

from pathlib import Path

from ..errors import CollageError
from ..model.model import Model
from ..model.samples.registry import find_sample, resolve
from ..pipeline.discover import load_as_planned
from ..pipeline.record.record import RunRecord
from .source import Source


def planned_model(record: RunRecord, source: Source) -> tuple[Model, Path]:
    """Return the model and its path.

    Raises:
        CollageError: the model is not said, cannot be read, or is another one than the plan's.
    """
    name = record.plan.model.name
    if source is None:
        if find_sample(name) is None:
            message = f"the run keeps no copy of its model {name!r}, which this file is made of"
            raise CollageError(message, "give the model with --model, or model=... from Python", "no_model")
        source = name
    model = load_as_planned(record.plan, source)
    if model.hash != record.plan.model.hash:
        message = f"the run is about the model {name!r} with other content than {str(source)!r} has"
        raise CollageError(message, "give the file that was partitioned", "other_model")
    return model, resolve(str(source))
