"""A found plan as the plan file, the documents and the notes say it. Plain data in, plain data out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..base.counted import counted
from ..base.durations import duration, milliseconds
from ..graph.dataflow_graph import DataflowGraph
from ..graph.sub_graph import SubGraph
from ..rewrite.plan import PlacedPartition, PlacedTransition, PlacedTuning, Plan
from ..search.plan_properties import plan_transitions
from ..search.problem import FEMTOSECONDS
from ..search.searcher import SearchResult
from .bodies.plan_bodies import PlannedNode
from .loop.budget import Budget
from .loop.rivals import Rival
from .loop.search_and_merge import Planned
from .record.record import CostedCandidate


def placed_partitions(
    graph: DataflowGraph, planned: Planned, stability: Mapping[str, float] | None = None, decided: Mapping[str, str] | None = None
) -> tuple[PlacedPartition, ...]:
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
        nodes = tuple(item.inside)
        made.append(
            PlacedPartition(
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
                tuned=None if item.cost.tuned is None else PlacedTuning(**asdict(item.cost.tuned)),
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


def within_noise(count: int, above_s: float, noise: float) -> str:
    """Return the note that priority decided because measuring could not."""
    return (
        f"tie broken by priority for {counted(count, 'partition')}: the plan is {duration(above_s, 3)} above the best one, "
        f"and its total is known to {duration(noise, 3)}"
    )


def placed_transitions(planned: Planned) -> tuple[PlacedTransition, ...]:
    """Every tensor that changes hands in the plan."""
    problem = planned.problem
    return tuple(
        PlacedTransition(
            maker=maker, reader=reader, tensor=problem.tensors[tensor].name, bytes=problem.tensors[tensor].bytes, cost_s=cost / FEMTOSECONDS
        )
        for maker, reader, tensor, cost in plan_transitions(problem, planned.final.chosen)
    )


def search_document(planned: Planned) -> dict[str, Any]:
    """The `search` part of the `partition` document: the first search, and under ``final`` the last one."""
    return {**result_document(planned.first), "final": result_document(planned.final)}


def result_document(result: SearchResult) -> dict[str, Any]:
    """Return one search as the documents say it.

    ``transitions`` counts the moves from one state to another that were tried, and has nothing to do with the transitions of a plan;
    ``gap_s`` is by how much a better plan could be below this one.
    """
    return {
        "algorithm": result.algorithm,
        "optimal": result.optimal,
        "gap_s": result.gap / FEMTOSECONDS,
        "stopped": result.stopped,
        "total_s": result.total / FEMTOSECONDS,
        "states": result.states,
        "transitions": result.moves,
        "seconds": result.seconds,
        "lower_bound_s": result.lower_bound / FEMTOSECONDS,
    }


def not_verified(accuracy: float, value_policy: str, estimated_error: float | None = None) -> dict[str, Any]:
    """The `verify` part of the `partition` document where nothing was built.

    Args:
        estimated_error: What the errors of the partitions add up to; None where none count, since no target lowers the precision.
    """
    nothing = dict.fromkeys(("measured_s", "additive_error_s", "max_rel_error", "reference"))
    return {**nothing, "estimated_error": estimated_error, "accuracy": accuracy, "value_policy": value_policy, "reason": ""}


def budget_document(budget: Budget, tuned_s: float, first_plan_s: float | None, undecided: Sequence[Rival]) -> dict[str, Any]:
    """The `budget` part of the `partition` document: what measuring took, and the partitions that it left undecided.

    Args:
        tuned_s: Seconds of that for tuning.
        first_plan_s: Seconds from the start of the run to its first complete plan.
    """
    ids = dict.fromkeys(item.id for rival in undecided for item in rival.partitions)
    return {
        "limit_s": budget.limit_s if math.isfinite(budget.limit_s) else None,
        "spent_s": budget.spent_s,
        "tuned_s": tuned_s,
        "first_plan_s": first_plan_s,
        "undecided": list(ids),
        "rivals": [rival.to_json() for rival in undecided],
    }


def bodies_document(graph: DataflowGraph, bodies: Mapping[int, PlannedNode], plan: Plan) -> list[dict[str, Any]]:
    """The `bodies` part of the `partition` document: each node with bodies, who runs it, and how often its bodies ran.

    ``runs_on`` is the target of its partition: the host, which runs its bodies by their own plans, or one that takes it as a whole.
    ``host`` is its cost on the host, ``predicted_s`` what its bodies add up to, each as often as it ran.
    """
    runs_on = {node: partition.target for partition in plan.partitions for node in partition.nodes}
    return [
        {
            "node": index,
            "name": graph.nodes[index].name,
            "op": graph.nodes[index].op,
            "runs_on": runs_on[index],
            "host": planned.cost.to_json(),
            "predicted_s": planned.predicted_s,
            "bodies": [_body_row(attribute, planned) for attribute in planned.records],
        }
        for index, planned in bodies.items()
    ]


def bodies_under(rows: Iterable[Mapping[str, Any]], plan: Plan) -> list[dict[str, Any]]:
    """Return rows of `bodies_document` under another plan of the same run."""
    runs_on = {node: partition.target for partition in plan.partitions for node in partition.nodes}
    return [{**row, "runs_on": runs_on.get(row["node"], row["runs_on"])} for row in rows]


def _body_row(attribute: str, planned: PlannedNode) -> dict[str, Any]:
    record = planned.records[attribute]
    own = {"attribute": attribute, "runs": planned.runs.bodies[attribute].runs, "nodes": len(record.graph)}
    return {**own, **plan_document(record.plan), "bodies": record.document["bodies"]}


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


def plan_document(plan: Plan) -> dict[str, Any]:
    """The `plan` part of the `partition` document."""
    data = plan.to_json()
    return {key: data[key] for key in ("total_s", "total_interval_s", "partitions", "transitions")}
