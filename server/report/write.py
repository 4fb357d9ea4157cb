"""`write_report`: the report of a run in a file, without a server (`collage report`).

The id of a run enters; an app that no port serves answers what the page would ask.
"""

from __future__ import annotations

from pathlib import Path

from collage_core.base.whole_file import write_whole
from collage_core.errors import CollageError

from ..app import create_app
from ..config import ServerConfig
from ..services import Services
from .compose import report_of


def write_report(run: str, target: Path) -> None:
    """Write the report of `run`, a kept run or the sample of a recorded one, to the file `target`.

    Raises:
        CollageError: as `report_of`, or the file cannot be written.
    """
    if not target.parent.is_dir():  # said before the work, not after it
        raise CollageError(
            f"cannot write {str(target)!r}: there is no folder {str(target.parent)!r}", "give another file with -o", "unwritable"
        )
    app, _ = create_app(ServerConfig())
    services: Services = app.extensions["collage"]
    try:
        known = services.recorded.of_sample(run) or run
        text = report_of(app, known)
    finally:
        services.close()
    try:
        write_whole(target, text.encode())
    except OSError as error:
        raise CollageError(f"cannot write {str(target)!r}: {error.strerror}", "give another file with -o", "unwritable") from error
