"""Explains a plan from the run that was saved with it: the documents of `collage explain`, and their text.

For each candidate these are its regret and the cost at which it would enter the plan, and for a target without a candidate the stage
and the reason; or the best plan under other constraints, on the costs that the run knows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ..errors import CollageError
from ..pipeline.finalists import decision_text
from ..pipeline.record import RunRecord
from ..rewrite.export.dot import dot_text, plan_drawing
from ..what_if.terms import Terms
from ..what_if.what_if import effects, what_if
from .terminal import milliseconds


def explain_run(path: Path, node: str | None, candidate: str | None) -> dict[str, Any]:
    """Return the explanation of a node, of a candidate, or (where neither is given) of every partition.

    Args:
        path: A plan file or the folder of a run; the run must be in the folder of the plan.
    """
    record = _record_at(path)
    if node is not None:
        nodes = [_node_index(record, node)]
    elif candidate is not None:
        nodes = [_candidate_nodes(record, candidate)[0]]
    else:
        nodes = [partition.nodes[0] for partition in record.plan.partitions]
    return {
        "schema": 1,
        "total_s": record.plan.total_s,
        "decision": decision_text(record.document),
        "nodes": [_explain_node(record, index, candidate) for index in nodes],
    }


def _record_at(path: Path) -> RunRecord:
    return RunRecord.load(path if path.is_dir() else path.parent)


def explain_terms(path: Path, constraints: Sequence[dict[str, Any]], accuracy: float | None) -> dict[str, Any]:
    """Return the best plan under other terms, its difference from the plan of the run, and the effect of each constraint.

    Args:
        path: As in `explain_run`.
        accuracy: Largest error of a partition; None for that of the run.

    Raises:
        CollageError: a constraint is malformed.
        InfeasibleError: no plan holds the terms.
    """
    record = _record_at(path)
    terms = Terms(constraints, accuracy)
    found = what_if(record, terms)
    listed = [asdict(effect) for effect in effects(record, terms, [[index] for index in range(len(constraints))]).groups]
    difference_s = found["plan"]["total_s"] - record.plan.total_s
    return {
        "schema": 1,
        "total_s": record.plan.total_s,
        "difference_s": difference_s,
        **found,
        "constraints": constraints,
        "effects": listed,
    }


def show_terms(document: dict[str, Any]) -> None:
    """Print the document of `explain_terms` as text."""
    difference_s = document["difference_s"]
    sign = "-" if difference_s < 0 else "+"
    total = milliseconds(document["plan"]["total_s"])
    click.echo(f"{total}, {sign}{milliseconds(abs(difference_s))}, {len(document['plan']['partitions'])} partitions")
    for constraint, effect in zip(document["constraints"], document["effects"], strict=False):
        alone, saves = effect["alone_s"], effect["saves_s"]
        text = (
            "cannot hold, even alone" if alone is None else f"costs {milliseconds(alone)} alone, taking it back saves {milliseconds(saves)}"
        )
        if not alone and not saves and alone is not None:
            text = "has no effect"
        click.echo(f"  {json.dumps(constraint)}: {text}")
    if document["untimed"]:
        click.echo(f"{document['untimed']} candidates would be accurate enough, but nobody has timed them: run again to find out")


def draw_run(path: Path) -> str:
    """Return the graph of a run with the partitions of its plan as DOT; `path` as in `explain_run`."""
    record = _record_at(path)
    return dot_text(record.graph, plan_drawing(record.plan))


def _explain_node(record: RunRecord, index: int, only: str | None) -> dict[str, Any]:
    found = record.node_candidates(index)
    rows = [row for row in found["candidates"] if only is None or row["id"] == only]
    for row in rows:
        cost, regret = row["cost"]["seconds"], row["regret_s"]
        row["enters_below_s"] = max(cost - regret, 0.0) if cost is not None and regret else None
    node = record.graph.nodes[index]
    return {"node": index, "name": node.name, "op": node.op, "candidates": rows, "rejections": found["rejections"] if only is None else []}


def _node_index(record: RunRecord, node: str) -> int:
    if node in record.graph.index_by_name:
        return record.graph.index_by_name[node]
    if node.isdecimal() and int(node) < len(record.graph):
        return int(node)
    raise CollageError(f"the model has no node {node!r}", f"give a name, or an index from 0 to {len(record.graph) - 1}", "unknown_node")


def _candidate_nodes(record: RunRecord, candidate: str) -> list[int]:
    for costed in record.candidates:
        if costed.id == candidate:
            return list(costed.candidate["nodes"])
    raise CollageError(f"the run has no candidate {candidate!r}", "`collage explain PLAN --node N` lists the ids", "unknown_candidate")


def show_explanation(document: dict[str, Any]) -> None:
    """Print the document of `explain_run` as text."""
    if document["decision"]:
        click.echo(document["decision"])
    for item in document["nodes"]:
        click.echo(f"{item['name']} ({item['op']}), node {item['node']}")
        for row in item["candidates"]:
            mark = "*" if row["chosen"] else " "
            regret = "" if row["regret_at_least_s"] is None else f"  regret {milliseconds(row['regret_at_least_s'])}"
            if regret and row["regret_s"] is None:
                regret += " or more"
            label = row["label"] + (" (an estimate)" if row["cost"]["source"] == "estimate" else "")
            below = f", enters below {milliseconds(row['enters_below_s'])}" if row["enters_below_s"] else ""
            click.echo(f" {mark} {row['target']:<14} {milliseconds(row['cost']['seconds']):>10}  {label}  [{row['id']}]{regret}{below}")
            if row["over_budget"]:
                click.echo(f"   {'':<14} {row['over_budget']}")
        for rejection in item["rejections"][:12]:
            click.echo(f"   {rejection['target']:<14} {rejection['stage']}: {rejection['reason']} (nodes {rejection['nodes'][:6]})")
