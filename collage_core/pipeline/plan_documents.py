"""A found plan as the plan file, the documents and the notes say it. Plain data in, plain data out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..base.counted import counted
from ..base.durations import duration, milliseconds
from ..cost.cost import PROFILE
from ..documents.plan import PlanInfo, PlanPartition, PlanTransition
from ..documents.run import BodyPlan, NodeWithBodies, RunBudget, RunSearch, SearchInfo
from ..graph.dataflow_graph import DataflowGraph
from ..graph.sub_graph import SubGraph
from ..rewrite.plan import Plan
from ..rules.spec import HOST_TARGET
from ..search.plan_properties import plan_transitions
from ..search.problem import FEMTOSECONDS
from ..search.searcher import SearchResult
from .bodies.plan_bodies import PlannedNode
from .described_targets import free_transfers
from .loop.rivals import Rival
from .loop.search_and_merge import Planned
from .record.record import CostedCandidate


def placed_partitions(
    graph: DataflowGraph, planned: Planned, stability: Mapping[str, float] | None = None, decided: Mapping[str, str] | None = None
) -> tuple[PlanPartition, ...]:
    """The chosen candidates, as a plan lists them.

    Args:
        stability: Id → share of the draws in which it is chosen.
        decided: Id → ``decided_by`` of each partition that something else than its cost decided.
    """
    chosen = [planned.problem.candidates[index] for index in planned.final.chosen]
    wanted = {candidate.inside for candidate in chosen}
    by_place = {(item.inside, item.target): item for item in planned.costed if item.inside in wanted}
    made = []
    for candidate in chosen:
        item = by_place[candidate.inside, candidate.target]
        location = planned.problem.location(candidate.target)
        nodes = tuple(item.inside)
        made.append(
            PlanPartition(
                id=item.id,
                target=item.target,
                nodes=nodes,
                names=tuple(graph.nodes[node].name for node in nodes),
                ops=tuple(graph.nodes[node].op for node in nodes),
                cost_s=item.cost.seconds,
                spread_s=item.cost.spread_s,
                interval_s=item.cost.interval_s,
                samples=item.cost.samples,
                source=item.cost.source,
                decided_by=(decided or {}).get(item.id, "priority" if candidate.is_unknown else "cost"),
                stability=(stability or {}).get(item.id),
                label=_composite_label(graph, item),
                location=None if location == HOST_TARGET else location,
                tuned=item.cost.tuned,
            )
        )
    return tuple(made)


def _composite_label(graph: DataflowGraph, item: CostedCandidate) -> str:
    """Return the label that the toolchain's rules gave a candidate; empty where its label only lists its operators."""
    label = str(item.candidate["label"])
    return "" if label == SubGraph(graph, item.inside).label else label


def priority_note(planned: Planned) -> str:
    """Say for which partitions the order of the targets decided, since their costs are not known; empty where there are none."""
    problem = planned.problem
    chosen = [problem.candidates[index] for index in planned.final.chosen]
    blind = [candidate for candidate in chosen if candidate.is_unknown]
    if not blind:
        return ""
    nodes = [problem.names[node] for candidate in blind for node in candidate.inside]
    listed = ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
    order = ", ".join(problem.priorities)
    return f"tie broken by priority ({order}): the costs of {len(blind)} of {counted(len(chosen), 'partition')} are not known ({listed})"


def estimates_note(planned: Planned, *, is_built: bool) -> str:
    """Say how many partitions of a plan nobody measured, whose costs are estimated from profiles; empty where there are none.

    Args:
        is_built: The plan is to be built and timed end to end.
    """
    partitions = [item for item in planned.partitions if item.target != HOST_TARGET]
    estimated = sum(item.cost.source == PROFILE for item in partitions)
    if not estimated:
        return ""
    whole = (
        "it is built and timed end to end beside plans of measured costs" if is_built else "nothing of it is built or timed end to end here"
    )
    counts = f"{estimated} of {counted(len(partitions), 'partition')} {'was' if estimated == 1 else 'were'} not measured"
    return f"the plan rests on estimates from profiles: {counts}; {whole}"


def within_noise(count: int, above_s: float, noise: float) -> str:
    """Return the note that priority decided because measuring could not."""
    return (
        f"tie broken by priority for {counted(count, 'partition')}: the plan is {duration(above_s, 3)} above the best one, "
        f"and its total is known to {duration(noise, 3)}"
    )


