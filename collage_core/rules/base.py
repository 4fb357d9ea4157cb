"""`PartitionRule`: how the candidates of a target are found in a dataflow graph. Rules are data and compose as trees.

Seeds: RFC 62 (0.81), "PartitionRule". Base rules read the graph, combinator rules work on what their sub-rules found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ..graph import DataflowGraph, IndexSet
from .candidate import RejectionLog


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


@dataclass(frozen=True, slots=True)
class Found:
    """A sub-graph on its way through a rule tree: its nodes, the path of rules so far, and the composites inside."""

    inside: IndexSet
    path: str
    composites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleContext:
    """What a rule sees: the graph, the target it works for, and where rejections go."""

    graph: DataflowGraph
    target: str
    log: RejectionLog


class PartitionRule(ABC):
    """A node of a rule tree. Every rule is a frozen dataclass, and its fields are its whole meaning."""

    name: ClassVar[str]
    """The word for it in TOML, JSON and rule paths."""

    @abstractmethod
    def find(self, context: RuleContext) -> Iterator[Found]:
        """Every sub-graph that the rule finds, each once; they may overlap."""

    def to_json(self) -> dict[str, Any]:
        """The rule as the data that `rule_from_json` reads."""
        data: dict[str, Any] = {"rule": self.name}
        for spec in fields(self):  # type: ignore[arg-type]
            value = getattr(self, spec.name)
            if value is None or value == () or value == "":
                continue
            data[spec.name] = _plain(value)
        return data

    def __str__(self) -> str:
        return "\n".join(_lines(self, 0))


def _plain(value: Any) -> Any:
    if isinstance(value, PartitionRule):
        return value.to_json()
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
            options.append(f"{spec.name}={_plain(value)!r}")
    yield "  " * indent + rule.name + (f"({', '.join(options)})" if options else "")
    for sub in subs:
        yield from _lines(sub, indent + 1)
