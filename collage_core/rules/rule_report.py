"""What every rule of a tree gave and turned down: a target's report while candidates are found, and the tree with its counts.

In goes what phase 2 left: candidates with their paths of rules, and the log of rejections. Out comes plain data: a report is
kept with the run, and a tree is made of it when somebody looks. A rule's count is of the candidates whose path leads through
it; of two rules that find the same set, the first one's path is kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .base import PartitionRule
from .candidate import CandidatePartition, RejectionLog

Report = Mapping[str, Any]
"""``tree``: the rule as data; ``paths``: path → [candidates, of them deferred]; ``rejected``: ``rule``, ``stage``, ``check`` and
``count`` of each sort; ``notes``: ``rule`` and ``text``; ``is_sample``: of the rejections some may not have been counted."""


def report(target: str, rule: PartitionRule, candidates: Iterable[CandidatePartition], log: RejectionLog) -> Report:
    """What is kept of phase 2 for `target`."""
    found, deferred = Counter[str](), Counter[str]()
    for candidate in candidates:
        found[candidate.rule] += 1
        deferred[candidate.rule] += candidate.deferred
    return {
        "tree": rule.to_json(),
        "paths": {path.removeprefix(f"{target}."): [count, deferred[path]] for path, count in found.items()},
        "rejected": [
            {"rule": sort[1], "stage": sort[2], "check": sort[3], "count": count}
            for sort, count in log.counts.items()
            if sort[0] == target and sort not in log.note_sorts
        ],
        "notes": [{"rule": note.rule, "text": note.reason} for note in log.notes if note.target == target],
        "is_sample": False,
    }


def sampled_report(target: str, tree: Mapping[str, Any], paths: Iterable[str], rejected: Iterable[Mapping[str, Any]]) -> Report:
    """The same of a run that kept none: by its costed candidates, and a sample of what was rejected."""
    found = Counter(path.removeprefix(f"{target}.") for path in paths)
    mine = [item for item in rejected if item["target"] == target]
    sorts = Counter((item["rule"], item["stage"], _check_of(item["reason"])) for item in mine if item["nodes"])
    return {
        "tree": tree,
        "paths": {path: [count, 0] for path, count in found.items()},
        "rejected": [{"rule": rule, "stage": stage, "check": check, "count": count} for (rule, stage, check), count in sorts.items()],
        "notes": [{"rule": item["rule"], "text": item["reason"]} for item in mine if not item["nodes"]],
        "is_sample": True,
    }


def _check_of(reason: str) -> str:
    """The check that a reason begins with, such as ``exits: …``."""
    check, colon, _ = reason.partition(":")
    return check if colon and check.isalpha() else ""


def specs(reports: Mapping[str, Report]) -> list[dict[str, Any]]:
    """One entry for each distinct tree: the ``targets`` that share it (a spec of phase 1), the ``tree`` with its counts, ``is_sample``."""
    by_tree: dict[str, list[str]] = {}
    for target, made in reports.items():
        by_tree.setdefault(json.dumps(made["tree"], sort_keys=True), []).append(target)
    return [
        {"targets": targets, "tree": tallied(reports[targets[0]]), "is_sample": reports[targets[0]]["is_sample"]}
        for targets in by_tree.values()
    ]


def tallied(made: Report) -> dict[str, Any]:
    """The tree of a report: at each rule its ``path``, ``rule``, ``options``, and what it gave and rejected (``of``: below it)."""
    nodes: list[dict[str, Any]] = []
    root = _node(made["tree"], "", made["paths"], nodes)
    known = Counter(node["path"] for node in nodes)
    for node in nodes:
        node["is_shared"] = known[node["path"]] > 1
    for item in made["rejected"]:
        _place(item["rule"], item["check"], nodes)["rejected"].append({key: item[key] for key in ("stage", "check", "count")})
    for item in made["notes"]:
        _place(item["rule"], "", nodes)["notes"].append(item["text"])
    for node in nodes:
        del node["label"]
    return root


def bare(rule: PartitionRule) -> dict[str, Any]:
    """The tree of a rule that has found nothing yet."""
    return tallied({"tree": rule.to_json(), "paths": {}, "rejected": [], "notes": [], "is_sample": False})


def _node(data: Mapping[str, Any], above: str, paths: Mapping[str, Sequence[int]], nodes: list[dict[str, Any]]) -> dict[str, Any]:
    """The rule `data` with those below it, each added to `nodes`."""
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


def _place(rule: str, check: str, nodes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The rule of the tree that a rejection speaks of: by its name; of several patterns, the one of that label."""
    name = rule.partition(".")[0]
    called = [node for node in nodes if node["rule"] == name]
    labelled = [node for node in called if node["label"] and check.endswith(node["label"])]
    return (labelled or called or list(nodes))[0]