def placed_transitions(planned: Planned) -> tuple[PlanTransition, ...]:
    """Every tensor that changes hands in the plan."""
    problem = planned.problem
    return tuple(
        PlanTransition(
            maker=maker, reader=reader, tensor=problem.tensors[tensor].name, bytes=problem.tensors[tensor].bytes, cost_s=cost / FEMTOSECONDS
        )
        for maker, reader, tensor, cost in plan_transitions(problem, planned.final.chosen)
    )


def search_document(planned: Planned) -> RunSearch:
    """Return the searches of a run: the first one, and under ``final`` the last one."""
    return RunSearch(**vars(result_document(planned.first)), final=result_document(planned.final))


def result_document(result: SearchResult) -> SearchInfo:
    """Return one search as the documents say it."""
    return SearchInfo(
        algorithm=result.algorithm,
        optimal=result.optimal,
        gap_s=result.gap / FEMTOSECONDS,
        stopped=result.stopped,
        total_s=result.total / FEMTOSECONDS,
        states=result.states,
        transitions=result.moves,
        seconds=result.seconds,
        lower_bound_s=result.lower_bound / FEMTOSECONDS,
    )


def budget_document(run_s: float, spent_s: float, tuned_s: float, first_plan_s: float | None, undecided: Sequence[Rival]) -> RunBudget:
    """Return what measuring took in a run that may take `run_s` seconds, and the partitions that it left undecided."""
    return RunBudget(
        limit_s=run_s if math.isfinite(run_s) else None,
        spent_s=spent_s,
        tuned_s=tuned_s,
        first_plan_s=first_plan_s,
        undecided=tuple(dict.fromkeys(item.id for rival in undecided for item in rival.partitions)),
        rivals=tuple(rival.info for rival in undecided),
    )


def bodies_document(graph: DataflowGraph, bodies: Mapping[int, PlannedNode], plan: Plan) -> tuple[NodeWithBodies, ...]:
    """Return each node with bodies, who runs it, and how often its bodies ran."""
    runs_on = {node: partition.target for partition in plan.partitions for node in partition.nodes}
    return tuple(
        NodeWithBodies(
            node=index,
            name=graph.nodes[index].name,
            op=graph.nodes[index].op,
            runs_on=runs_on[index],
            host=planned.cost.info,
            predicted_s=planned.predicted_s,
            bodies=tuple(
                BodyPlan(
                    **vars(plan_document(record.plan)),
                    attribute=attribute,
                    runs=planned.runs.bodies[attribute].runs,
                    nodes=len(record.graph),
                    bodies=record.document.bodies,
                )
                for attribute, record in planned.records.items()
            ),
        )
        for index, planned in bodies.items()
    )


def bodies_under(rows: Iterable[NodeWithBodies], plan: Plan) -> tuple[NodeWithBodies, ...]:
    """Return rows of `bodies_document` under another plan of the same run."""
    runs_on = {node: partition.target for partition in plan.partitions for node in partition.nodes}
    return tuple(replace(row, runs_on=runs_on.get(row.node, row.runs_on)) for row in rows)


MOST_TOLD = 8
"""So many nodes with bodies are told of by name."""


def planned_texts(graph: DataflowGraph, bodies: Mapping[int, PlannedNode]) -> list[str]:
    """Return what is known of nodes with bodies, as notes; of the first of them where there are many."""
    told = [_planned_text(graph.nodes[index].name, planned) for index, planned in bodies.items()]
    more = len(told) - MOST_TOLD
    return told if more <= 0 else [*told[:MOST_TOLD], f"and {more} more nodes with bodies: the document of the run has them"]


def _planned_text(name: str, planned: PlannedNode) -> str:
    """Return what is known of a node with bodies, as a note: how often these ran, and what it costs on the host."""
    counts = {attribute: planned.runs.bodies[attribute].runs for attribute in planned.records} | planned.runs.passing
    ran = [f"{attribute} of {name!r} {_ran(count)}" for attribute, count in counts.items()] if planned.records else []
    cost = planned.cost
    said = cost.reason if cost.seconds is None else f"on the host it takes {milliseconds(cost.seconds)} ({cost.source})"
    return f"{', '.join(ran)}: {said}" if ran else f"{name!r}: {said}"


def _ran(count: int) -> str:
    return {0: "never ran", 1: "ran once"}.get(count, f"ran {count} times")


def plan_document(plan: Plan) -> PlanInfo:
    """Return a plan as the documents say it."""
    return PlanInfo(
        total_s=plan.total_s,
        total_interval_s=plan.total_interval_s,
        partitions=plan.partitions,
        transitions=plan.transitions,
        copies=plan.copies,
        memory=plan.memory,
        parallel=plan.parallel,
        free_transfers=free_transfers(plan.options, ((part.target, part.source) for part in plan.partitions)) or None,
    )
