"""`run_document`: the document of a run that says as little as one can, for tests that change parts of it."""

from __future__ import annotations

from typing import Any

from collage_core.documents.json_form import from_json
from collage_core.documents.run import RunDocument

SEARCH = {
    "algorithm": "best-first",
    "optimal": True,
    "gap_s": 0.0,
    "stopped": False,
    "total_s": 0.8,
    "states": 3,
    "transitions": 5,
    "seconds": 0.1,
    "lower_bound_s": 0.5,
}
PART = {"id": "c", "target": "a", "nodes": [0], "names": ["x"], "ops": ["Conv"], "cost_s": 0.7, "samples": 3, "source": "measured"}
LEAST: dict[str, Any] = {
    "model": {"name": "tiny", "hash": "f" * 64, "nodes": 1, "inputs": [], "outputs": []},
    "phases": {},
    "targets": [],
    "search": {**SEARCH, "final": SEARCH},
    "plan": {"total_s": 0.7, "partitions": [PART]},
    "budget": None,
    "decided_by": "sum",
    "alternatives": [],
    "bodies": [],
    "baselines": [],
    "verify": {"accuracy": 1e-3},
    "cancelled": None,
}


def alternative(name: str, **changes: Any) -> dict[str, Any]:
    """Return the JSON of a plan that was timed end to end, a baseline unless `changes` say something else."""
    known = {"kind": "baseline", "total_s": None, "measured_s": None, "interval_s": None, "rounds": 5, "reason": "", "is_plan": False}
    return {"name": name, **known, "partitions": [], **changes}


def run_document(**changes: Any) -> RunDocument:
    """Return a document with some parts as `changes` say, each as JSON has it."""
    return from_json(RunDocument, {**LEAST, **changes})
