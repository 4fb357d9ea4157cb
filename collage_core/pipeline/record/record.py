"""`RunRecord`: everything that one run found out, as plain data that is saved beside its plan and read back.

It holds the problem, the costs and what was rejected. The page and `explain` read it, a search that runs again
with other constraints starts from it, and a recorded run is one of these files.
"""

from __future__ import annotations

import gzip
import json
import logging
import math
import os
import zlib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...base.counted import counted
from ...base.user_file import read_file, unpack
from ...base.whole_file import write_whole
from ...cost.cost import Cost
from ...cost.estimators.roofline import Rates, described_rates
from ...documents.candidates import CandidateRegret, EstimateBasisJson, NodeCandidate, NodeCandidates, NodeRejection
from ...documents.cost import UnknownCosts
from ...documents.json_form import from_json, to_json
from ...documents.node_times import PartitionNodeTimes
from ...documents.run import RunDocument
from ...documents.statements import compared, time_of_row, time_of_run, under_restriction
from ...errors import CollageError
from ...graph.dataflow_graph import DataflowGraph
from ...graph.index_set import IndexSet
from ...graph.work_estimate import WorkEstimator
from ...rewrite.plan import Plan, plan_from_json
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET, RuleReport
from ...search.constraints.constraints import parse_constraints
from ...search.plan_properties import plan_total
from ...search.problem import BILLION, FlowTensor, SearchCandidate, SearchProblem, billionths, femtoseconds
from ...search.problem_json import problem_from_json
from ...toolchains.described import parse_description
from .known_regret import KnownRegret
from .node_times import times_of_plan
from .record_checks import check_bodies, check_node_times, check_record
from .regrets import PlanRegrets, TimedRival

log = logging.getLogger(__name__)

SCHEMA = 1
FILE_NAME = "run.json.gz"
DESCRIBED = "described"
"""Among a plan's options: target → the text that describes it."""


class RecordedCandidate:
    """A candidate that was read from a file.

    Attributes:
        data: As `CandidatePartition.to_json` gave it.
    """

    __slots__ = ("data", "id", "inside", "target")

    def __init__(self, data: Mapping[str, Any]):
        self.data = data
        self.id: str = data["id"]
        self.target: str = data["target"]
        self.inside = IndexSet(data["nodes"])

    def to_json(self) -> dict[str, Any]:
        return dict(self.data)


@dataclass(slots=True, eq=False)
class CostedCandidate:
    """A candidate and its cost.

    Attributes:
        held: The candidate, found in this run or read from a file.
    """

    held: CandidatePartition | RecordedCandidate
    cost: Cost

    @property
    def id(self) -> str:
        return self.held.id

    @property
    def target(self) -> str:
        return self.held.target

    @property
    def inside(self) -> IndexSet:
        return self.held.inside

    @property
    def candidate(self) -> Mapping[str, Any]:
        """As `CandidatePartition.to_json` gives it; made when asked for."""
        return self.held.to_json()

    @property
    def is_merged(self) -> bool:
        """Return whether merging made it, and no rule."""
        return bool(self.candidate["rule"] == merged_rule(self.target))


def merged_rule(target: str) -> str:
    """Return the path of rules of a candidate that merging made."""
    return f"{target}.merged"


