"""`write_report`: the report of a run in a file, without a server (`collage report`).

The id of a run, or its folder, enters; an app that no port serves answers what the page would ask.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from collage_core.base.home import expanded, writable_home
from collage_core.base.whole_file import write_whole
from collage_core.errors import CollageError

from .app import create_app
from .config import ServerConfig
from .report.answers import tell_nobody
from .report.compose import report_of
from .runs.run_store import SNAPSHOT, runs_folder
from .services import Services
from .sessions.from_folder import is_run, open_run
from .shared.json_files import is_id


def write_report(
    run: str,
    target: Path,
    *,
    with_model: bool = True,
    run_model: str | None = None,
    tell: Callable[[str], None] = tell_nobody,
) -> None:
    """Write the report of `run`, a kept run, the folder of one or the sample of a recorded one, to the file `target`.

    Args:
        with_model: Look for the model of a run in a folder, so that it is kept with the run; a report does not need it.
        run_model: The file of that model.
        tell: As `report_of` takes it.

    Raises:
        CollageError: as `report_of`, or the file cannot be written.
    """
    if not target.parent.is_dir():  # said before the work, not after it
        raise CollageError(
            f"cannot write {str(target)!r}: there is no folder {str(target.parent)!r}", "give another file with -o", "unwritable"
        )
    with writable_home():
        app, _ = create_app(ServerConfig())
        services: Services = app.extensions["collage"]
        try:
            text = report_of(app, _known(services, run, with_model, run_model), tell)
        finally:
            services.close()
    try:
        write_whole(target, text.encode())
    except OSError as error:
        raise CollageError(f"cannot write {str(target)!r}: {error.strerror}", "give another file with -o", "unwritable") from error


def _known(services: Services, run: str, with_model: bool, run_model: str | None) -> str:
    """Return the id of `run`; one in a folder is brought into the store."""
    kept = services.recorded.of_sample(run) or (run if is_id(run) and (runs_folder() / run / SNAPSHOT).exists() else None)
    if run_model is None and not is_run(run) and (kept or not os.path.exists(expanded(run))):
        return kept or run
    return open_run(services.config, services.models, run, run_model, looks_for_model=with_model).runs[0]
