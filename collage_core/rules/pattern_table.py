"""`PatternTable`: the base rule of TVM's pattern tables, whose matches someone with TVM found before (`RuleContext.tables`).

TVM's own partitioning (`FuseOpsByPattern`) takes the first match and checks neither that nothing outside reads what is inside nor that
no path leaves and comes back. This rule gives every match, and rejects those that are no valid partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ..errors import CollageError
from ..graph.index_set import IndexSet
from ..graph.sub_graph import SubGraph, SubGraphConfig
from .candidate import Rejection
from .rule import PartitionRule, RuleContext, RuleMatch, TableMatch


@dataclass(frozen=True)
class PatternTable(PartitionRule):
    """A candidate for every sub-graph that a pattern of a table matches and its check takes; its label is the pattern's name.

    Attributes:
        prefix: What the names of the table's patterns begin with, such as ``cublas``; or the whole name of one pattern.
    """

    name: ClassVar[str] = "pattern_table"
    prefix: str

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        table = context.tables.get(self.prefix)
        if table is None:
            raise CollageError(
                f"the pattern table {self.prefix!r} of {context.target} is TVM's, and was not matched here",
                "`collage partition` and `collage candidates` match it, where apache-tvm is installed",
                "bad_rule",
            )
        seen: set[IndexSet] = set()
        for match in table:
            indices = context.graph.index_by_name
            inside = IndexSet(indices[name] for name in match.nodes if name in indices)
            if not inside or inside in seen:
                continue
            stage, check, reason = self._refusal(context, match, inside)
            if reason:
                note = f"pattern {match.label}: {reason}"
                rejection = Rejection(context.target, tuple(inside), self.name, stage, note, pattern=match.label)
                context.log.add(rejection, f"{check} {match.label}")
            else:
                seen.add(inside)
                yield RuleMatch(inside, self.name, (match.label,))
        if not seen:
            context.note(self.name, "pattern", f"the pattern table {self.prefix} takes nothing in the model", f"absent {self.prefix}")

    def _refusal(self, context: RuleContext, match: TableMatch, inside: IndexSet) -> tuple[str, str, str]:
        """Return the stage, the check and the reason why the match is no candidate; empty where it is one."""
        if match.refusal:
            return "predicate", "check", match.refusal
        violation = SubGraph(context.graph, inside).violation(SubGraphConfig())
        return ("validity", violation.check, f"{violation.check}: {violation.reason}") if violation else ("", "", "")


def table_prefixes(rule: PartitionRule) -> list[str]:
    """Return the prefixes of the pattern tables in the tree `rule`, each once."""
    own = [rule.prefix] if isinstance(rule, PatternTable) else []
    return list(dict.fromkeys([*own, *(prefix for sub in rule.below for prefix in table_prefixes(sub))]))
