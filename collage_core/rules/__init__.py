"""Partition rules and candidates: phases 1 and 2 as plain data (design, room ``rules``)."""

from .base import Found, PartitionRule, RuleContext, RuleOptions
from .candidate import CandidatePartition, Rejection, RejectionLog, candidate_id, make_candidate

__all__ = [
    "CandidatePartition",
    "Found",
    "PartitionRule",
    "Rejection",
    "RejectionLog",
    "RuleContext",
    "RuleOptions",
    "candidate_id",
    "make_candidate",
]
