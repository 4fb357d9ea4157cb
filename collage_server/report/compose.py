"""`report_of`: the report of a run.

An app and the id of a run enter; HTML leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from flask import Flask

from ..messages.installation import ReportInfo
from .answers import Collector, collect, tell_nobody
from .document import report_document


def report_of(app: Flask, run: str, tell: Callable[[str], None] = tell_nobody) -> str:
    """Return the report of `run`, a run that `app` knows.

    Args:
        tell: As `collect` takes it.

    Raises:
        CollageError: there is no such run, it has no plan, its model is not kept any more, or the page is not built.
    """
    answers, snapshot = collect(app, run, tell)
    plan = Collector(app).ask(f"runs/{run}/plan")
    versions = {target["name"]: target["version"] for target in plan["targets"]}
    about = ReportInfo(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", run, snapshot["machine"], versions)
    return report_document(app, answers, snapshot["model"], snapshot["model_name"], about)
