"""Whole modules from outside of TVM: `partition_module` for Python, and `write_partitioned` for a plan of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import tvm

from ..errors import CollageError
from ..model.relax.module_functions import function_of
from ..model.relax.reading import read_module
from ..pipeline.record import RunRecord
from ..rewrite.plan import read_plan
from .collage_partition import CollagePartition, Report

SAVED, SCRIPT = "partitioned.json", "partitioned.py"
"""Names of the files that hold a partitioned module: as TVM saves it, and as a script."""


@dataclass
class ModuleRecord(RunRecord):
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
    made = chosen(module)
    if not report.regions:
        left = [f"{one.name!r} of {name!r}: {one.reason}" for name, found in report.left.items() for one in found]
        why = f": {left[0]}" if left else ""
        raise CollageError(f"no binding of the module could be taken by a toolchain{why}", "docs/tvm.md says what can", "no_nodes")
    records = tuple(one.record for one in report.regions)
    first = max(records, key=lambda record: len(record.graph))
    return ModuleRecord(**{one.name: getattr(first, one.name) for one in fields(RunRecord)}, module=made, records=records)


def write_partitioned(source: str, plan_file: str, shapes: Mapping[str, tuple[int, ...]], out: str) -> None:
    """Write the module in the file `source` as the plan says into the folder `out`. It runs TVM and belongs in a worker process.

    Raises:
        CollageError: the plan is for another module.
    """
    module, _ = read_module(Path(source))
    name, plan = function_of(module, None), read_plan(Path(plan_file))
    given = {var.name: shapes[var.name] for var in module[name].params if var.name in shapes}
    targets = tuple(dict.fromkeys(one.name for one in plan.targets))
    chosen: Any = CollagePartition(targets, functions=[name], plans={name: plan}, shapes=given)
    made = chosen(module)
    (Path(out) / SAVED).write_text(tvm.ir.save_json(made))
    (Path(out) / SCRIPT).write_text(made.script(show_meta=True))
