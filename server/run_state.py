"""`apply` and `finish`: a run's snapshot as a pure function of its events and of the document that it ends with.

In go a `RunSnapshot` and plain events; out comes the next snapshot. Nothing is read, written or sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from collage_core.rules.candidate import candidate_id

from .protocol import ApiError, Baseline, PlanInfo, PlanPartition, PlanTransition, RunSnapshot, TargetCounts, VerifyInfo

ENDED = ("done", "cancelled", "failed", "recorded")
"""States in which nothing is going on."""

ACTIVE = ("queued", "running")

NOTES_KEPT = 200
"""The newest notes; all of them are in the run's events."""

Nodes = Sequence[tuple[str, str]]
"""Name and operator of every node of the model, in order."""

Event = Mapping[str, Any]


def apply(snapshot: RunSnapshot, seq: int, event: Event, nodes: Nodes = ()) -> RunSnapshot:
    """The snapshot after `event`, whose number is `seq`. An event of a type that changes nothing changes only `seq`."""
    change = _CHANGES.get(event["type"])
    changes = change(snapshot, event, nodes) if change else {}
    return replace(snapshot, seq=seq, **changes)


def finish(snapshot: RunSnapshot, document: Mapping[str, Any]) -> RunSnapshot:
    """The snapshot with everything that the run's document (design, `partition`) knows better than its events."""
    search = document.get("search") or {}
    plan = document.get("plan")
    return replace(
        snapshot,
        counts=[_document_counts(target, snapshot) for target in document.get("targets", [])] or snapshot.counts,
        plan=plan_info(plan) if plan else None,
        best_s=plan["total_s"] if plan else snapshot.best_s,
        lower_bound_s=search.get("final", search).get("lower_bound_s", snapshot.lower_bound_s),
        optimal=search.get("optimal"),
        baselines=[_baseline(baseline) for baseline in document.get("baselines") or []],
        verify=_document_verify(document.get("verify"), snapshot.verify),
    )


def _phase_started(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    return {"phase": event["phase"]}


def _candidates_found(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    found = {"found": event["candidates"], "unique": event["unique"], "rejected": event["rejected"]}
    return {"counts": _counted(snapshot, event["target"], lambda counts: replace(counts, **found))}


def _candidate_building(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    return {"done": event["done"], "total": event["total"]}


def _candidate_costed(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    known = "cache_hits" if event["from_cache"] else "measured"
    field = "invalid" if event["cost"]["source"] == "invalid" else known

    def count(counts: TargetCounts) -> TargetCounts:
        return replace(counts, **{field: getattr(counts, field) + 1})

    return {"counts": _counted(snapshot, event["target"], count), "done": event["done"], "total": event["total"]}


def _search_progress(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    return {"lower_bound_s": event["lower_bound_s"], "best_s": event["best_s"] if event["best_s"] is not None else snapshot.best_s}


def _plan_improved(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    partitions = [_known_partition(target, indices, nodes) for target, indices in event["partitions"]]
    return {"best_s": event["total_s"], "plan": PlanInfo(event["total_s"], partitions, [])}


def _baseline_measured(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    others = [baseline for baseline in snapshot.baselines if baseline.name != event["name"]]
    return {"baselines": [*others, _baseline(event)]}


def _verified(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    return {"verify": VerifyInfo(event["measured_s"], None, event["max_rel_error"], event["accuracy"], None)}


def _note(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    return {"notes": [*snapshot.notes, event["text"]][-NOTES_KEPT:]}


def _state_changed(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    error = event.get("error")
    changes: dict[str, Any] = {
        "state": event["state"],
        "error": ApiError(**error) if error else None,
        "conflict": list(event.get("conflict", ())),
        "uncovered": list(event.get("uncovered", ())),
        "artifact": bool(event.get("artifact", False)),
    }
    if event["state"] != "running":
        changes["phase"] = None
    return changes


_CHANGES: dict[str, Callable[[RunSnapshot, Event, Nodes], dict[str, Any]]] = {
    "PhaseStarted": _phase_started,
    "CandidatesFound": _candidates_found,
    "CandidateBuilding": _candidate_building,
    "CandidateCosted": _candidate_costed,
    "SearchProgress": _search_progress,
    "PlanImproved": _plan_improved,
    "BaselineMeasured": _baseline_measured,
    "Verified": _verified,
    "Note": _note,
    "RunStateChanged": _state_changed,
}


def _counted(snapshot: RunSnapshot, target: str, change: Callable[[TargetCounts], TargetCounts]) -> list[TargetCounts]:
    """The counts with those of `target` changed; a target that was not asked for (greedy's, a described one) is added."""
    counts = list(snapshot.counts)
    for place, known in enumerate(counts):
        if known.name == target:
            counts[place] = change(known)
            return counts
    return [*counts, change(TargetCounts(target))]


def _known_partition(target: str, indices: Sequence[int], nodes: Nodes) -> PlanPartition:
    """A partition of a plan that is still being improved: who and what, not yet how long."""
    known = [nodes[index] for index in indices if index < len(nodes)]
    names = [name for name, _ in known]
    ops = [op for _, op in known]
    return PlanPartition(candidate_id(target, tuple(names)), target, list(indices), names, ops, None, None, 0, "", None)


def plan_info(plan: Mapping[str, Any]) -> PlanInfo:
    """The ``plan`` part of a run's document, as the page gets it."""
    partitions = [PlanPartition(**{name: partition.get(name) for name in _PARTITION_FIELDS}) for partition in plan["partitions"]]
    transitions = [
        PlanTransition(change["from"], change["to"], change["tensor"], change["bytes"], change["cost_s"])
        for change in plan.get("transitions") or []
    ]
    return PlanInfo(plan["total_s"], partitions, transitions)


_PARTITION_FIELDS = tuple(PlanPartition.__dataclass_fields__)


def _document_counts(target: Mapping[str, Any], snapshot: RunSnapshot) -> TargetCounts:
    rejected = next((counts.rejected for counts in snapshot.counts if counts.name == target["name"]), 0)
    return TargetCounts(
        name=target["name"],
        found=target["candidates"],
        unique=target["unique"],
        rejected=target.get("rejected", rejected),
        measured=target["measured"],
        invalid=target["invalid"],
        cache_hits=target["cache_hits"],
    )


def _document_verify(verify: Mapping[str, Any] | None, known: VerifyInfo | None) -> VerifyInfo | None:
    if not verify:
        return known
    return VerifyInfo(
        measured_s=verify.get("measured_s"),
        additive_error_s=verify.get("additive_error_s"),
        max_rel_error=verify.get("max_rel_error"),
        accuracy=verify.get("accuracy", known.accuracy if known else None),
        reference=verify.get("reference"),
    )


def _baseline(data: Mapping[str, Any]) -> Baseline:
    return Baseline(data["name"], data.get("total_s"), data.get("measured_s"), data.get("reason") or "")
