"""A plan of the user's own beside that of a run: the document of `collage explain --against`, and its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.counted import counted
from ..base.durations import duration
from ..errors import CollageError
from ..events import Emit
from ..what_if.apparent_loss import loss_document, own_plan
from ..what_if.compare import side_of
from ..what_if.explanation import explain_node, node_index
from ..what_if.timed_beside import timed_beside
from .compare import show_plans
from .explanation import show_explanation
from .say import say

SHOWN = 6
SHOWN_NODES = 40


@dataclass(frozen=True)
class Question:
    """A plan from elsewhere, and what is asked of it.

    Attributes:
        given: Its file.
        devices: Device or provider → target.
        model: Measures what the run does not know, then both plans whole; None measures nothing.
        node: The node that is explained; None for all.
        save: File for the given plan as a plan file; None writes none.
    """

    given: Path
    devices: Mapping[str, str]
    model: str | None = None
    node: str | None = None
    save: Path | None = None


def explain_against(path: Path, question: Question, emit: Emit) -> dict[str, Any]:
    """Return the given plan beside that of the run at `path` (`apparent_loss`), and with ``node`` what is known of one node."""
    side = side_of(path)
    if side.record is None:
        raise CollageError(f"{side.name} is a plan without its run, which has the costs", "give the folder of a run", "no_run")
    own = own_plan(side.record, question.given, question.devices, question.model, emit)
    timed = None if question.model is None else timed_beside(own.record, own.plan, own.name, question.model, emit)
    document = loss_document(side, own, timed)
    if question.save is not None:
        _save(own.plan, question.save)
    if question.node is None:
        return document
    index = node_index(own.record, question.node)
    regions = [region for region in document["regions"] if index in region["nodes"]]
    return {**document, "regions": regions, "node": explain_node(own.record, index)}


def _save(plan: Any, file: Path) -> None:
    try:
        plan.write(file)
    except OSError as error:
        raise CollageError(f"cannot write {str(file)!r}: {error.strerror}", "give another file", "unwritable") from error


def show_against(document: Mapping[str, Any]) -> None:
    """Print the document of `explain_against` as text."""
    loss_s = document["apparent_loss_s"]
    if loss_s is not None:
        estimate = " (an estimate: not all of its costs were measured to their end)" if document["unknown"] else ""
        faster, share = ("faster" if loss_s <= 0 else "slower"), abs(loss_s)
        say(f"the plan is {duration(share)} {faster} than yours by the sums of the costs{estimate}")
    show_plans(document, 0 if "node" in document else SHOWN_NODES, "--json has all")
    for row in document["unknown"][:SHOWN]:
        say(f"not known: {counted(len(row['nodes']), 'node')} from {row['names'][0]!r} on {row['target']}: {row['reason']}")
    if len(document["unknown"]) > SHOWN:
        say(f"and {len(document['unknown']) - SHOWN} more that are not known (--json has all)")
    if document["not_measured"]:
        say(f"your plan was not measured whole: {document['not_measured']}")
    elif document["second"]["measured_s"] is None:
        say("--measure MODEL measures what is not known, then both plans whole")
    if document["ignored"]:
        listed = ", ".join(map(repr, document["ignored"][:SHOWN])) + (" …" if len(document["ignored"]) > SHOWN else "")
        say(f"your plan has {counted(len(document['ignored']), 'name')} of no node of the model as it was planned: {listed}")
    if "node" in document:
        told = {"decision": "", "partitionings": [], "node_times": [], "bodies": [], "nodes": [document["node"]]}
        show_explanation(told)
