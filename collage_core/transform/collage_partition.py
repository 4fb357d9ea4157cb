"""`CollagePartition`: the module pass that partitions every dataflow block of a Relax module by measured costs.

A module enters; one in which each partition of a toolchain is a private function with the attribute ``Codegen`` leaves, and what is
left to TVM as it was. TVM's pass `RunCodegen` then has the toolchains build their functions, before ``tvm.compile``.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import tvm
from tvm import relax

from ..base.sizes import ShapeOf, shape_from
from ..cost.estimators.function import CostFunction
from ..documents.plan import PlanPartition
from ..errors import CollageError
from ..events import Emit, Note, ignore
from ..graph.dataflow_graph import DataflowGraph
from ..model.relax.branches import BRANCHES, outline_branches
from ..model.relax.module_functions import bound_to_processor, check_shape, fixed_alike, prepared, region_module
from ..model.relax.operators.call_writer import shape_of
from ..model.relax.reading import region_summary
from ..model.relax.realized_devices import with_realized_devices
from ..model.relax.region_names import region_name
from ..model.relax.regions import LeftBinding, Region, divided, variables
from ..model.relax.relax_model import load_relax
from ..model.relax.span_names import with_names_of_spans
from ..options import Options
from ..pipeline.partition import partition
from ..pipeline.record.record import RunRecord
from ..pipeline.region_shares import RegionShares
from ..rewrite.plan import Plan
from ..rules.spec import HOST_TARGET
from ..toolchains import registry
from ..toolchains.border import availability_of
from ..toolchains.relax_attributes import TUNING
from ..toolchains.toolchain import PROCESSOR
from ..toolchains.tuning import merged
from .cpu_pipeline import ScheduleRest
from .encodings import Placement, as_byoc, as_primitive, is_planned
from .grouping import HOST, Group, grouped
from .hooks import RunHooks, RunTirHooks
from .open_packages import check_takes_symbols
from .pass_errors import carried
from .region_rewriter import RegionRewriter, names_of, spliced
from .twins import Twins

ENCODINGS = {"byoc": as_byoc, "primitive": as_primitive}


@dataclass(frozen=True)
class PlannedRegion:
    """A region and what was found for it.

    Attributes:
        function: The name of its function.
        record: The run; its graph has the names of the bindings.
    """

    function: str
    record: RunRecord


@dataclass
class Report:
    """Record of what a pass did.

    Attributes:
        regions: Every region that was planned.
        left: Function → its bindings that are in no region, with their reasons.
    """

    regions: list[PlannedRegion] = field(default_factory=list)
    left: dict[str, list[LeftBinding]] = field(default_factory=dict)


@tvm.transform.module_pass(opt_level=0, name="CollagePartition")
class CollagePartition:
    """Partitions the Relax functions of a module.

    Args:
        targets: Names of toolchains, the preferred one first; ``tvm`` stands for what is left to TVM.
        enabled: Whether the pass does anything; else the module leaves untouched.
        functions: Names of the functions to partition; all unless given.
        shapes: Name of a parameter → its shape, for functions with symbols. Where all of a function is left to TVM, its symbols stay.
        keep_symbols: Whether they always stay: costs are those of ``shapes``, and toolchains build a kernel for each shape that comes.
        encoding: ``byoc`` as TVM's own partitioning writes it, or ``primitive``.
        codegen: Whether `RunHooks`, `ScheduleRest` and `RunTirHooks` follow at once, so that ``tvm.compile`` may be next.
        plans: Plans to use instead of a search, by the names of their regions, such as ``main.0``; other regions stay with TVM.
        cost_function: Gives the costs, in this process; ``costs`` is then only its name.
        emit: Told what happens meanwhile.
        report: Gets what was found.
        options: Further options of a run, as `Options` has them: ``accuracy``, ``budget_s``, ``threads``, ``costs``, …. ``budget_s`` and
            ``tune_s`` are for all regions together.

    Raises:
        CollageError: an option is wrong, a function is not well-formed, or no plan was found.
    """

    def __init__(
        self,
        targets: Sequence[str],
        *,
        enabled: bool = True,
        functions: Sequence[str] | None = None,
        shapes: Mapping[str, Sequence[int]] | None = None,
        keep_symbols: bool = False,
        encoding: str = "byoc",
        codegen: bool = False,
        plans: Mapping[str, Plan] | None = None,
        cost_function: CostFunction | None = None,
        emit: Emit = ignore,
        report: Report | None = None,
        **options: Any,
    ):
        if encoding not in ENCODINGS:
            raise CollageError(f"unknown encoding {encoding!r}", f"choose one of {', '.join(ENCODINGS)}", "bad_option")
        self.enabled, self.encoding, self.codegen = enabled, encoding, codegen
        self.functions = None if functions is None else tuple(functions)
        self.keep_symbols = keep_symbols
        self.plans = dict(plans or {})
        self.report = Report() if report is None else report
        self._emit, self._cost_function = emit, cost_function
        try:
            self.options = Options(tuple(targets), ir="relax", **options)
        except TypeError as error:
            raise CollageError(f"CollagePartition: {error}", "docs/tvm.md lists its options", "bad_option") from error
        for name in targets if keep_symbols else ():
            if name in registry.names():
                check_takes_symbols(name)
        given: dict[str, ShapeOf] = {name: shape_from(shape, name) for name, shape in (shapes or {}).items()}
        self.shapes = replace(self.options, shapes=given).fixed_shapes
        self._tunings: list[bytes] = []
        self._shares: RegionShares | None = None

    @carried
    def transform_module(self, mod: tvm.IRModule, _context: Any) -> tvm.IRModule:
        if not self.enabled:
            return mod
        module = with_realized_devices(mod)
        # TVM's RunCodegen does not follow calls of private functions, so branches are planned only where our own passes come next.
        mod = before = outline_branches(module) if self.codegen else module
        names = self._names(mod)
        self._check_shapes(mod, names)
        self._tunings = [str((mod.attrs or {}).get(TUNING, "")).encode()]
        self._shares = self._shared(mod, names)
        for name in names:
            mod = self._function(mod, name)
        mod = module if mod.same_as(before) else outline_branches(mod)
        tuning = merged(self._tunings)
        if tuning:
            mod = mod.with_attr(TUNING, tuning.decode())
        if not self.codegen:
            return mod
        passes: list[Any] = [RunHooks(), ScheduleRest(self.options.used_threads), RunTirHooks()]
        return tvm.transform.Sequential(passes)(mod)

    def _names(self, mod: tvm.IRModule) -> list[str]:
        functions = {str(var.name_hint): function for var, function in mod.functions_items() if isinstance(function, relax.Function)}
        for name in self.functions or ():
            if name not in functions:
                raise CollageError(f"the module has no Relax function {name!r}", f"it has {', '.join(functions) or 'none'}", "not_relax")
        branches = tuple(f"{name}_{which}_" for name in self.functions or () for which in BRANCHES)
        wanted = self.functions and [name for name in functions if name in self.functions or name.startswith(branches)]
        return [name for name in wanted or functions if not is_planned(functions[name])]

    def _check_shapes(self, mod: tvm.IRModule, names: Sequence[str]) -> None:
        for parameter, shape in self.shapes.items():
            found = [var for name in names for var in mod[name].params if var.name == parameter]
            if not found:
                raise CollageError(f"no function has a parameter {parameter!r}, of which a shape was given", "check its name", "shape")
            for var in found:
                check_shape(var, shape)

    def _shared(self, mod: tvm.IRModule, names: Sequence[str]) -> RegionShares | None:
        """Return the time for the run of each region, where there is time to share out among several."""
        if self.plans or (self.options.budget_s is None and self.options.tune_s is None):
            return None
        regions = []
        for name in names:
            named = with_names_of_spans(mod, name)
            found = divided(prepared(named, name, self._sizes(named, name))[name]).regions
            regions += [region_summary(region, name, at) for at, region in enumerate(found)]
        return RegionShares(self.options, regions) if len(regions) > 1 else None

    def _sizes(self, mod: tvm.IRModule, name: str) -> dict[str, Sequence[int]]:
        return {var.name: self.shapes[var.name] for var in mod[name].params if var.name in self.shapes}

    def _function(self, mod: tvm.IRModule, name: str) -> tvm.IRModule:
        sizes = self._sizes(mod, name)
        mod = with_names_of_spans(mod, name)
        kept = prepared(mod, name, {} if self.keep_symbols else sizes)
        fixed, bound = fixed_alike(kept, name, sizes)[name], bound_to_processor(mod[name])
        twins, found = Twins(fixed, kept[name]), divided(fixed)
        self.report.left[name] = found.left
        if not found.regions:
            return mod
        builder, taken = relax.BlockBuilder(kept), names_of(kept)
        blocks: dict[int, list[Any]] = {}
        for at, parts in found.blocks.items():
            blocks[at] = []
            for part in parts:
                if isinstance(part, LeftBinding):
                    blocks[at].append(twins.binding(part.binding))
                elif part.writer.nodes and (not self.plans or region_name(name, found.regions.index(part)) in self.plans):
                    blocks[at] += self._region(builder, name, part, twins.region(part), found.regions.index(part), taken, bound)
                else:
                    blocks[at] += twins.region(part).bindings.values()
        if sizes and names_of(builder.get()) == names_of(kept):
            return mod  # all of it is left to TVM, which needs no fixed sizes
        builder.update_func(kept.get_global_var(name), spliced(kept[name], blocks))
        return relax.transform.DeadCodeElimination()(builder.get())

    def _region(
        self, builder: relax.BlockBuilder, function: str, region: Region, kept: Region, at: int, taken: set[str], bound: Collection[str]
    ) -> list[Any]:
        """Plan one region, add the functions of `kept`, as which the module has it, and return its bindings."""
        plan, graph = self._planned(function, region, at, bound)
        module = prepared(region_module(kept), "main", {})
        fixed = fixed_alike(module, "main", {name: shape_of(var) for name, var in region.inputs.items()})["main"]
        inner, twins = module["main"], Twins(fixed, module["main"])
        (again,) = divided(fixed).regions
        leaves, last = _results(inner)
        pairs = [(one, own) for one in again.bindings.values() if (own := twins.binding(one)).var is not last]
        bindings = [own for _, own in pairs]
        given = dict(zip(inner.params, kept.inputs.values(), strict=True))
        stays = (HOST_TARGET,) if self.encoding == "primitive" else (HOST_TARGET, "tvm")
        partitions = [one for one in plan.partitions if one.target not in stays]
        of = _partition_of(plan, graph, partitions, again)
        wanted = {at: of[one.var] for at, (one, _) in enumerate(pairs) if one.var in of}

        def new_name(placement: Placement) -> str:
            return _free_name(re.sub("[@:]", "_", f"{function}_{placement.target}"), taken)

        rewriter = RegionRewriter(builder, bindings, given, leaves, ENCODINGS[self.encoding], new_name, twins.shape)
        self._tunings += [plan.tuning_of(one) for one in plan.partitions]
        threads = int(plan.options.get("threads", self.options.used_threads))
        placements = [Placement(one.target, one.label, threads) for one in partitions]
        rewriter.write(_groups(bindings, wanted), placements)
        rewriter.finish(kept.outputs)
        return rewriter.bindings

    def _planned(self, function: str, region: Region, at: int, bound: Collection[str]) -> tuple[Plan, DataflowGraph]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{function}_{at}.json" if at else Path(folder) / f"{function}.json"
            path.write_text(tvm.ir.save_json(region_module(region)))
            known = self.plans.get(region_name(function, at))
            if known is not None:
                graph = load_relax(path, fold=bool(known.options.get("fold", True))).graph
                known.check_covers(tuple(node.name for node in graph.nodes))
                return known, graph
            record = self._run(path, region_name(function, at), self._vetoes(path, region, bound))
        self.report.regions.append(PlannedRegion(function, record))
        return record.plan, record.graph

    def _run(self, path: Path, name: str, vetoes: Sequence[Mapping[str, str]]) -> RunRecord:
        """Make the run of the region `name`, whose module is in the file `path`, within its part of the time for all."""
        shares, own = self._shares, self.options
        if shares is not None:
            self._emit(Note(shares.progress_text(name)))
            own = shares.options_of(name)
        began = time.monotonic()
        record = partition(path, replace(own, constraints=(*own.constraints, *vetoes)), self._emit, self._cost_function, regions=())
        if shares is not None:
            shares.ended(name, time.monotonic() - began, record.document.budget)
        return record

    def _vetoes(self, path: Path, region: Region, bound: Collection[str]) -> list[dict[str, str]]:
        """Return the vetoes that keep the nodes of the variables `bound`, which the user bound to the processor, from other devices."""
        known = [registry.get(name) for name in self.options.targets if name in registry.names()]
        elsewhere = [tool.name for tool in known if availability_of(tool).device != PROCESSOR]
        if not bound or not elsewhere:
            return []
        nodes = load_relax(path, fold=self.options.fold).graph.nodes
        made_by = {name: region.bindings[at].var.name for name, at in region.writer.binding_of.items()}
        held = [node.name for node in nodes if any(made_by.get(name) in bound for name in (node.name, *node.absorbed))]
        return [{"kind": "veto", "node": node, "target": target} for node in held for target in elsewhere]


def _results(inner: relax.Function) -> tuple[list[Any], Any]:
    """Return the fields of the tuple that a region's function returns, and the variable of that tuple."""
    bound = {binding.var: binding.value for block in inner.body.blocks for binding in block.bindings}
    result = inner.body.body
    last = result if result in bound else None
    while result in bound:
        last, result = result, bound[result]
    return list(result.fields), last


def _partition_of(plan: Plan, graph: DataflowGraph, partitions: Sequence[PlanPartition], region: Region) -> dict[Any, int]:
    """Return variable → index in `partitions` of the one that has nodes of its binding, or `HOST` where the plan leaves them to TVM.

    Of a binding with nodes in several partitions it is the last. A binding without nodes is not in it.
    """
    partition_of: dict[Any, int] = {}
    for one in plan.partitions:
        for node in (graph.nodes[node] for node in one.nodes):
            for name in (node.name, *node.absorbed):
                if name in region.writer.binding_of:
                    var = region.bindings[region.writer.binding_of[name]].var
                    partition_of[var] = partitions.index(one) if one in partitions else HOST
    return partition_of


def _groups(bindings: Sequence[Any], wanted: Mapping[int, int]) -> list[Group]:
    index = {binding.var: at for at, binding in enumerate(bindings)}
    reads = [[index[var] for var in variables(binding.value) if var in index] for binding in bindings]
    return grouped(reads, wanted, [isinstance(binding.value, relax.TupleGetItem) for binding in bindings])


def _free_name(begin: str, taken: set[str]) -> str:
    free = next(name for number in count() if (name := f"{begin}_{number}") not in taken)
    taken.add(free)
    return free
