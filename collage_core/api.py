"""`collage.partition`: the pipeline as a Python function, for scripts and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cost.estimators.function import KIND, CostFunction, function_name
from .errors import CollageError
from .events import Emit, ignore
from .options import Options
from .pipeline.partition import partition as run_pipeline
from .results.result import Result, result_of
from .toolchains.registry import default_targets

if TYPE_CHECKING:
    import tvm


def partition(
    model: str | Path | tvm.IRModule,
    *,
    targets: Sequence[str] | None = None,
    costs: str | CostFunction = "measure",
    emit: Emit = ignore,
    **options: Any,
) -> Result:
    """Find the fastest way to run `model` (a file, a sample's name, or a Relax module) over several `targets`.

    Args:
        targets: Names of toolchains, the preferred one first; None for each one that is usable here and computes in the model's precision.
        costs: ``measure``, ``roofline``, ``mock:FILE`` or ``replay:DB``; or a function that is given a `CandidatePartition` and
            returns seconds, or None where it does not know the cost, and raises where the target cannot take the candidate. It is
            called once for each different computation of a target. Transitions are then free.
        emit: Called with every event of the run.
        options: The other fields of `Options`, such as ``shapes``, ``constraints`` or ``out``. As on the command line, ``values`` may also
            be the value policy, ``finite`` or ``any``.

    Returns:
        The run, which a notebook shows: ``plan``, ``document`` (what ``--json`` prints), ``why(node)``, ``compare(other)``,
        ``export(folder)``, ``nodes_frame()``, ``partitions_frame()``, ``node_times``, ``save(folder)`` (`open_run` opens it again).
        That of a Relax module also has the partitioned ``module``, and that of a file with one its further ``regions`` (docs/tvm.md).

    Raises:
        CollageError: the user made a mistake, no plan exists (`InfeasibleError`), or the plan is wrong (`AccuracyError`).
    """
    if not isinstance(costs, str) and not callable(costs):
        hint = "give measure, roofline, mock:FILE, replay:DB, or a function of a candidate"
        raise CollageError(f"costs is {costs!r}, neither a word nor a function", hint, "bad_option")
    if isinstance(options.get("values"), str):
        options["value_policy"] = options.pop("values")
    names = default_targets() if targets is None else tuple(targets)
    function = None if isinstance(costs, str) else costs
    named = costs if isinstance(costs, str) else f"{KIND}{function_name(costs)}"
    if not isinstance(model, str | Path):
        from .transform.whole_module import partition_module

        return partition_module(model, names, costs=named, cost_function=function, emit=emit, **options)
    return result_of(run_pipeline(model, Options(targets=names, costs=named, **options), emit, function), model)
