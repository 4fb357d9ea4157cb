"""Names the files in the folder of a run. Record and plan lie together: in the artifact where one was asked for, else beside it."""

from __future__ import annotations

from pathlib import Path

RECORD = "run.json.gz"
PLAN = "plan.json"
ARTIFACT = "artifact"
DOCUMENT = "document.json.gz"
"""The output of ``collage partition --json``."""

CANDIDATES = "candidate_columns.json.gz"
"""`PackedCandidates`."""

ESTIMATES = "candidate_estimates.json.gz"
"""`RunEstimates`."""

FORM = "artifact_form"
"""The form that the artifact was asked for; it is not there where that was no other than the default."""

STOP = "stop"
"""Is there while the run under way is to end with the best plan so far."""


def record_file(folder: Path) -> Path | None:
    """Find the record of the run in `folder`; None where it has none yet."""
    files = (folder / RECORD, folder / ARTIFACT / RECORD)
    return next((file for file in files if file.exists()), None)
