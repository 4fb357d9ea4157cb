"""Phases 1 and 2: the model, the specs of its targets, every candidate, and everything rejected on the way.

They take a model file and `Options`, and give plain data. Nothing is built, run or costed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..base.counted import counted
from ..base.garbage import no_collector
from ..documents.candidate_set import CandidateInfo, CandidateSetInfo, FoldedInfo, NodeInfo, RejectionCount, RejectionInfo, SpecInfo
from ..documents.json_form import from_json
from ..documents.run import PhaseSeconds, RunModel, TensorInfo
from ..errors import CollageError
from ..events import CandidatesFound, Emit, Note, PhaseEnded, PhaseStarted
from ..graph.dataflow_graph import DataflowGraph, Tensor
from ..graph.value_policy import ANY, FINITE
from ..model.body_runs import BodyRuns, NodeRuns, count_body_runs
from ..model.model import Arrays
from ..model.onnx_model import OnnxModel
from ..model.reference.accuracy import default_accuracy
from ..model.reference.inputs import all_finite
from ..model.relax.load import load
from ..model.relax.relax_model import RelaxModel
from ..model.samples.registry import SAMPLES, resolve
from ..options import Options
from ..rewrite.plan import Plan
from ..rewrite.runtime.arrays_file import read_arrays
from ..rules.base_rules import Host
from ..rules.candidate import CandidatePartition, Rejection, RejectionLog
from ..rules.partitionings import with_partitionings
from ..rules.rule import PartitionRule
from ..rules.spec import HOST_TARGET, RuleReport, find_candidates, gather_specs, make_report, specs_with_counts, taken_nodes, with_buffers
from ..toolchains.abilities import has_value_contract, takes_opaque, takes_open_shapes
from ..toolchains.border import availability_of, rule_of
from ..toolchains.described import DescribedToolchain, read_description
from ..toolchains.registry import check_name_is_free, get
from ..toolchains.toolchain import PROCESSOR, Toolchain
from .find_partitionings import find_partitionings, matched_tables
from .loop.search_and_merge import check_constraints


class Phases:
    """Times the phases and tells when each begins and ends; and counts from the start of the run.

    Args:
        waited_s: Seconds since the start.

    Attributes:
        current: The phase that began last; empty before the first.
    """

    def __init__(self, emit: Emit, waited_s: float = 0.0):
        self._emit = emit
        self._began = time.perf_counter() - waited_s
        self.current = ""
        self.seconds: dict[str, float | None] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self.current = name
        self._emit(PhaseStarted(name))
        began = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - began
        self._emit(PhaseEnded(name, self.seconds[name] or 0.0))

    @property
    def elapsed_s(self) -> float:
        return time.perf_counter() - self._began

    @property
    def info(self) -> PhaseSeconds:
        """Seconds of each phase; None where it was not done."""
        return PhaseSeconds(**{f"{name}_s": seconds for name, seconds in self.seconds.items()})


class CandidateSet:
    """Phases 1 and 2: the model, the toolchains, every candidate, and what was rejected.

    Attributes:
        options: Those of the run, with the shapes of the user's inputs where there are some.
        given: The user's inputs, checked; None where seeded ones serve.
        body_runs: Index of a node with bodies → how often these run; empty where that was not asked for.

    Args:
        body: A model that is loaded already, the body of another, with the inputs of a run of it; `source` is then only its name.
        counts_runs: Whether to count how often bodies run, which takes a run of the model.
    """

    def __init__(
        self,
        source: str | Path,
        options: Options,
        phases: Phases,
        emit: Emit,
        body: BodyRuns | None = None,
        counts_runs: bool = False,
    ):
        self.options = options
        described = _described(options)
        self.toolchains: dict[str, Toolchain] = {name: described.get(name) or get(name) for name in options.targets}
        if options.is_measured and options.fleet is None:
            check_usable(found for found in self.toolchains.values() if not (isinstance(found, DescribedToolchain) and found.cost))
        self.model: OnnxModel
        self.given: Mapping[str, np.ndarray] | None
        with phases("load"):
            self.model, self.given = (body.model, body.inputs) if body else _loaded(source, options)
            if options.inputs is not None:
                shapes = {tensor.name: tensor.type.shape for tensor in self.model.graph.inputs if not tensor.type.is_container}
                self.options = options = replace(options, shapes=shapes)
                if options.value_policy == FINITE and self.given is not None and not all_finite(self.given):
                    self.options = options = replace(options, value_policy=ANY)
                    emit(Note("the inputs hold NaN or infinities, so these are compared, too, as with --values any"))
            self.body_runs = self._count_body_runs(body) if counts_runs else {}
            vetoes = self._vetoes_of_annotations()
            if vetoes:
                self.options = options = replace(options, constraints=(*options.constraints, *vetoes))
        for said in (*self.model.notes, *self._unmeasured_notes()):
            emit(Note(said))
        with phases("specs"):
            self.rules = {name: rule_of(toolchain, options.rule_options(name)) for name, toolchain in self.toolchains.items()}
            self.specs = gather_specs(self.rules)
        self.log = RejectionLog()
        self.by_target: dict[str, list[CandidatePartition]] = {}
        with phases("candidates"), no_collector(keeps=True):
            tables = matched_tables(self.model, self.rules)
            taken = taken_nodes(self.graph, self.specs, tables)
            for spec in self.specs:
                self.by_target.update(find_candidates(self.graph, spec, self.log, taken, tables))
            self.partitionings = find_partitionings(self.model, self.toolchains, self.rules, self.by_target, self.log, emit)
            self.by_target = with_partitionings(self.graph, self.partitionings, self.by_target)
            self._tell_partitionings(emit)
            if self.graph.has_unbuffered:
                self._drop_unbuffered()
            for said in dict.fromkeys(self._said(note) for note in self.log.notes if self._is_told(note)):
                emit(Note(said))
            self.unique = {target: len({c.computation for c in found}) for target, found in self.by_target.items()}
            for target, found in self.by_target.items():
                if target in self.toolchains:
                    rejected = sum(count for sort, count in self.log.counts.items() if sort[0] == target)
                    emit(CandidatesFound(target, len(found), self.unique[target], rejected))

    def _count_body_runs(self, body: BodyRuns | None) -> dict[int, NodeRuns]:
        """Return how often the bodies of the model run, and write it into the graph."""
        if not self.model.controls:
            return {}
        inputs = self.model.seeded_inputs() if self.given is None else self.given
        runs = body.inner if body else count_body_runs(self.model, inputs)
        self.model.note_runs({index: {name: one.runs for name, one in node.bodies.items()} for index, node in runs.items()})
        return runs

    def _unmeasured_notes(self) -> list[str]:
        """Return a note on the targets of which nobody measured what they make of NaN and infinities, where these count."""
        names = [name for name, toolchain in self.toolchains.items() if not has_value_contract(toolchain)]
        if self.options.value_policy == FINITE or not names:
            return []
        return [f"what {', '.join(names)} makes of NaN and infinities was not measured: only the inputs of this run show it"]

    def _vetoes_of_annotations(self) -> list[dict[str, str]]:
        """Return the vetoes that keep nodes which a Relax module binds to the processor from toolchains of other devices."""
        if not isinstance(self.model, RelaxModel) or not self.model.bound:
            return []
        elsewhere = [name for name, tool in self.toolchains.items() if availability_of(tool).device != PROCESSOR]
        held = [node.name for node in self.graph.nodes if not self.model.bound.isdisjoint((node.name, *node.absorbed))]
        return [{"kind": "veto", "node": node, "target": target} for node in held for target in elsewhere]

    def check_constraints(self) -> None:
        """Raise ProblemMistake where one of the user's constraints is malformed, or names what does not exist."""
        check_constraints(self.graph, self.candidates, self.toolchains, self.options.constraints)

    def _tell_partitionings(self, emit: Emit) -> None:
        """Tell how many groups from elsewhere no rule finds."""
        for one in self.partitionings:
            new = sum(candidate.rule == f"{one.target}.{one.source}" for candidate in self.by_target[one.target])
            if new:
                groups = counted(len(one.groups), "group")
                emit(Note(f"no rule of {one.target} finds {new} of the {groups} that {one.source} makes for it"))

    def _drop_unbuffered(self) -> None:
        """Keep, for each toolchain, the candidates of whose boundary it takes all: open shapes, and values that are no plain memory."""
        for target, toolchain in self.toolchains.items():
            opens, opaque = takes_open_shapes(toolchain), takes_opaque(toolchain)
            if not (opens and opaque):
                self.by_target[target] = with_buffers(self.by_target[target], self.log, opens=opens, opaque=opaque)

    def _is_told(self, note: Rejection) -> bool:
        """Return whether a note on the rules matters to the user: that the model lacks a pattern only does where the pattern is his."""
        return not note.is_absence or isinstance(self.toolchains.get(note.target), DescribedToolchain)

    def _said(self, note: Rejection) -> str:
        """A note on the rules, with the user's file that they stand in."""
        toolchain = self.toolchains.get(note.target)
        return f"{toolchain.source}: {note.reason}" if isinstance(toolchain, DescribedToolchain) else note.reason

    @property
    def grouped(self) -> list[CandidatePartition]:
        """The candidates that are groups of partitionings."""
        groups = {(partitioning.target, inside) for partitioning in self.partitionings for inside in partitioning.groups}
        return [
            candidate
            for partitioning in self.partitionings
            for candidate in self.by_target[partitioning.target]
            if (partitioning.target, candidate.inside) in groups
        ]

    @property
    def graph(self) -> DataflowGraph:
        return self.model.graph

    @property
    def candidates(self) -> list[CandidatePartition]:
        """Those of every target, in the order of the targets; the host's come last."""
        return [candidate for found in self.by_target.values() for candidate in found]

    @property
    def descriptions(self) -> dict[str, str]:
        """Target → the text that describes it, of those that are only described."""
        return {name: found.text for name, found in self.toolchains.items() if isinstance(found, DescribedToolchain)}

    def rule_reports(self) -> dict[str, RuleReport]:
        """Target → what each of its rules gave and rejected; the host's too."""
        rules: dict[str, PartitionRule] = {**self.rules, HOST_TARGET: Host()}
        return {target: make_report(target, rule, self.by_target[target], self.log) for target, rule in rules.items()}

    @property
    def costed_first(self) -> list[CandidatePartition]:
        """Those whose costs are asked before the search: with measured costs the deferred ones are not among them."""
        return [candidate for candidate in self.candidates if not (candidate.deferred and self.options.is_measured)]

    def accuracy(self) -> float:
        """Largest relative error that the plan may have."""
        return self.options.accuracy if self.options.accuracy is not None else default_accuracy(self.model)


