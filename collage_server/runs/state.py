"""`apply` and `finish`: make a run's snapshot, as a pure function of its events and of the document that it ends with.

A `RunSnapshot` and plain events enter; the next snapshot leaves. Nothing is read, written or sent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from collage_core.documents.json_form import from_json
from collage_core.documents.leaderboard import leaders_after
from collage_core.documents.plan import Baseline, MeasuredPlan, PlanInfo, PlanPartition
from collage_core.documents.run import PhaseSeconds, RunDocument, TargetInfo
from collage_core.documents.statements import time_of_run
from collage_core.documents.verdict import verdict
from collage_core.documents.verify import Verify, VerifyInfo
from collage_core.events import PHASES

from ..messages.live import ApiError, Numbered
from ..messages.runs import (
    BodyProgress,
    BudgetInfo,
    Comparing,
    ConsideredPart,
    ConsideredPlan,
    ConvergencePoint,
    Doing,
    NewCost,
    PhaseTime,
    PlacedPart,
    RunSnapshot,
    SearchStand,
    TargetCounts,
)

ENDED = ("done", "cancelled", "failed", "recorded")
"""States in which nothing is going on."""

ACTIVE = ("queued", "running")

NOTES_KEPT = 200
"""How many of the newest notes a snapshot holds; all are in the run's events."""

NEW_COSTS_KEPT = 20

Nodes = Sequence[tuple[str, str]]
"""Name and operator of every node of the model, in order."""

Event = Mapping[str, Any]


POINTS_KEPT = 256
POINT_STEP_S = 0.1

NOT_BUILT = ("pattern", "predicate", "validity", "device", "import", "build")
"""Stages at which a candidate fails before it is built."""

NOT_KNOWN = ("estimate", "profile", "bound", "unknown")
"""Sources of costs that nobody knows: neither a trial nor a database gave them."""

AT_REST: dict[str, Any] = dict.fromkeys(("phase", "step", "doing", "ends_s", "search", "considered", "comparing", "body"))
"""The fields of a snapshot that describe work under way, for a run that rests."""


def apply(snapshot: RunSnapshot, item: Numbered, nodes: Nodes = ()) -> RunSnapshot:
    """Return the snapshot after an event. An event whose type changes nothing changes only number and clock."""
    snapshot = replace(snapshot, seq=item.seq, now_s=item.at_s)
    change = _CHANGES.get(item.event["type"])
    if item.event["type"] in _OF_THE_LEADERBOARD:
        snapshot = replace(snapshot, leaders=leaders_after(snapshot.leaders, item.event))
    if change is None:
        return snapshot
    snapshot = replace(snapshot, **change(snapshot, item.event, nodes))
    return replace(snapshot, convergence=_convergence(snapshot)) if item.event["type"] in _OF_THE_TOTAL else snapshot


def finish(snapshot: RunSnapshot, document: RunDocument) -> RunSnapshot:
    """Return the snapshot with everything that the run's document knows better than its events."""
    final, budget = document.search.final, document.budget
    known = replace(
        snapshot,
        counts=[_document_counts(target, snapshot) for target in document.targets] or snapshot.counts,
        plan=document.plan,
        best_s=document.plan.total_s,
        lower_bound_s=final.lower_bound_s,
        optimal=final.optimal,
        baselines=[
            Baseline(name=row.name, total_s=row.total_s, measured_s=row.measured_s, reason=row.reason) for row in document.baselines
        ],
        time=time_of_run(document),
        verdict=verdict(document),
        decided_by=document.decided_by if document.alternatives else None,
        alternatives=[row.summary for row in document.alternatives],
        verify=_document_verify(document.verify),
        phases=snapshot.phases or _document_phases(document.phases),
        budget=None if budget is None else BudgetInfo(budget.limit_s, budget.spent_s, budget.rivals),
        cancelled=document.cancelled,
    )
    return replace(known, convergence=_convergence(known)) if known.convergence else known


