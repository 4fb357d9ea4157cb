"""Whole modules from outside of TVM: `partition_module` for Python, and `write_partitioned` for a plan of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import tvm

from ..errors import CollageError
from ..model.relax.module_functions import function_of
from ..model.relax.reading import largest_region_name, parameter_shapes, read_module
from ..model.relax.region_names import read_region_name
from ..pipeline.record.record import RunRecord
from ..results.result import Result
from ..rewrite.plan import Plan
from .collage_partition import CollagePartition, Report

SAVED, SCRIPT = "partitioned.json", "partitioned.py"
"""Names of the files that hold a partitioned module: as TVM saves it, and as a script."""


@dataclass
class ModuleRecord(Result):
    """The run of the largest region of a module, and the module.

    Attributes:
        module: The partitioned module.
        records: The runs of all regions.
    """

    module: Any = None
    records: tuple[RunRecord, ...] = ()


def partition_module(module: tvm.IRModule, targets: tuple[str, ...], **options: Any) -> ModuleRecord:
    """Partition all functions of `module`; the options are those of `CollagePartition`.

    Raises:
        CollageError: as `CollagePartition`, or there is nothing in it to partition.
    """
    report = Report()
    chosen: Any = CollagePartition(targets, report=report, **options)
    partitioned = chosen(module)
    if not report.regions:
        left = [f"{one.name!r} of {name!r}: {one.reason}" for name, found in report.left.items() for one in found]
        why = f": {left[0]}" if left else ""
        raise CollageError(f"no binding of the module could be taken by a toolchain{why}", "docs/tvm.md says what can", "no_nodes")
    records = tuple(one.record for one in report.regions)
    first = max(records, key=lambda record: len(record.graph))
    return ModuleRecord(**{field.name: getattr(first, field.name) for field in fields(RunRecord)}, module=partitioned, records=records)


def write_partitioned(
    source: str, plans: Sequence[Plan], shapes: Mapping[str, tuple[int, ...]], out: str, keep_symbols: bool = False
) -> None:
    """Write the module in the file `source` as the plans of its regions say into the folder `out`.

    It runs TVM and belongs in a worker process. A plan that names no region is for the largest one of the function ``main``.

    Args:
        shapes: Shapes of parameters by name, as the user said them for the plans.
        keep_symbols: As that of `CollagePartition`.

    Raises:
        CollageError: a plan is for another module.
    """
    module, _ = read_module(Path(source))
    by_region = {str(plan.options.get("region") or largest_region_name(module, shapes)): plan for plan in plans}
    functions = list(dict.fromkeys(read_region_name(name)[0] for name in by_region))
    for name in functions:
        function_of(module, name)
    targets = tuple(dict.fromkeys(one.name for plan in plans for one in plan.targets))
    for name in functions:  # two functions may have parameters of one name, with other shapes
        own = {region: plan for region, plan in by_region.items() if read_region_name(region)[0] == name}
        fixed = parameter_shapes(module, name, shapes)
        chosen: Any = CollagePartition(targets, functions=[name], plans=own, shapes=fixed, keep_symbols=keep_symbols)
        module = chosen(module)
    saved, script = tvm.ir.save_json(module), module.script(show_meta=True)  # both are made before one is written
    (Path(out) / SAVED).write_text(saved)
    (Path(out) / SCRIPT).write_text(script)
