"""`PartitionRule`: a rule that finds the candidates of a target in a dataflow graph. Rules are data and compose as trees.

After RFC 62 (Collage), "PartitionRule". Base rules read the graph; combinator rules work on the matches of their sub-rules.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from ..graph.dataflow_graph import DataflowGraph, Node
from ..graph.index_set import IndexSet
from ..graph.sub_graph import SubGraph, SubGraphConfig, Violation
from ..graph.value_policy import FINITE
from .candidate import Rejection, RejectionLog
from .operators import Condition


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """Options of the user for the rules of one target.

    Attributes:
        max_depth: Bound on the depth of every candidate; None for the toolchain's own bound.
        max_exits: Most exits of a combined candidate.
        allow_taps: Whether a combined candidate may have taps.
        fusion: ``none``, ``tvm``, ``arbitrary``, or None for the toolchain's own style.
        value_policy: What must be right of a call for the toolchain to take it: one of `VALUE_POLICIES`.
    """

    max_depth: int | None = None
    max_exits: int = 1
    allow_taps: bool = False
    fusion: str | None = None
    value_policy: str = FINITE


@dataclass(slots=True)
class RuleMatch:
    """A sub-graph that a rule found: its nodes, the path of rules so far, and the composites inside.

    It is never changed. It is not frozen only because rules create hundreds of thousands, and frozen dataclasses are slower to create.

    Attributes:
        deferred: Measure it only when the search needs it. Most runs of `Segments` are never needed.
    """

    inside: IndexSet
    path: str
    composites: tuple[str, ...] = ()
    deferred: bool = False


@dataclass(frozen=True, slots=True)
class TableMatch:
    """A match of a pattern in a table of TVM's.

    Attributes:
        label: The name of the pattern.
        nodes: The names of the nodes.
        refusal: Why the match counts for nothing; empty where it counts.
    """

    label: str
    nodes: tuple[str, ...]
    refusal: str = ""


Tables = Mapping[str, Sequence[TableMatch]]
"""Prefix of a pattern table → what its patterns match in the model, those of the highest priority first."""


@dataclass(frozen=True, slots=True)
class RuleContext:
    """The input of a rule: the graph, the target it works for, and the log that takes rejections.

    Attributes:
        others: For each of the other targets, by name, which nodes it takes; only of targets whose rules have `Segments`.
        tables: Those that the rules name.
    """

    graph: DataflowGraph
    target: str
    log: RejectionLog
    others: Mapping[str, Sequence[bool]] = field(default_factory=dict)
    tables: Tables = field(default_factory=dict)

    def note(self, rule: str, stage: str, reason: str, check: str, is_absence: bool = False) -> None:
        """Log a note on the rules themselves, such as a limit that was reached: a rejection without nodes."""
        self.log.add(Rejection(self.target, (), rule, stage, reason, is_absence), check)


Reject = Callable[[RuleMatch, Violation], None]
"""A function that is called with a sub-graph that is not valid and the check that it fails."""


class PartitionRule(ABC):
    """A node of a rule tree. Every rule is a frozen dataclass; rules with equal fields find the same."""

    name: ClassVar[str]
    """Name of the rule in TOML, JSON and rule paths."""
    words: ClassVar[Mapping[str, str]] = {}
    """Field → its key in TOML and JSON, where the two differ."""

    @abstractmethod
    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        """Yield every sub-graph that the rule finds, each once; they may overlap."""

    def find_valid(self, context: RuleContext, config: SubGraphConfig, reject: Reject) -> Iterator[RuleMatch]:
        """Yield the matches of `find` that are valid, and call `reject` with the others.

        A rule that can avoid making the others overrides this.
        """
        for match in self.find(context):
            violation = SubGraph(context.graph, match.inside).violation(config)
            if violation is None:
                yield match
            else:
                reject(match, violation)

    def admits_host(self, graph: DataflowGraph, node: Node) -> bool:
        """Return whether a node that only the host runs may be inside a larger match: not where the toolchain would change its values."""
        return all(rule.admits_host(graph, node) for rule in self.below)

    @property
    def below(self) -> tuple[PartitionRule, ...]:
        """The sub-rules."""
        values = [getattr(self, spec.name) for spec in fields(self)]  # type: ignore[arg-type]
        listed = [value if isinstance(value, tuple) else (value,) for value in values]
        return tuple(item for items in listed for item in items if isinstance(item, PartitionRule))

    def to_json(self) -> dict[str, Any]:
        """Return the rule as data that `rule_from_json` reads."""
        data: dict[str, Any] = {"rule": self.name}
        for spec in fields(self):  # type: ignore[arg-type]
            value = getattr(self, spec.name)
            if value in (None, (), "") and value == spec.default:
                continue
            data[self.words.get(spec.name, spec.name)] = _plain(value)
        return data

    def __str__(self) -> str:
        return "\n".join(_lines(self, 0))


def find_with_note(rule: PartitionRule, context: RuleContext) -> Iterator[RuleMatch]:
    """Yield what the tree `rule` finds; log a note where it finds nothing."""
    found_some = False
    for match in rule.find(context):
        found_some = True
        yield match
    if not found_some:
        context.note(rule.name, "pattern", f"the rules of {context.target} find nothing in this model", "nothing")


def _plain(value: Any) -> Any:
    if isinstance(value, PartitionRule):
        return value.to_json()
    if isinstance(value, tuple) and value and isinstance(value[0], Condition):
        return {item.subject: _plain(item.wanted) for item in value}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if callable(value):
        return f"{value.__module__.rpartition('.')[2]}.{getattr(value, '__qualname__', type(value).__name__)}"
    return value


def _lines(rule: PartitionRule, indent: int) -> Iterator[str]:
    options = []
    for spec in fields(rule):  # type: ignore[arg-type]
        value = getattr(rule, spec.name)
        if isinstance(value, PartitionRule) or (isinstance(value, tuple) and value and isinstance(value[0], PartitionRule)):
            continue
        if value is not None and value != () and value != "":
            options.append(f"{rule.words.get(spec.name, spec.name)}={_plain(value)!r}")
    yield "  " * indent + rule.name + (f"({', '.join(options)})" if options else "")
    for sub in rule.below:
        yield from _lines(sub, indent + 1)