@dataclass
class RunRecord:
    """A run as plain data.

    Attributes:
        document: All that the run says.
        graph: The model's graph.
        candidates: Every candidate that was costed, the invalid ones too.
        rejected: A sample of the rules' rejections, as `Rejection.to_json`.
        problem: The problem that was searched: the usable candidates, by id.
        plan: The plan.
        regret_s: Candidate id → regret in seconds; None if it is in no plan; one that is absent is computed when asked for. Empty
            where a cost is unknown.
        created: ISO time.
        machine: The machine that measured the costs.
        rules: Target → what each of its rules gave and rejected (`make_report`).
        bodies: Name of a node → attribute → the search over that body.
        regions: Name → the run of each other region of the same Relax module; they are saved by themselves.
        has_newer_costs: Costs or candidates are not those that the plan was decided on; a search follows before the record is saved.
    """

    document: RunDocument
    graph: DataflowGraph
    candidates: list[CostedCandidate]
    rejected: list[dict[str, Any]]
    problem: SearchProblem
    plan: Plan
    regret_s: dict[str, float | None] = field(default_factory=dict)
    created: str = ""
    machine: str = ""
    rules: Mapping[str, RuleReport] = field(default_factory=dict)
    bodies: Mapping[str, Mapping[str, RunRecord]] = field(default_factory=dict)
    regions: Mapping[str, RunRecord] = field(default_factory=dict)
    has_newer_costs: bool = False

    def save(self, folder: Path) -> None:
        """Write ``run.json.gz`` and ``plan.json`` into `folder`, each whole or not at all."""
        write_record(self, folder / FILE_NAME)
        self.plan.write(folder / "plan.json")

    @classmethod
    def load(cls, path: Path) -> RunRecord:
        """Read the run that `path` names, as `record_path` says.

        Raises:
            CollageError: there is none, it is damaged, or it is of another schema.
        """
        return read_record(record_path(path))

    def problem_json(self) -> dict[str, Any]:
        """Return the problem of the run with its constraints, as `collage search` reads it."""
        return {**self.problem.to_json(), "constraints": [dict(item) for item in self.plan.constraints]}

    @cached_property
    def _by_node(self) -> dict[int, list[CostedCandidate]]:
        made: dict[int, list[CostedCandidate]] = {}
        for costed in self.candidates:
            for node in costed.inside:
                made.setdefault(node, []).append(costed)
        return made

    @cached_property
    def alone_s(self) -> Mapping[tuple[int, str], float]:
        """(Node, target) → seconds of the candidate that holds this node alone, where that was measured to its end."""
        return self._alone_s(())

    def _alone_s(self, described: Collection[str]) -> dict[tuple[int, str], float]:
        """Return `alone_s` with the estimates of the targets in `described`."""
        made: dict[tuple[int, str], float] = {}
        for costed in self.candidates:
            cost = costed.cost
            is_rough = cost.stopped_early or cost.is_guess or (cost.source == "estimate" and costed.target not in described)
            if len(costed.inside) == 1 and cost.seconds is not None and not is_rough:
                made[costed.inside.first(), costed.target] = cost.seconds if cost.alone_s is None else cost.alone_s
        return made

    @cached_property
    def node_times(self) -> list[PartitionNodeTimes]:
        """Return the times inside each partition of the plan; shares of an estimated cost may be estimates themselves."""
        described = {partition.target for partition in self.plan.partitions if partition.source == "estimate"}
        return times_of_plan(self.plan, self.document.node_times or (), self._alone_s(described))

    @cached_property
    def _regrets(self) -> PlanRegrets:
        index_of = {candidate.id: index for index, candidate in enumerate(self.problem.candidates)}
        chosen = tuple(index_of.get(part.id, -1) for part in self.plan.partitions)
        return PlanRegrets(
            self.problem,
            [item.cost.source for item in usable(self.candidates)],
            parse_constraints([dict(item) for item in self.plan.constraints], self.problem),
            () if -1 in chosen else chosen,
            is_optimal=self.document.search.final.optimal,
            is_by_time=self.plan.options.get("objective", "time") == "time" and not self.problem.counts_errors,
            rivals=self.timed_rivals,
            known_s=self.regret_s,
        )

    @cached_property
    def timed_rivals(self) -> tuple[TimedRival, ...]:
        """The other plans that were timed end to end beside that of the run, as far as the problem has all of their candidates."""
        own = time_of_run(self.document)
        index_of = {candidate.id: index for index, candidate in enumerate(self.problem.candidates)}
        rivals = []
        for row in self.document.alternatives:
            indices = frozenset(index_of.get(part.id, -1) for part in row.partitions)
            if row.measured_s is not None and own.measured_s is not None and indices and -1 not in indices and not row.is_plan:
                statement = under_restriction(compared(time_of_row(self.document, row), own))
                total = plan_total(self.problem, tuple(indices))
                rivals.append(TimedRival(indices, total, row.measured_s, statement.change_s or 0.0))
        return tuple(rivals)

    def regrets_of(self, wanted: Collection[str]) -> list[CandidateRegret]:
        """The regrets of the usable ones among some candidates, by id."""
        rows = []
        for index, item in enumerate(self.problem.candidates):
            if item.id in wanted:
                regret = self._regrets.of(index)
                in_no_plan = regret.at_least_s is None
                rows.append(CandidateRegret(item.id, regret.exact_s, regret.at_least_s, regret.rests_on_unknown, in_no_plan, regret.basis))
        return rows

    def known_regrets(self, *, bounds: bool) -> dict[str, KnownRegret]:
        """Return the regrets that came with the plan, or that sweeps give, by the candidate's id.

        On a large problem the others would need a search each. They are left out; with `bounds`, which may take seconds, the bounds of
        the dual prices stand in their place.
        """
        regrets = self._regrets
        known = (
            {index: regrets.of(index) for index in range(len(self.problem.candidates))}
            if regrets.are_all_known
            else regrets.without_search(bounds=bounds)
        )
        return {self.problem.candidates[index].id: regret for index, regret in known.items()}

    def node_candidates(self, node: int) -> NodeCandidates:
        """The candidates that hold `node`, and the rejections that show it.

        The chosen candidate comes first, then those of exact regret, then those of which a lower bound is known, each by regret.
        """
        chosen = {partition.id for partition in self.plan.partitions}
        rows, rejections = [], []
        index_of = {item.id: index for index, item in enumerate(self.problem.candidates) if node in item.inside}
        for costed in self._by_node.get(node, []):
            data = costed.candidate
            if costed.cost.is_invalid:
                rejections.append(NodeRejection(costed.target, tuple(data["nodes"]), costed.cost.stage, costed.cost.reason))
                continue
            regret = self._regrets.of(index_of[costed.id])
            rows.append(
                NodeCandidate(
                    id=data["id"],
                    target=data["target"],
                    label=data["label"],
                    nodes=tuple(data["nodes"]),
                    rule=data["rule"],
                    times=data.get("times", 1),
                    cost=costed.cost,
                    estimate_basis=self._estimate_basis(costed),
                    chosen=costed.id in chosen,
                    over_budget=self._over_budget(costed),
                    regret_s=regret.exact_s,
                    regret_at_least_s=regret.at_least_s,
                    rests_on_unknown=regret.rests_on_unknown,
                    regret_basis=regret.basis,
                )
            )
        rows.sort(key=_why_order)
        found = [one for one in self.rejected if node in one["nodes"]]
        rejections += [NodeRejection(one["target"], tuple(one["nodes"]), one["stage"], one["reason"]) for one in found]
        rejections.sort(key=lambda item: len(item.nodes))
        return NodeCandidates(node, tuple(rows), tuple(rejections))

    def _over_budget(self, costed: CostedCandidate) -> str:
        """Return why the plan's errors leave no room for the error of a candidate; empty where they do, or it does not count."""
        budget, target = self.problem.error_budget, costed.target
        if budget is None or target not in self.problem.lowered or not costed.cost.error:
            return ""
        errors = {item.id: item.error for item in self.problem.candidates if item.error}
        beside = [part.id for part in self.plan.partitions if part.id != costed.id and costed.inside.isdisjoint(IndexSet(part.nodes))]
        rest = sum(errors.get(name, 0) for name in beside)
        if rest + errors.get(costed.id, 0) <= budget:
            return ""
        spent = f"the rest of the plan has used {rest / BILLION:.2g}" if rest else "nothing else is used"
        return f"its error of {costed.cost.error:.2g} is too large: of the {budget / BILLION:.2g} that errors may add up to {spent}"

    @cached_property
    def _rates(self) -> Mapping[str, Rates]:
        """How fast the targets are said to be that are only described."""
        made = {}
        for name, text in self.plan.options.get(DESCRIBED, {}).items():
            with suppress(CollageError):
                made[name] = described_rates(parse_description(text, name))
        return made

    @cached_property
    def _work_of(self) -> WorkEstimator:
        return WorkEstimator(self.graph)

    def _estimate_basis(self, costed: CostedCandidate) -> EstimateBasisJson | None:
        """Return the basis of the estimate of a described target; None if the cost is no such estimate."""
        rates = self._rates.get(costed.target)
        if rates is None or costed.cost.source != "estimate":
            return None
        work = self._work_of(costed.inside)
        return EstimateBasisJson(
            operations=work.operations,
            bytes=work.bytes,
            launch_s=rates.launch_s,
            operations_per_s=rates.operations_per_s if rates.operations_per_s < math.inf else None,
            bytes_per_s=rates.bytes_per_s if rates.bytes_per_s < math.inf else None,
            has_transfers=rates.has_transfers,
        )


