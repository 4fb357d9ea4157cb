"""Counts what each rule of a tree found and rejected: a report for each target, and the rule tree with the counts of a report.

The results of phase 2 enter (candidates with their paths of rules, and the log of rejections); plain data leaves. The report is kept
with the run; the tree is made of it on demand. A rule counts the candidates whose path leads through it; of two rules that find the
same set, only the path of the first is kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .candidate import CandidatePartition, RejectionLog
from .rule import PartitionRule

RuleReport = Mapping[str, Any]
"""``tree``: the rule tree as data; ``paths``: path → [candidates, deferred ones]; ``rejected``: ``rule``, ``stage``, ``check`` and
``count`` of each group; ``notes``: ``rule`` and ``text``."""


def make_report(target: str, rule: PartitionRule, candidates: Iterable[CandidatePartition], log: RejectionLog) -> RuleReport:
    """Return the report on phase 2 for `target`."""
    counts, deferred = Counter[str](), Counter[str]()
    for candidate in candidates:
        counts[candidate.rule] += 1
        deferred[candidate.rule] += candidate.deferred
    return {
        "tree": rule.to_json(),
        "paths": {path.removeprefix(f"{target}."): [count, deferred[path]] for path, count in counts.items()},
        "rejected": [
            {"rule": group[1], "stage": group[2], "check": group[3], "count": count}
            for group, count in log.counts.items()
            if group[0] == target and group not in log.note_groups
        ],
        "notes": [{"rule": note.rule, "text": note.reason} for note in log.notes if note.target == target],
    }


def specs_with_counts(reports: Mapping[str, RuleReport]) -> list[dict[str, Any]]:
    """Return an entry for each distinct tree: ``targets`` that share it (a spec of phase 1), and ``tree`` with its counts."""
    by_tree: dict[str, list[str]] = {}
    for target, report in reports.items():
        by_tree.setdefault(json.dumps(report["tree"], sort_keys=True), []).append(target)
    return [{"targets": targets, "tree": tree_with_counts(reports[targets[0]])} for targets in by_tree.values()]


def tree_with_counts(report: RuleReport) -> dict[str, Any]:
    """Return the tree of a report; each rule has its ``path``, ``rule``, ``options``, counts, and the rules below it (``of``)."""
    nodes: list[dict[str, Any]] = []
    root = _node(report["tree"], "", report["paths"], nodes)
    known = Counter(node["path"] for node in nodes)
    for node in nodes:
        node["is_shared"] = known[node["path"]] > 1
    for item in report["rejected"]:
        _rule_of(item["rule"], item["check"], nodes)["rejected"].append({key: item[key] for key in ("stage", "check", "count")})
    for item in report["notes"]:
        _rule_of(item["rule"], "", nodes)["notes"].append(item["text"])
    for node in nodes:
        del node["label"]
    return root


def tree_without_counts(rule: PartitionRule) -> dict[str, Any]:
    """Return the same tree for a rule that has not been run yet: every count is 0."""
    return tree_with_counts({"tree": rule.to_json(), "paths": {}, "rejected": [], "notes": []})


def _node(data: Mapping[str, Any], above: str, paths: Mapping[str, Sequence[int]], nodes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the rule `data` with those below it, and add each to `nodes`."""
    rule = data["rule"]
    own = f"{rule}({data.get('name', '')})" if rule == "composite" else rule
    path = f"{above}.{own}" if above else own
    through = [counts for known, counts in paths.items() if known == path or known.startswith(f"{path}.")]
    subs = data.get("of", [])
    node: dict[str, Any] = {
        "path": path,
        "rule": rule,
        "options": {word: _shown(value) for word, value in data.items() if word not in ("rule", "of")},
        "candidates": sum(counts[0] for counts in through),
        "deferred": sum(counts[1] for counts in through),
        "rejected": [],
        "notes": [],
        "label": str(data.get("label") or data.get("match") or ""),
    }
    nodes.append(node)
    node["of"] = [_node(sub, path, paths, nodes) for sub in (subs if isinstance(subs, list) else [subs])]
    return node


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _rule_of(rule: str, check: str, nodes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the rule that made a rejection: the one called `rule`; of several patterns, the one whose label ends `check`."""
    name = rule.partition(".")[0]
    called = [node for node in nodes if node["rule"] == name]
    labelled = [node for node in called if node["label"] and check.endswith(node["label"])]
    return (labelled or called or list(nodes))[0]