def check_usable(toolchains: Iterable[Toolchain]) -> None:
    """Raise CollageError unless every one of `toolchains` can build and run here."""
    for toolchain in toolchains:
        found = availability_of(toolchain)
        if not found.usable:
            raise CollageError(f"the target {toolchain.name!r} is not usable here: {found.reason}", found.hint, "target_unavailable")


def _loaded(source: str | Path, options: Options) -> tuple[OnnxModel, dict[str, np.ndarray] | None]:
    """Return the model at `source`, and the user's inputs where there are some."""
    given = None if options.inputs is None else read_arrays(options.inputs)
    name, fixed = model_name(source), options.values
    path, shapes = resolve(str(source)), options.fixed_shapes
    model = load(path, shapes, options.fold, name, values=fixed, inputs=given, ir=options.ir, region=options.region)
    return model, None if given is None else model.check_inputs(given)


def _described(options: Options) -> dict[str, Toolchain]:
    """The toolchains of the user's files, by name."""
    made: dict[str, Toolchain] = {}
    for path in options.toolchain_files:
        toolchain = read_description(path)
        if toolchain.name in made:
            raise CollageError(f"{str(path)!r} describes {toolchain.name!r} once more", "give it another name", "bad_rule")
        check_name_is_free(toolchain)
        made[toolchain.name] = toolchain
    return made