def _why_order(row: NodeCandidate) -> tuple[Any, ...]:
    """Return the key by which candidates of a node are listed; the page orders them in the same way (`why.ts`)."""
    least, cost_s = row.regret_at_least_s, row.cost.seconds
    known = (cost_s is None, row.regret_s is None, least is None, row.rests_on_unknown)
    return (not row.chosen, *known, least or 0.0, len(row.nodes), cost_s or 0.0, row.id)


def flow_tensors(graph: DataflowGraph) -> tuple[FlowTensor, ...]:
    """The tensors of `graph` that a node makes or reads, as the search sees them; those that nobody reads are left out."""
    made = []
    for name, maker in graph.producer.items():
        readers = graph.readers[name]
        is_output = name in graph.outputs
        if readers or (is_output and maker >= 0):
            made.append(FlowTensor(name, maker, readers, is_output and maker >= 0, graph.types[name].bytes))
    return tuple(made)


def weights_of(graph: DataflowGraph) -> tuple[dict[str, int], ...]:
    """Return for each node name → bytes of the constants that it reads."""
    return tuple({name: graph.constants[name].type.bytes for name in node.inputs if name in graph.constants} for node in graph.nodes)


def usable(costed: Iterable[CostedCandidate]) -> list[CostedCandidate]:
    """Those that a plan may hold: one for each candidate of the problem, in its order."""
    return [item for item in costed if not item.cost.is_invalid]


