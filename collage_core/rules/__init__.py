"""Partition rules and candidates: phases 1 and 2 as plain data.

A graph and a rule tree for each target enter; candidate partitions leave, and the rejected sub-graphs with their reasons. A rule
never builds, runs or measures anything, and knows no toolchain's library.

The names below are for those who write a toolchain (docs/toolchains.md); files of this project import a name from the file that
defines it.
"""

from .base import PartitionRule, RuleOptions
from .base_rules import DFPattern, Explicit, Host, OpCallByKind, OpPredicate
from .candidate import CandidatePartition
from .combinators import Composite, OnlyValid, Primitive, Union
from .combine import Combine
from .pattern_table import PatternTable
from .segments import Segments
from .trees import arbitrary_fusion, classic_fusion, fusion_tree

__all__ = [
    "CandidatePartition",
    "Combine",
    "Composite",
    "DFPattern",
    "Explicit",
    "Host",
    "OnlyValid",
    "OpCallByKind",
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
