"""Partition rules and candidates: phases 1 and 2 as plain data (design, room ``rules``)."""

from .base import Found, PartitionRule, RuleContext, RuleOptions, find_or_say
from .base_rules import DFPattern, Explicit, Host, OpCallByKind, OpPredicate
from .candidate import CandidatePartition, Rejection, RejectionLog, candidate_id, make_candidate
from .combinators import Composite, OnlyValid, Primitive, Union
from .combine import Combine
from .data import RULES, RuleMistake, rule_from_json
from .pattern import Matcher, parse_pattern
from .segments import Segments
from .spec import HOST_TARGET, PartitionSpec, find_candidates, gather_specs
from .toml import line_of, rule_to_toml
from .trees import arbitrary_fusion, classic_fusion, fusion_tree
from .where import Condition, parse_where

__all__ = [
    "HOST_TARGET",
    "RULES",
    "CandidatePartition",
    "Combine",
    "Composite",
    "Condition",
    "DFPattern",
    "Explicit",
    "Found",
    "Host",
    "Matcher",
    "OnlyValid",
    "OpCallByKind",
    "OpPredicate",
    "PartitionRule",
    "PartitionSpec",
    "Primitive",
    "Rejection",
    "RejectionLog",
    "RuleContext",
    "RuleMistake",
    "RuleOptions",
    "Segments",
    "Union",
    "arbitrary_fusion",
    "candidate_id",
    "classic_fusion",
    "find_candidates",
    "find_or_say",
    "fusion_tree",
    "gather_specs",
    "line_of",
    "make_candidate",
    "parse_pattern",
    "parse_where",
    "rule_from_json",
    "rule_to_toml",
]
