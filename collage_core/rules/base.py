"""`PartitionRule`: how the candidates of a target are found in a dataflow graph. Rules are data and compose as trees.

Seeds: RFC 62 (0.81), "PartitionRule". Base rules read the graph, combinator rules work on what their sub-rules found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet
from ..graph.sub_graph import SubGraph, SubGraphConfig, Violation
from .candidate import Rejection, RejectionLog
from .where import Condition


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """What the user may set for the rules of one target (design, "Options of `partition` and `candidates`").

    Attributes:
        max_depth: Bound on every candidate of the rules; None leaves each toolchain its own.
        max_exits: Exits of combined candidates.
        allow_taps: Taps of combined candidates.
        fusion: ``none``, ``tvm``, ``arbitrary``, or None for the toolchain's own style.
    """

    max_depth: int | None = None
    max_exits: int = 1
    allow_taps: bool = False
    fusion: str | None = None


@dataclass(slots=True)
class RuleMatch:
    """A sub-graph on its way through a rule tree: its nodes, the path of rules so far, and the composites inside.

    Nobody changes one; it is not frozen because each rule makes it anew, by the hundred thousand.

    Attributes:
        deferred: Not to be spelt out before it is needed: a run of `Segments`, of which most are never looked at.
    """

    inside: IndexSet
    path: str
    composites: tuple[str, ...] = ()
    deferred: bool = False


@dataclass(frozen=True, slots=True)
class RuleContext:
    """What a rule sees: the graph, the target it works for, and where rejections go."""

    graph: DataflowGraph
    target: str
    log: RejectionLog

    def note(self, rule: str, stage: str, reason: str, check: str) -> None:
        """Say something about the rules themselves, such as a bound that was met: a rejection without nodes."""
        self.log.add(Rejection(self.target, (), rule, stage, reason), check)


Reject = Callable[[RuleMatch, Violation], None]
"""Hears of a sub-graph that is not valid, and of the check that it fails."""


class PartitionRule(ABC):
    """A node of a rule tree. Every rule is a frozen dataclass, and its fields are its whole meaning."""

    name: ClassVar[str]
    """The word for it in TOML, JSON and rule paths."""
    words: ClassVar[Mapping[str, str]] = {}
    """Field → its word in TOML and JSON, where that is another."""

    @abstractmethod
    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        """Every sub-graph that the rule finds, each once; they may overlap."""

    def find_valid(self, context: RuleContext, config: SubGraphConfig, reject: Reject) -> Iterator[RuleMatch]:
        """Those of `find` that are valid; `reject` hears of the others. A rule that need not make the others does better."""
        for found in self.find(context):
            violation = SubGraph(context.graph, found.inside).violation(config)
            if violation is None:
                yield found
            else:
                reject(found, violation)

    def to_json(self) -> dict[str, Any]:
        """The rule as the data that `rule_from_json` reads."""
        data: dict[str, Any] = {"rule": self.name}
        for spec in fields(self):  # type: ignore[arg-type]
            value = getattr(self, spec.name)
            if value in (None, (), "") and value == spec.default:
                continue
            data[self.words.get(spec.name, spec.name)] = _plain(value)
        return data

    def __str__(self) -> str:
        return "\n".join(_lines(self, 0))


def find_or_say(rule: PartitionRule, context: RuleContext) -> Iterator[RuleMatch]:
    """What the whole tree `rule` finds; where that is nothing, a note says so."""
    found_some = False
    for found in rule.find(context):
        found_some = True
        yield found
    if not found_some:
        context.note(rule.name, "pattern", f"the rules of {context.target} find nothing in this model", "nothing")


def _plain(value: Any) -> Any:
    if isinstance(value, PartitionRule):
        return value.to_json()
    if isinstance(value, tuple) and value and isinstance(value[0], Condition):
        return {item.subject: _plain(item.wanted) for item in value}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _lines(rule: PartitionRule, indent: int) -> Iterator[str]:
    options, subs = [], []
    for spec in fields(rule):  # type: ignore[arg-type]
        value = getattr(rule, spec.name)
        if isinstance(value, PartitionRule):
            subs.append(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], PartitionRule):
            subs.extend(value)
        elif value is not None and value != () and value != "":
            options.append(f"{rule.words.get(spec.name, spec.name)}={_plain(value)!r}")
    yield "  " * indent + rule.name + (f"({', '.join(options)})" if options else "")
    for sub in subs:
        yield from _lines(sub, indent + 1)
