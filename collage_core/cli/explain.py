"""`collage explain`: why a plan is as it is; what it would be under other terms; and how a plan of the user's own does beside it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import click

from ..errors import CollageError
from ..what_if.questions import EXPLAIN, UNDECIDED, WORTH
from .constraints_file import mistakes_located, read_constraints
from .json_output import print_document
from .trust import asks_trust
from .watched import watched

_COST, _ACCURACY, _WITHOUT = "cost:", "accuracy=", "without:"
_QUANTITIES = ("memory:", "link:")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


@click.command()
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--node", help="Explain a node, by name or index. LOOP/body is a body of a node, and LOOP/body/NODE a node in it.")
@click.option("--candidate", help="Explain a candidate, by its id.")
@click.option(
    "--what-if",
    "what_ifs",
    multiple=True,
    metavar="FILE|cost:ID=1.2ms|accuracy=1e-2|memory:DEVICE=50%|link:DEVICE=2|without:DEVICE",
    help="Show the best plan under other constraints, with another cost of a candidate, another accuracy, or a device of another memory or "
    "link, and the effect of each. Repeatable. memory:DEVICE and link:DEVICE alone show the best plan for each size or speed.",
)
@click.option("--accuracy", type=float, help="With --what-if: exclude candidates with a larger error.")
@click.option("--by-targets", is_flag=True, help="Show the best plan over each set of targets, and what each further target saves.")
@click.option(
    "--undecided", is_flag=True, help="Show what measurements left undecided, how stable each partition is, and what would decide it."
)
@click.option("--against", type=click.Path(path_type=Path), metavar="FILE", help="Compare with your own plan (docs/files.md).")
@click.option(
    "--as", "devices", multiple=True, metavar="DEVICE=TARGET", help="With --against: map a device in FILE to a target. Repeatable."
)
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="PLAN", help="With --against: write your plan as a plan file, for `collage apply`."
)
@click.option(
    "--measure",
    "model",
    metavar="MODEL",
    help="With --against, --what-if accuracy=… or --undecided: measure missing costs; with --against, also time both plans whole.",
)
@click.option("--for", "seconds_text", metavar="20s", help="With --undecided --measure: time for measuring.")
@click.option("--dot", "as_dot", is_flag=True, help="Print the graph with its partitions in DOT, Graphviz's language, instead.")
@click.option(
    "--draw",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw the graph with its partitions to FILE.svg, .png or .pdf (by Graphviz).",
)
@click.option("--charts", type=click.Path(path_type=Path), metavar="FILE", help="Write charts to FILE.html instead (by Plotly).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@asks_trust("model")
@watched
def explain(plan: Path, as_dot: bool, draw: Path | None, charts: Path | None, as_json: bool, **asked: Any) -> None:
    """Explain the PLAN of a run: the alternatives of a node, the best plan under other conditions, or the difference from your own plan."""
    from .pictures import make_pictures

    if as_dot or draw or charts:
        make_pictures(plan, as_dot, draw, charts)
        return
    told = _explained(plan, Asked(**asked), quiet=as_json and not sys.stderr.isatty())
    if as_json:
        print_document(told.document)
    else:
        told.show()


@dataclass(frozen=True)
class Asked:
    """The options of `collage explain` that ask something."""

    node: str | None
    candidate: str | None
    what_ifs: Sequence[str]
    accuracy: float | None
    by_targets: bool
    undecided: bool
    against: Path | None
    devices: Sequence[str]
    save: Path | None
    model: str | None
    seconds_text: str | None

    def check(self) -> None:
        """Raise CollageError where an option stands without the one that it belongs to."""
        kinds = {"--against": self.against, "--what-if": self.what_ifs, "--by-targets": self.by_targets, "--undecided": self.undecided}
        given = [name for name, value in kinds.items() if value]
        if len(given) > 1:
            raise CollageError(f"{' and '.join(given)} are different questions", "ask one at a time", "bad_option")
        alone = [name for name, value in {"--as": self.devices, "--save": self.save}.items() if value and self.against is None]
        if alone:
            raise CollageError(f"{alone[0]} says nothing without --against", "add --against FILE", "bad_option")
        if self.model is not None and not (self.against or self.what_ifs or self.undecided):
            raise CollageError("--measure says nothing without --against, --what-if or --undecided", "add one of them", "bad_option")
        if self.seconds_text is not None and not (self.undecided and self.model):
            raise CollageError("--for says nothing without --undecided and --measure", "add them", "bad_option")


D = TypeVar("D")


class Told(Generic[D]):
    """A document that was asked for, and what prints it as text."""

    def __init__(self, document: D, show: Callable[[D], None]):
        self.document = document
        self.show = partial(show, document)


def _explained(plan: Path, asked: Asked, *, quiet: bool) -> Told[Any]:
    """Answer what is asked."""
    from ..pipeline.record.record import RunRecord
    from .explanation import show_explanation, show_targets
    from .undecided_text import show_undecided

    asked.check()
    if asked.by_targets:
        return Told(WORTH.ask(RunRecord.load(plan)), show_targets)
    if asked.undecided and asked.model is None:
        return Told(UNDECIDED.ask(RunRecord.load(plan)), show_undecided)
    if asked.undecided and asked.model is not None:
        return _decided(plan, asked, asked.model, quiet=quiet)
    if asked.against is not None:
        return _against(plan, asked, asked.against, quiet=quiet)
    if asked.what_ifs:
        return _under_terms(plan, asked, quiet=quiet)
    return Told(EXPLAIN.ask(RunRecord.load(plan), asked.node, asked.candidate), show_explanation)


def _against(plan: Path, asked: Asked, given: Path, *, quiet: bool) -> Told[Any]:
    from .against import Question, explain_against, show_against
    from .terminal import Progress

    devices = dict(_pair(text, "--as", "DEVICE=TARGET") for text in asked.devices)
    question = Question(given, devices, asked.model, asked.node, asked.save)
    with Progress(quiet=quiet or asked.model is None) as progress:
        return Told(explain_against(plan, question, progress), show_against)


def _decided(plan: Path, asked: Asked, model: str, *, quiet: bool) -> Told[Any]:
    from .run_options import seconds
    from .terminal import Progress
    from .undecided_text import decide_run, show_decided

    limit_s = None if asked.seconds_text is None else seconds(asked.seconds_text, "--for")
    with Progress(quiet=quiet) as progress:
        return Told(decide_run(plan, model, limit_s, progress), show_decided)


def _under_terms(plan: Path, asked: Asked, *, quiet: bool) -> Told[Any]:
    from .terminal import Progress
    from .terms_text import explain_curves, explain_terms, show_curves, show_terms

    found = what_ifs(asked.what_ifs, asked.accuracy)
    if found.curves:
        return Told(explain_curves(plan, found.curves), show_curves)
    with mistakes_located(found.file), Progress(quiet=quiet or asked.model is None) as progress:
        constraints = [*read_constraints(found.file), *({"kind": "veto", "location": name} for name in found.without)]
        terms = explain_terms(plan, constraints, found.accuracy, found.costs, asked.model, progress, found.devices)
        return Told(terms, show_terms)


@dataclass
class WhatIfs:
    """The terms that the options ``--what-if`` and ``--accuracy`` say.

    Attributes:
        file: The file of constraints; None without one.
        costs: Candidate id → seconds.
        devices: ``memory`` or ``link`` and a location → its bytes, its percentage, or its speed as text.
        curves: As the keys of `devices`: what is asked for every size or speed.
        without: Locations that take no node.
    """

    file: Path | None = None
    accuracy: float | None = None
    costs: dict[str, float] = field(default_factory=dict)
    devices: dict[tuple[str, str], str] = field(default_factory=dict)
    curves: list[tuple[str, str]] = field(default_factory=list)
    without: list[str] = field(default_factory=list)


def what_ifs(texts: Sequence[str], accuracy: float | None) -> WhatIfs:
    """Return what the options say.

    Raises:
        CollageError: a text is malformed, or there are two files of constraints.
    """
    found = WhatIfs(accuracy=accuracy)
    for text in texts:
        if text.startswith(_COST):
            id, cost = _pair(text.removeprefix(_COST), "--what-if cost:", "cost:ID=1.2ms")
            found.costs[id] = seconds_in(cost, text)
        elif text.startswith(_ACCURACY):
            found.accuracy = _number(text.removeprefix(_ACCURACY), text)
        elif text.startswith(_WITHOUT):
            found.without.append(text.removeprefix(_WITHOUT))
        elif text.startswith(_QUANTITIES):
            quantity, _, named = text.partition(":")
            location, equals, value = named.rpartition("=")
            if equals:
                found.devices[quantity, location] = value
            else:
                found.curves.append((quantity, named))
        elif found.file is not None:
            raise CollageError(f"{text!r} is a second file of constraints", "write all constraints into one file", "bad_option")
        else:
            found.file = Path(text)
    if found.curves and len(found.curves) < len(texts):
        raise CollageError(
            f"{':'.join(found.curves[0])!r} asks for every size, which nothing stands beside", "ask for it alone", "bad_option"
        )
    if found.accuracy is not None and not 0 < found.accuracy < float("inf"):
        raise CollageError(f"the accuracy is {found.accuracy:g}, it must be more than 0", "such as 1e-2", "bad_option")
    return found


def seconds_in(text: str, where: str) -> float:
    """Return the seconds in a text such as ``1.2ms``; `where` is quoted where it says none."""
    unit = next((unit for unit in _UNITS if text.endswith(unit)), None)
    if unit is None:
        raise CollageError(f"{where!r} gives no unit for {text!r}", "such as 800us, 1.2ms or 0.5s", "bad_option")
    return _number(text.removesuffix(unit), where) * _UNITS[unit]


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        said = f"{where!r} has {text!r} where a number must stand"
        raise CollageError(said, "such as cost:ID=1.2ms or accuracy=1e-2", "bad_option") from error


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    key, equals, value = text.rpartition("=")
    if not (key and equals and value):
        raise CollageError(f"{option} is {text!r}, it must be {form}", "", "bad_option")
    return key, value