def unknown_costs(costed: Iterable[CostedCandidate]) -> UnknownCosts | None:
    """Return how many costs nobody knows; None where that is none."""
    costs = [item.cost for item in usable(costed) if item.target != HOST_TARGET]
    unknown = sum(cost.is_unknown for cost in costs)
    if not unknown:
        return None
    which = f"{unknown} of {counted(len(costs), 'cost')} {'is' if unknown == 1 else 'are'} not known"
    return UnknownCosts(unknown, len(costs), f"{which}: how stable the partitions beside are is not known either")


def indices_of(chosen: Iterable[int], costed: Iterable[CostedCandidate]) -> list[int]:
    """Return the indices in `costed` of the candidates that the problem over it has at `chosen`."""
    indices = [index for index, item in enumerate(costed) if not item.cost.is_invalid]
    return [indices[index] for index in chosen]


def search_candidates(costed: Iterable[CostedCandidate], lowered: Collection[str] = ()) -> tuple[SearchCandidate, ...]:
    """The usable ones, as the search sees them. Errors count of those on a target of `lowered`."""
    made = []
    for item in usable(costed):
        held, known = item.held, item.cost
        cost = None if known.seconds is None else femtoseconds(known.seconds)
        error = billionths(known.error) if known.error and cost is not None and held.target in lowered else 0
        made.append(SearchCandidate(held.inside, held.target, cost, held, error))
    return tuple(made)


