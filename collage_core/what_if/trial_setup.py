"""Measures further candidates of a run that is over: whether that is possible here, its model, and the estimator that does it.

A record enters, and the file of its model; an open estimator leaves. Costs go into the cost database, and no record is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..cost.database.records import machine_id
from ..cost.estimator import LazyEstimator
from ..cost.estimators.factory import Measuring, make_estimator
from ..errors import CollageError
from ..events import Emit
from ..model.body_runs import noted_runs
from ..model.onnx_model import OnnxModel
from ..pipeline.discover import check_usable, load_as_planned
from ..pipeline.record.record import RunRecord
from ..rules.spec import HOST_TARGET
from ..toolchains.registry import get, names


def check_measurable(record: RunRecord, target: str) -> None:
    """Raise CollageError unless candidates of `target` can be measured here, so that their costs go with those of `record`."""
    hint = "start a run here, without a base"
    if record.machine != machine_id():
        where = record.machine or "no machine"
        raise CollageError(f"the costs of this run are from {where}, and a new one from here would not go with them", hint, "other_machine")
    if record.plan.options.get("costs", "measure") != "measure":
        raise CollageError("the costs of this run were not measured", hint, "not_measured")
    if target == HOST_TARGET or target not in names():
        raise CollageError(
            f"what {target!r} takes is not measured here", "choose a candidate of a toolchain that is installed", "not_measured"
        )
    check_usable([get(target)])


def model_of(record: RunRecord, source: str | Path) -> OnnxModel:
    """Return the model of `record`, read from `source`. Raises CollageError where that holds another one."""
    model = load_as_planned(record.plan, source)
    if model.hash != record.plan.model.hash:
        raise CollageError(f"the run is one of the model {record.plan.model.name!r}, and {str(source)!r} is another", "", "other_model")
    model.note_runs(noted_runs(record.graph))
    return model


@contextmanager
def measuring(
    record: RunRecord, model: OnnxModel, targets: Iterable[str], emit: Emit, *, is_afresh: bool = False, accuracy: float | None = None
) -> Iterator[LazyEstimator]:
    """Yield an estimator that measures candidates of `targets` as the run of `record` did.

    Args:
        is_afresh: Measure what the cost database knows, too.
        accuracy: Largest error of a candidate; that of the run unless given.
    """
    from ..rewrite.call_trial import call_rounds

    options = record.plan.options
    policy = record.plan.value_policy
    settings = Measuring(options.get("percentile", 50.0), call_rounds=call_rounds, is_afresh=is_afresh, value_policy=policy)
    estimator = make_estimator(
        "measure",
        model=model,
        inputs=model.seeded_inputs(),
        threads=options["threads"],
        accuracy=record.plan.accuracy if accuracy is None else accuracy,
        toolchains={target: get(target) for target in targets},
        emit=emit,
        measuring=settings,
    )
    assert isinstance(estimator, LazyEstimator)
    try:
        yield estimator
    finally:
        estimator.close()