def model_name(source: str | Path) -> str:
    """Return the user's name of the model: a sample's name, or the file's without its ending."""
    return str(source) if str(source) in SAMPLES else Path(source).stem


def load_as_planned(plan: Plan, source: str | Path, given: Arrays | None = None) -> OnnxModel:
    """The model `source` with the shapes, values and folding of `plan`; whether it is the plan's model is not asked here.

    Args:
        given: The user's own inputs; sizes that depend on data are those of a run on them.
    """
    options, path, name = plan.options, resolve(str(source)), model_name(source)
    region, ir, folds = options.get("region"), options.get("ir"), bool(options.get("fold", True))
    chosen = None if region is None else str(region)
    return load(path, planned_shapes(plan), folds, name, values=plan.model.fixed, inputs=given, ir=ir, region=chosen)


def planned_shapes(plan: Plan) -> dict[str, tuple[int, ...]]:
    """Return the shapes of inputs that `plan` was made for, by name. Raises CollageError where its options say none."""
    try:
        return {name: tuple(int(size) for size in shape) for name, shape in plan.options.get("shapes", {}).items()}
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise CollageError("the plan is broken: its shapes are none", "make it again with `collage partition`", "bad_plan") from error


def model_document(model: OnnxModel) -> RunModel:
    """Return a model as the documents say it."""
    graph = model.graph
    outputs = (Tensor(name, graph.types.get(name) or graph.constants[name].type) for name in graph.outputs)
    return RunModel(
        name=model.name,
        hash=model.hash,
        nodes=len(graph),
        inputs=tuple(from_json(TensorInfo, tensor.to_json()) for tensor in graph.inputs),
        outputs=tuple(from_json(TensorInfo, tensor.to_json()) for tensor in outputs),
        fixed={name: tuple(value) if isinstance(value, list) else value for name, value in model.fixed.items()},
        assumed=model.assumed,
    )


def find(source: str | Path, options: Options, emit: Emit) -> CandidateSetInfo:
    """Phases 1 and 2 alone: the document that `collage candidates --json` prints."""
    found = CandidateSet(source, options, Phases(emit), emit)
    found.check_constraints()
    producer = found.graph.producer
    return CandidateSetInfo(
        model=model_document(found.model),
        nodes=tuple(
            NodeInfo(
                id=node.index,
                name=node.name,
                op=node.op,
                kind=node.kind.letter,
                outputs=tuple(from_json(TensorInfo, tensor.to_json()) for tensor in node.outputs),
                absorbed=tuple(node.absorbed),
                inputs=tuple(dict.fromkeys(producer[name] for name in node.inputs if producer.get(name, -1) >= 0)),
            )
            for node in found.graph.nodes
        ),
        candidates=tuple(from_json(CandidateInfo, candidate.to_json()) for candidate in found.candidates),
        rejected=tuple(from_json(RejectionInfo, rejection.to_json()) for rejection in found.log.sample),
        rejected_counts=tuple(RejectionCount(*group, count) for group, count in found.log.counts.items()),
        specs=tuple(from_json(SpecInfo, spec) for spec in specs_with_counts(found.rule_reports())),
        folded=tuple(FoldedInfo(node.name, node.op, node.into) for node in found.model.folded),
    )