def write_record(record: RunRecord, path: Path) -> None:
    """Write `record` to `path`, compressed, whole or not at all; equal records give equal bytes."""
    write_whole(path, gzip.compress(json.dumps(_to_json(record)).encode(), compresslevel=5, mtime=0))


def _to_json(record: RunRecord) -> dict[str, Any]:
    bodies = {name: {word: _to_json(body) for word, body in found.items()} for name, found in record.bodies.items()}
    return {
        "schema": SCHEMA,
        "created": record.created,
        "machine": record.machine,
        "document": to_json(record.document),
        "graph": record.graph.to_json(),
        "candidates": [{**item.candidate, "cost": item.cost.to_json()} for item in record.candidates],
        "rejected": record.rejected,
        "problem": record.problem.to_json(),
        "plan": record.plan.to_json(),
        "regret_s": record.regret_s,
        "rules": record.rules,
        **({"bodies": bodies} if bodies else {}),
    }


def record_path(named: Path) -> Path:
    """Return the file of a run's record: `named` itself (``….gz``), or the one in the folder `named`, or beside the plan file `named`."""
    if os.path.isdir(named):
        return named / FILE_NAME
    return named if named.name.endswith(".gz") else named.with_name(FILE_NAME)


def read_record(path: Path) -> RunRecord:
    """The record in the file `path`. Raises CollageError where there is none that can be read."""
    try:
        data = json.loads(unpack(read_file(path), path))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except (ValueError, EOFError, zlib.error, RecursionError) as error:
        raise _unreadable(path, "it is damaged") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise _unreadable(path, f"its schema is {data.get('schema') if isinstance(data, dict) else None!r}, this version reads {SCHEMA}")
    try:
        return _from_json(data)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise _unreadable(path, f"it is damaged ({error})") from error


def _from_json(data: dict[str, Any]) -> RunRecord:
    check_record(data)
    document = _document_of(data["document"], len(data["graph"]["nodes"]))
    check_bodies(document.bodies, len(data["graph"]["nodes"]))
    candidates = []
    for item in data["candidates"]:
        cost = Cost.from_json(item.pop("cost"))
        candidates.append(CostedCandidate(RecordedCandidate(item), cost))
    graph = DataflowGraph.from_json(data["graph"])
    return RunRecord(
        document=document,
        graph=graph,
        candidates=candidates,
        rejected=data["rejected"],
        problem=replace(problem_from_json(data["problem"]), weights=weights_of(graph)),
        plan=plan_from_json(data["plan"]),
        regret_s=data["regret_s"],
        created=data["created"],
        machine=data["machine"],
        rules=data["rules"],
        bodies={name: {word: _from_json(body) for word, body in found.items()} for name, found in data.get("bodies", {}).items()},
    )


def _document_of(data: Mapping[str, Any], count: int) -> RunDocument:
    """Return the document of a model of `count` nodes.

    Raises:
        ValueError: a part of it is broken, and not only the times inside partitions, which are left out then.
    """
    try:
        document = from_json(RunDocument, {**data, "node_times": None})
    except CollageError as error:
        raise ValueError(error.message) from error
    try:
        rows = tuple(from_json(PartitionNodeTimes, row) for row in data.get("node_times") or ())
        check_node_times(rows, count)
    except (CollageError, TypeError, ValueError) as error:
        log.warning("the times inside the partitions of a run are left out: %s", error)
        return document
    return replace(document, node_times=rows or None)


def _unreadable(path: Path, why: str) -> CollageError:
    return CollageError(f"cannot read the run {str(path)!r}: {why}", f"give the {FILE_NAME} that a run wrote", "bad_run")
