"""The specs of a run: which targets share a rule tree, and what every rule of it gave and rejected in that run.

They are made from a record, as plain data (`rule_report.specs_with_counts`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from ..rules import rule_report
from .record.record import RunRecord


def run_specs(record: RunRecord) -> list[dict[str, Any]]:
    """Each spec: ``targets`` and ``tree`` (`rule_report.tree_with_counts`), and of each target what became of its candidates.

    ``merged`` has how many were made of neighbours after a search, ``invalid`` at which stage how many came to nothing.
    """
    merged, invalid = Counter[str](), defaultdict[str, Counter[str]](Counter)
    for item in record.candidates:
        merged[item.target] += item.candidate["rule"] == f"{item.target}.merged"
        if item.cost.is_invalid:
            invalid[item.target][item.cost.stage] += 1
    return [
        {
            **spec,
            "merged": {name: merged[name] for name in spec["targets"]},
            "invalid": {name: dict(invalid[name]) for name in spec["targets"]},
        }
        for spec in rule_report.specs_with_counts(record.rules)
    ]
