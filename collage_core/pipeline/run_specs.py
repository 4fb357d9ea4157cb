"""The specs of a run: which targets share a rule tree, and what every rule of it gave and rejected in that run.

A record enters; plain data leaves.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from ..documents.json_form import from_json
from ..documents.rules import RuleTree, RunRules, RunSpec
from ..rules.spec import specs_with_counts
from .record.record import RunRecord


def run_rules(record: RunRecord) -> RunRules:
    """Return the specs of `record`."""
    merged, invalid = Counter[str](), defaultdict[str, Counter[str]](Counter)
    for item in record.candidates:
        merged[item.target] += item.candidate["rule"] == f"{item.target}.merged"
        if item.cost.is_invalid:
            invalid[item.target][item.cost.stage] += 1
    specs = (
        RunSpec(
            targets=tuple(spec["targets"]),
            tree=from_json(RuleTree, spec["tree"]),
            merged={name: merged[name] for name in spec["targets"]},
            invalid={name: dict(invalid[name]) for name in spec["targets"]},
        )
        for spec in specs_with_counts(record.rules)
    )
    return RunRules(tuple(specs))