def _phase_started(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    return {
        **AT_REST,
        "ends_s": snapshot.ends_s,
        **_timed(snapshot, PhaseTime(event["phase"], snapshot.now_s, None)),
        "phase": event["phase"],
    }


def _step_started(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    return {"step": event["step"], "doing": None, "body": None, "ends_s": _ends_s(snapshot, event)}


def _ends_s(snapshot: RunSnapshot, event: Event) -> float | None:
    left_s = event.get("left_s")
    return None if left_s is None else snapshot.now_s + left_s


def _phase_ended(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    began = next((known.started_s for known in snapshot.phases if known.phase == event["phase"]), None)
    changes = _timed(snapshot, PhaseTime(event["phase"], began, event["seconds"]))
    if event["phase"] == "costs":
        changes["counts"] = [replace(counts, spared=max(0, counts.unique - _known(counts))) for counts in snapshot.counts]
    return changes


def _timed(snapshot: RunSnapshot, time: PhaseTime) -> dict[str, Any]:
    """Return the phases with `time` as the newest: a plan that errs too much is followed by another, which is built again."""
    return {"phases": [*(known for known in snapshot.phases if known.phase != time.phase), time]}


def _known(counts: TargetCounts) -> int:
    """Count the distinct computations whose cost is known, or known to be invalid."""
    return counts.measured + counts.invalid + counts.cache_hits


def _candidates_found(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    found = {"found": event["candidates"], "unique": event["unique"], "rejected": event["rejected"]}
    return {"counts": _counted(snapshot, event["target"], lambda counts: replace(counts, **found))}


def _candidate_building(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    doing = Doing(event["target"], event["label"], list(event.get("spans", ())), snapshot.now_s, event.get("repetition", 1))
    return {"doing": doing, "search": None, **_progress(snapshot, event)}


def _progress(snapshot: RunSnapshot, event: Event) -> dict[str, Any]:
    return {"done": event["done"], "total": event["total"], "ends_s": _ends_s(snapshot, event), "body": None}


def _searching_body(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    told = (event[name] for name in ("doing", "name", "number", "count", "done", "total"))
    return {"body": BodyProgress(*told)}


def _candidate_costed(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    source = event["cost"]["source"]
    known = "cache_hits" if event["from_cache"] else "measured"
    field = "invalid" if source == "invalid" else known
    took_s = event.get("took_s")
    is_built = took_s is not None and event["cost"].get("stage") not in NOT_BUILT

    def count(counts: TargetCounts) -> TargetCounts:
        if source not in NOT_KNOWN:
            counts = replace(counts, **{field: getattr(counts, field) + 1})
        return replace(
            counts,
            built=counts.built + is_built,
            spared=max(0, counts.spared - (snapshot.phase == "search")),
            trials=counts.trials + (took_s is not None),
            trials_s=counts.trials_s + (took_s or 0.0),
        )

    changes = {"counts": _counted(snapshot, event["target"], count), **_progress(snapshot, event)}
    if source not in NOT_KNOWN:
        cost = event["cost"]
        new = NewCost(event["target"], event["label"], cost["seconds"], cost.get("interval_s"), cost.get("reason") or "")
        changes["new_costs"] = [new, *snapshot.new_costs[: NEW_COSTS_KEPT - 1]]
    return changes


def _plan_considered(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    parts = [ConsideredPart(target, list(spans), is_known) for target, spans, is_known in event["partitions"]]
    best_s = event["best_s"] if event["best_s"] is not None else snapshot.best_s
    return {"considered": ConsideredPlan(event["total_s"], parts), "search": None, "best_s": best_s}


def _search_progress(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    best_s = event["best_s"] if event["best_s"] is not None else snapshot.best_s
    bound_s = event["lower_bound_s"] if event["lower_bound_s"] is not None else snapshot.lower_bound_s
    placed = [PlacedPart(target, list(spans)) for target, spans in event.get("placed", ())]
    counts = {name: event[name] for name in ("states", "frontier", "covered", "nodes")}
    stand = SearchStand(**counts, placed=placed, placed_s=event.get("placed_s", 0.0), least_s=event["lower_bound_s"])
    return {"lower_bound_s": bound_s, "best_s": best_s, "search": stand, "doing": None}


def _plan_improved(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    partitions = tuple(_known_partition(target, indices, nodes) for target, indices in event["partitions"])
    return {"best_s": event["total_s"], "plan": PlanInfo(total_s=event["total_s"], partitions=partitions)}


def _comparing_plans(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    comparing = Comparing(event["doing"], event["name"], event["done"], event["total"])
    return {"comparing": comparing, "ends_s": _ends_s(snapshot, event)}


def _baseline_measured(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    others = [baseline for baseline in snapshot.baselines if baseline.name != event["name"]]
    return {"baselines": [*others, _baseline(event)]}


def _plan_decided(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    verify = None if snapshot.verify is None else replace(snapshot.verify, measured_s=event["measured_s"])
    return {
        "decided_by": event["decided_by"],
        "alternatives": [from_json(MeasuredPlan, row) for row in event["alternatives"]],
        "verify": verify,
    }


def _verified(snapshot: RunSnapshot, event: Event, nodes: Nodes) -> dict[str, Any]:
    # Baselines that are timed already were timed on another occasion: within a run they come after this.
    apart = any(baseline.measured_s is not None for baseline in snapshot.baselines)
    return {
        "verify": VerifyInfo(measured_s=event["measured_s"], max_rel_error=event["max_rel_error"], accuracy=event["accuracy"], apart=apart)
    }


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
        "waits_for": event.get("waits_for", ""),
    }
    return changes if event["state"] == "running" else {**changes, **AT_REST}


_CHANGES: dict[str, Callable[[RunSnapshot, Event, Nodes], dict[str, Any]]] = {
    "PhaseStarted": _phase_started,
    "StepStarted": _step_started,
    "PhaseEnded": _phase_ended,
    "CandidatesFound": _candidates_found,
    "CandidateBuilding": _candidate_building,
    "CandidateCosted": _candidate_costed,
    "TargetAlone": lambda snapshot, event, nodes: {},  # a row of the leaderboard, and nothing else
    "SearchingBody": _searching_body,
    "PlanConsidered": _plan_considered,
    "SearchProgress": _search_progress,
    "PlanImproved": _plan_improved,
    "ComparingPlans": _comparing_plans,
    "BaselineMeasured": _baseline_measured,
    "PlanDecided": _plan_decided,
    "Verified": _verified,
    "Note": _note,
    "RunStateChanged": _state_changed,
}


_OF_THE_LEADERBOARD = ("PhaseStarted", "CandidatesFound", "TargetAlone", "PlanImproved", "BaselineMeasured", "PlanDecided")
_OF_THE_TOTAL = ("PlanConsidered", "SearchProgress", "PlanImproved")


def _convergence(snapshot: RunSnapshot) -> list[ConvergencePoint]:
    """Return the points of the convergence with the present one. It replaces one close by; of many, every second one goes."""
    estimate_s = snapshot.considered.total_s if snapshot.considered else None
    point = ConvergencePoint(snapshot.now_s, snapshot.best_s, snapshot.lower_bound_s, estimate_s)
    points = snapshot.convergence
    if points and replace(points[-1], seconds=point.seconds) == point:
        return points
    if len(points) > 1 and point.seconds - points[-2].seconds < POINT_STEP_S:
        points = points[:-1]
    points = [*points, point]
    last = len(points) - 1
    return points if last < POINTS_KEPT else [one for index, one in enumerate(points) if index % 2 == 0 or index == last]


def _counted(snapshot: RunSnapshot, target: str, change: Callable[[TargetCounts], TargetCounts]) -> list[TargetCounts]:
    """Return the counts with those of `target` changed; a target that was not asked for (greedy's, a described one) is added."""
    counts = list(snapshot.counts)
    for index, known in enumerate(counts):
        if known.name == target:
            counts[index] = change(known)
            return counts
    return [*counts, change(TargetCounts(target))]


def _known_partition(target: str, indices: Sequence[int], nodes: Nodes) -> PlanPartition:
    """Return a partition of a plan that is still being improved: its target and nodes, not yet its cost."""
    from collage_core.rules.candidate import candidate_id  # with numpy, which a server needs for nothing before the first plan

    known = [nodes[index] for index in indices if index < len(nodes)]
    names = tuple(name for name, _ in known)
    ops = tuple(op for _, op in known)
    name = candidate_id(target, names)
    return PlanPartition(id=name, target=target, nodes=tuple(indices), names=names, ops=ops, cost_s=None, source="")


def _document_counts(target: TargetInfo, snapshot: RunSnapshot) -> TargetCounts:
    """Return the counts of a target; the document counts invalid candidates one by one, so what events said of distinct ones is kept."""
    known = next((counts for counts in snapshot.counts if counts.name == target.name), TargetCounts(target.name))
    if not _known(known):
        known = replace(known, measured=target.measured, invalid=target.invalid, cache_hits=target.cache_hits)
    return replace(known, found=target.candidates, unique=target.unique, spared=target.spared)


def _document_phases(seconds: PhaseSeconds) -> list[PhaseTime]:
    """Return how long each phase took, for a run whose events are not known."""
    known = ((phase, getattr(seconds, f"{phase}_s")) for phase in PHASES)
    return [PhaseTime(phase, None, took_s) for phase, took_s in known if took_s is not None]


def _document_verify(verify: Verify) -> VerifyInfo | None:
    """Return what the page gets of a verified plan, null for errors that are no numbers; None where nothing was compared or timed."""
    if verify.reference is None and verify.measured_s is None and verify.max_rel_error is None:
        return None
    told = {field.name: getattr(verify, field.name) for field in fields(VerifyInfo)}
    errors = {name: _finite(error) for name, error in verify.errors.items()}
    return VerifyInfo(**{**told, "max_rel_error": _finite(verify.max_rel_error), "errors": errors})


def _finite(error: float | None) -> float | None:
    return error if error is not None and math.isfinite(error) else None


def _baseline(data: Mapping[str, Any]) -> Baseline:
    return Baseline(data["name"], data.get("total_s"), data.get("measured_s"), data.get("reason") or "")
