"""The files of a run that hold the page or what the page opens, which the explorer's server makes: `write_served`, and `report_text`.

A run and perhaps a path and the user's model enter; a file or its text leaves. The server lies above this room, so it is found as
toolchains are: by an entry point, of the group `GROUP`, that is called like the format.
"""

from __future__ import annotations

import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from ..base.isolation.worker import Worker
from ..errors import CollageError
from ..pipeline.record.record import RunRecord

GROUP = "collage.exports"
REPORT = "report"


class Writer(Protocol):
    """Writes the run in the folder `run` to the file `target`; ``run_model`` is the file or the sample that its model is.

    Without ``with_model`` its model's file is neither looked for nor kept.
    """

    def __call__(self, run: str, target: Path, /, *, with_model: bool = True, run_model: str | None = None) -> Any: ...


def write_served(form: str, record: RunRecord, target: Path, model: str | Path | None) -> None:
    """Write `record` in the format `form` to `target`. The explorer keeps the run for it, and one that it has is not kept twice.

    Args:
        model: The user's model; it is left out where the run did not fold it, since the explorer folds every model.

    Raises:
        CollageError: the server is not installed, or as the writer of this format says.
    """
    writer, folds = _writer(form), record.plan.options.get("fold", True)
    with tempfile.TemporaryDirectory(prefix="collage-export-") as folder:
        record.save(Path(folder))
        writer(folder, target, run_model=str(model) if model is not None and folds else None)


def report_text(record: RunRecord, timeout_s: float) -> str:
    """Return the report of `record` as HTML, made in a process of its own that keeps nothing.

    Raises:
        CollageError: the server is not installed, or the run has no report.
        WorkerError: it could not be made in `timeout_s`.
    """
    _writer(REPORT)  # a missing server is told before a process is started
    with tempfile.TemporaryDirectory(prefix="collage-report-") as name:
        folder = Path(name)
        (folder / "run").mkdir()
        record.save(folder / "run")
        with Worker(environment={"COLLAGE_HOME": str(folder / "home")}) as worker:
            worker.call(_write_report, str(folder / "run"), str(folder / "report.html"), timeout_s=timeout_s)
        return (folder / "report.html").read_text()


def _write_report(run: str, target: str) -> None:
    _writer(REPORT)(run, Path(target), with_model=False)


def _writer(form: str) -> Writer:
    for point in metadata.entry_points(group=GROUP, name=form):
        writer: Writer = point.load()
        return writer
    reason = f"the format {form!r} is made by the explorer's server, which is not installed"
    raise CollageError(reason, "run it from a checkout, or install the wheel that `make wheel` builds there (README.md)", "not_installed")
