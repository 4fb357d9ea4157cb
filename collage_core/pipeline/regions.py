"""`partition_regions`: every region of a Relax module in a run of its own, as `CollagePartition` takes a module.

A model file and `Options` enter; a record for each region leaves, and with ``out`` a folder for each. A model of any other kind, and a
module with one region, are one run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..base.module_regions import RegionSummary
from ..cost.estimators.function import CostFunction
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
from .shapes.for_shapes import partition

PLAN = "plan.json"


def partition_regions(
    source: str | Path,
    options: Options,
    emit: Emit = ignore,
    function: CostFunction | None = None,
    should_stop: Callable[[], bool] = never,
) -> RunRecord:
    """Run the pipeline for each region of the model `source`, and return the record of the region that is taken where none is named.

    The others are its `regions`. The first run writes into ``options.out``, each other one into a folder there that is called as its
    region. The time that the options give for measuring and tuning is shared out, and what one run leaves of it goes to those after it.

    Raises:
        CollageError: as `partition`; what the runs before it wrote is kept.
    """
    regions = regions_of(source, options, emit)
    if len(regions) < 2:
        return partition(source, options, emit, function, should_stop)
    shares, names = RegionShares(options, regions), [region.name for region in regions]
    records: dict[str, RunRecord] = {}
    for at, name in enumerate(names):
        if at and should_stop():
            emit(Note(f"cancelled: the regions {', '.join(names[at:])} have no plan"))
            break
        emit(Note(shares.progress_text(name)))
        out = options.out if options.out is None or at == 0 else options.out / name
        records[name] = partition(source, replace(shares.options_of(name), region=name, out=out), emit, function, should_stop)
        shares.ended(name, records[name].document)
    return replace(records.pop(names[0]), regions=records)


def dry_run_regions(source: str | Path, options: Options, emit: Emit = ignore) -> dict[str, Any]:
    """Return what `dry_run` says of each region: of the first, with those of the others by name where there are several."""
    regions = regions_of(source, options, emit)
    if len(regions) < 2:
        return dry_run(source, options, emit)
    shares, names = RegionShares(options, regions), [region.name for region in regions]
    found = {name: dry_run(source, replace(shares.options_of(name), region=name), emit) for name in names}
    name = regions[0].name
    return {**found.pop(name), "region": name, "regions": found}


def regions_of(source: str | Path, options: Options, emit: Emit) -> Sequence[RegionSummary]:
    """Return the regions of a Relax module; none where one is named already, and for other models."""
    path = resolve(str(source))
    if options.region is not None or options.plans_shapes or not is_relax(path, options.ir):
        return ()
    regions, left = regions_in(path, options.fixed_shapes)
    for said in left:
        emit(Note(said))
    return regions


def region_document(record: RunRecord) -> dict[str, Any]:
    """Return the document of a run, with those of the other regions by name where there are some."""
    others = {name: one.document for name, one in record.regions.items()}
    return {**record.document, **({"regions": others} if others else {})}


def plans_beside(plan_file: Path, plan: Plan) -> dict[str, Path]:
    """Return the files of the plans that `partition_regions` made beside `plan`, by the names of their regions.

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
