"""Partition rules and candidates: phases 1 and 2 as plain data.

A graph and a rule tree for each target enter; candidate partitions leave, and the rejected sub-graphs with their reasons. A rule
never builds, runs or measures anything, and knows no toolchain's library.

The names below are for those who write a toolchain (docs/toolchains.md); files of this project import a name from the file that
defines it. Each file is imported when a name of it is asked for: an artifact that runs has toolchains, and needs no rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base_rules import DFPattern, Explicit, Host, OpCallByKind, OpCheck, OpPredicate, PatternTable
    from .candidate import CandidatePartition
    from .combinators import (
        Combine,
        Composite,
        Folds,
        MatchCheck,
        OnlyValid,
        Primitive,
        Union,
        arbitrary_fusion,
        classic_fusion,
        fusion_tree,
    )
    from .rule import PartitionRule, RuleOptions
    from .segments import Segments

__all__ = [
    "CandidatePartition",
    "Combine",
    "Composite",
    "DFPattern",
    "Explicit",
    "Folds",
    "Host",
    "MatchCheck",
    "OnlyValid",
    "OpCallByKind",
    "OpCheck",
    "OpPredicate",
    "PartitionRule",
    "PatternTable",
    "Primitive",
    "RuleOptions",
    "Segments",
    "Union",
    "arbitrary_fusion",
    "classic_fusion",
    "fusion_tree",
]

_OWNERS = {
    "CandidatePartition": "candidate",
    "Combine": "combinators",
    "Composite": "combinators",
    "DFPattern": "base_rules",
    "Explicit": "base_rules",
    "Folds": "combinators",
    "Host": "base_rules",
    "MatchCheck": "combinators",
    "OnlyValid": "combinators",
    "OpCallByKind": "base_rules",
    "OpCheck": "base_rules",
    "OpPredicate": "base_rules",
    "PartitionRule": "rule",
    "PatternTable": "base_rules",
    "Primitive": "combinators",
    "RuleOptions": "rule",
    "Segments": "segments",
    "Union": "combinators",
    "arbitrary_fusion": "combinators",
    "classic_fusion": "combinators",
    "fusion_tree": "combinators",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _OWNERS:
        return getattr(import_module(f"{__name__}.{_OWNERS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
