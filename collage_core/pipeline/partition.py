"""`partition`: the pipeline for any model, as the command line, Python, the server and TVM's pass call it.

A model's file and `Options` enter; a `RunRecord` leaves, and with ``out`` a folder. A Relax module of several regions takes a run for
each, a model of several shapes one for each shape; any other model is one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..base.module_regions import RegionSummary
from ..cost.estimators.function import CostFunction
from ..documents.dry_run import DryRun
from ..documents.run import RunDocument
from ..errors import CollageError
from ..events import Emit, Note, ignore
from ..model.relax.load import is_relax
from ..model.relax.relax_model import regions_in
from ..model.samples.registry import resolve
from ..options import Options
from ..rewrite.plan import Plan, read_plan
from ..search.searcher import never
from .dry_run import dry_run
from .record.record import RunRecord
from .region_shares import RegionShares
from .run import run_once
from .shapes.for_shapes import run_at_shapes

PLAN = "plan.json"


def partition(
    source: str | Path,
    options: Options,
    emit: Emit = ignore,
    function: CostFunction | None = None,
    should_stop: Callable[[], bool] = never,
    regions: Sequence[RegionSummary] | None = None,
    waited_s: float = 0.0,
) -> RunRecord:
    """Run the whole pipeline, for every region and shape of the model `source`.

    Of several regions, the record is that of the one that is taken where none is named, and the others are its `regions`. The first
    run writes into ``options.out``, each other one into a folder there that is called as its region. The time that the options give for
    measuring and tuning is shared out, and what one run leaves of it goes to those after it. Of several shapes, the record is that of
    the largest weight, its document has ``shapes``, and its plan has those of all.

    Args:
        function: Gives the costs, in this process; ``options.costs`` is then only its name.
        should_stop: Asked often; once it is True, the run ends as soon as it can, with the best plan so far. The document's
            ``cancelled`` says what is missing.
        regions: Those of the model, where the caller knows them; else a Relax module is read for them.
        waited_s: Seconds that the user has waited before; they count towards the budget of a run of one region at one shape.

    Raises:
        Cancelled: `should_stop` said so before there was any plan.
        CollageError: a mistake of the user; what the runs of other regions wrote is kept.
        InfeasibleError: no plan exists.
        AccuracyError: the assembled plan is over the accuracy; the plan and the run are written all the same.
    """
    if regions is None:
        regions = regions_of(source, options, emit)
    if len(regions) < 2 and not options.plans_shapes:
        return run_once(source, options, emit, function, should_stop, waited_s)
    run = run_at_shapes if options.plans_shapes else run_once
    if len(regions) < 2:
        return run(source, options, emit, function, should_stop)
    shares, names = RegionShares(options, regions), [region.name for region in regions]
    records: dict[str, RunRecord] = {}
    for at, name in enumerate(names):
        if at and should_stop():
            emit(Note(f"cancelled: the regions {', '.join(names[at:])} have no plan"))
            break
        emit(Note(shares.progress_text(name)))
        out, began = options.out if options.out is None or at == 0 else options.out / name, time.monotonic()
        records[name] = run(source, replace(shares.options_of(name), region=name, out=out), emit, function, should_stop)
        shares.ended(name, time.monotonic() - began, records[name].document.budget)
    return replace(records.pop(names[0]), regions=records)


def dry_run_regions(source: str | Path, options: Options, emit: Emit = ignore) -> DryRun:
    """Return what `dry_run` says of each region: of the first, with those of the others by name where there are several."""
    regions = regions_of(source, options, emit)
    if len(regions) < 2:
        return dry_run(source, options, emit)
    shares, names = RegionShares(options, regions), [region.name for region in regions]
    documents = {name: dry_run(source, replace(shares.options_of(name), region=name), emit) for name in names}
    return replace(documents.pop(names[0]), region=names[0], regions=documents)


def regions_of(source: str | Path, options: Options, emit: Emit) -> Sequence[RegionSummary]:
    """Return the regions of a Relax module; none where one is named already, and for other models."""
    path = resolve(str(source))
    if options.region is not None or options.plans_shapes or not is_relax(path, options.ir):
        return ()
    regions, left = regions_in(path, options.fixed_shapes)
    for said in left:
        emit(Note(said))
    return regions


def region_document(record: RunRecord) -> RunDocument:
    """Return the document of a run, with those of the other regions by name where there are some."""
    others = {name: one.document for name, one in record.regions.items()}
    return replace(record.document, regions=others or None)


def plans_beside(plan_file: Path, plan: Plan) -> dict[str, Path]:
    """Return the files of the plans that `partition` made beside `plan`, by the names of their regions.

    Raises:
        CollageError: one of them cannot be read.
    """
    if plan.options.get("region") is None:
        return {}
    found = {}
    for path in sorted(plan_file.parent.glob(f"*/{PLAN}")):
        try:
            other = read_plan(path)
        except CollageError as error:
            raise CollageError(f"{str(path)!r}, beside the plan: {error.message}", error.hint, error.code) from error
        if other.options.get("region") == path.parent.name:
            found[path.parent.name] = path
    return found
