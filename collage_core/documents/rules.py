"""The rule trees of a run or a toolchain, with what each rule gave and turned down (`collage_core.rules.spec`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class RuleRejection:
    """How many sub-graphs a rule turned down at a stage, by one check."""

    stage: str
    check: str
    count: int


@dataclass(frozen=True)
class RuleTree:
    """A rule, what it gave and turned down in a run, and the rules below it (`collage_core.rules.spec`).

    Attributes:
        path: Names of the rules from the root to it: that of its candidates begins so, after the target's name.
        options: In words.
        candidates: Those whose path leads through it.
        deferred: Of them, those that are costed only where merging comes to them.
        is_shared: Another rule of the tree has the same path: the counts are of both.
        notes: Notes on the rule itself, such as a pattern that matches nothing.
    """

    path: str
    rule: str
    options: Mapping[str, str]
    candidates: int
    deferred: int
    is_shared: bool
    rejected: tuple[RuleRejection, ...]
    notes: tuple[str, ...]
    of: tuple[RuleTree, ...]


@dataclass(frozen=True)
class RunSpec:
    """A rule tree of a run, and the targets that share it: its rules ran once for all of them.

    Attributes:
        merged: Target → further candidates, made of neighbours after a search.
        invalid: Target → stage → how many of its candidates failed there.
    """

    targets: tuple[str, ...]
    tree: RuleTree
    merged: Mapping[str, int]
    invalid: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class RunRules:
    """``GET /api/v1/runs/<id>/rules``: the specs of the run, the host's last."""

    specs: tuple[RunSpec, ...]
