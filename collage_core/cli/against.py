"""A plan of the user's own beside that of a run: the document of `collage explain --against`, and its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..base.counted import counted
from ..documents.compare import ApparentLoss
from ..documents.statement_text import faster_text
from ..errors import CollageError
from ..events import Emit
from ..rewrite.plan import Plan
from ..what_if.apparent_loss import loss_document, own_plan
from ..what_if.compare import side_of
from ..what_if.explanation import explain_node, node_index
from ..what_if.timed_beside import timed_beside
from .compare import show_plans
from .explanation import show_node
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


def explain_against(path: Path, question: Question, emit: Emit) -> ApparentLoss:
    """Return the given plan beside that of the run at `path` (`apparent_loss`), or what it says of one node."""
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
    regions = tuple(region for region in document.regions if index in region.nodes)
    return replace(document, regions=regions, node=explain_node(own.record, index))


def _save(plan: Plan, file: Path) -> None:
    try:
        plan.write(file)
    except OSError as error:
        raise CollageError(f"cannot write {str(file)!r}: {error.strerror}", "give another file", "unwritable") from error


def show_against(document: ApparentLoss) -> None:
    """Print the answer of `explain_against` as text."""
    unknown, ignored, change = document.unknown, document.ignored, document.change
    if change.change_s is not None:
        is_rough = unknown and change.basis == "predicted"
        estimate = " (an estimate: not all of its costs were measured to their end)" if is_rough else ""
        say(f"the plan is {faster_text(change, 'yours')}{estimate}")
    show_plans(document, 0 if document.node is not None else SHOWN_NODES, "--json has all")
    for part in unknown[:SHOWN]:
        say(f"not known: {counted(len(part.nodes), 'node')} from {part.names[0]!r} on {part.target}: {part.reason}")
    if len(unknown) > SHOWN:
        say(f"and {len(unknown) - SHOWN} more that are not known (--json has all)")
    if document.not_measured:
        say(f"your plan was not timed end to end: {document.not_measured}")
    elif document.second.measured_s is None:
        say("--measure MODEL measures what is not known, then both plans whole")
    if ignored:
        listed = ", ".join(map(repr, ignored[:SHOWN])) + (" …" if len(ignored) > SHOWN else "")
        say(f"your plan has {counted(len(ignored), 'name')} of no node of the model as it was planned: {listed}")
    if document.node is not None:
        show_node(document.node)
