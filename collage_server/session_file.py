"""`save_session`: writes the session of what a user names, a run or a model, into a file (`collage session`).

A name and a path enter; a file leaves, whole or not at all. A sample or a model's file that is not open yet is opened for it.
"""

from __future__ import annotations

import os
import secrets
from contextlib import closing
from pathlib import Path

from collage_core.base.home import expanded, writable_home
from collage_core.errors import CollageError

from .config import ServerConfig
from .launch import open_model
from .model_store import FixedInputs
from .runs import run_store
from .services import Services, make
from .sessions.from_folder import is_run, open_run
from .sessions.save import Contents, contents_of_model, contents_of_run, session_pieces
from .shared.json_files import is_id


def save_session(named: str, out: Path, *, with_model: bool = True, run_model: str | None = None) -> Contents:
    """Write the session of a run, or of a model with all of its runs, to the file `out`.

    Args:
        named: Id of a run or of a model in the store, name of a sample, path of a model, or folder of a run.
        run_model: The file of the model of a run in a folder.

    Raises:
        CollageError: there is no such thing, or the file cannot be written.
    """
    config = ServerConfig()
    with writable_home(), closing(make(config)) as services:
        contents = _named(services, config, named, with_model, run_model)
        beside = out.with_name(f".{out.name}.{secrets.token_hex(4)}")
        try:
            with beside.open("wb") as file:
                file.writelines(session_pieces(contents))
            beside.replace(out)
        except OSError as error:
            raise CollageError(f"cannot write {str(out)!r}: {error.strerror}", "give another file with -o", "unwritable") from error
        finally:
            beside.unlink(missing_ok=True)
    return contents


def _named(services: Services, config: ServerConfig, named: str, with_model: bool, run_model: str | None) -> Contents:
    if run_model is not None or is_run(named):
        opened = open_run(config, services.models, named, run_model)
        return contents_of_run(services, opened.runs[0], with_model=with_model)
    if is_id(named) and not os.path.exists(expanded(named)):
        if (run_store.runs_folder() / named / run_store.SNAPSHOT).exists() or named in services.recorded.ids():
            return contents_of_run(services, named, with_model=with_model)
        if services.models.has(named):
            return contents_of_model(services, named, with_model=with_model)
    return contents_of_model(services, open_model(config, named, FixedInputs()), with_model=with_model)
