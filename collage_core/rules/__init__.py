"""Partition rules and candidates: phases 1 and 2 as plain data (design, room ``rules``)."""

from .base import Found, PartitionRule, RuleContext, RuleOptions
from .base_rules import DFPattern, Explicit, Host, OpCallByKind, OpPredicate
from .candidate import CandidatePartition, Rejection, RejectionLog, candidate_id, make_candidate
from .combinators import Composite, OnlyValid, Primitive, Union
from .combine import Combine
from .data import RULES, rule_from_json
from .pattern import matches, parse_pattern
from .segments import Segments
from .spec import HOST_TARGET, PartitionSpec, find_candidates, gather_specs
from .trees import arbitrary_fusion, classic_fusion, fusion_tree

__all__ = [
    "HOST_TARGET",
    "RULES",
    "CandidatePartition",
    "Combine",
    "Composite",
    "DFPattern",
    "Explicit",
    "Found",
    "Host",
    "OnlyValid",
    "OpCallByKind",
    "OpPredicate",
    "PartitionRule",
    "PartitionSpec",
    "Primitive",
    "Rejection",
    "RejectionLog",
    "RuleContext",
    "RuleOptions",
    "Segments",
    "Union",
    "arbitrary_fusion",
    "candidate_id",
    "classic_fusion",
    "find_candidates",
    "fusion_tree",
    "gather_specs",
    "make_candidate",
    "matches",
    "parse_pattern",
    "rule_from_json",
]
