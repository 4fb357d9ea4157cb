"""The specs of a run: which targets share a rule tree, and what every rule of it gave and rejected in that run.

They are made from a record, as plain data (`rule_report.specs_with_counts`). A run of an older version kept no reports: its
trees are those of the toolchains that are here, under its options, and its rejections a sample.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from ..errors import CollageError
from ..options import Options
from ..rules import rule_report
from ..rules.base_rules import Host
from ..rules.spec import HOST_TARGET
from ..toolchains.registry import get
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
        for spec in rule_report.specs_with_counts(rule_reports(record))
    ]


def rule_reports(record: RunRecord) -> Mapping[str, rule_report.RuleReport]:
    """Target → what each of its rules gave and rejected."""
    if record.rules:
        return record.rules
    paths: dict[str, list[str]] = {}
    for item in record.candidates:
        paths.setdefault(item.target, []).append(item.candidate["rule"])
    trees = {target.name: _tree(target.name, record) for target in record.plan.targets} | {HOST_TARGET: Host().to_json()}
    return {
        name: rule_report.report_from_sample(name, tree, paths.get(name, ()), record.rejected)
        for name, tree in trees.items()
        if tree is not None
    }


def _tree(target: str, record: RunRecord) -> dict[str, Any] | None:
    """The tree that `target` has here under the run's options; None where there is no such toolchain."""
    given = record.plan.options
    names = tuple(known.name for known in record.plan.targets)
    depth, exits = _by_target(given.get("max_depth")), _by_target(given.get("max_exits"))
    taps = frozenset(given.get("taps", [""] if given.get("allow_taps") else []))
    try:
        policy, fusion = record.plan.value_policy, given.get("fusion", {})
        options = Options(names, max_depth=depth, max_exits=exits, taps=taps, fusion=fusion, value_policy=policy)
        return get(target).rule(options.rule_options(target)).to_json()
    except CollageError:
        return None


def _by_target(value: Any) -> dict[str, int]:
    """A bound as `Options` takes it: older runs had one number for all targets."""
    return dict(value) if isinstance(value, Mapping) else {} if value is None else {"": value}
