"""Routes that save and open session files: ``/api/v1/models/<id>/session``, ``/api/v1/runs/<id>/session``, ``/api/v1/sessions``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from flask import Blueprint, Response, request

from collage_core.base.home import home

from ..http.answers import answer
from ..http.error_answers import Problem
from ..http.file_names import attachment
from ..services import services
from ..sessions.open import open_session
from ..sessions.save import Contents, contents_of_model, contents_of_run, session_pieces

blueprint = Blueprint("sessions", __name__)


@blueprint.get("/models/<model>/session")
def save_model(model: str) -> Response:
    return _file(contents_of_model(services(), model, with_model=_with_model(), shown=request.args.get("shown")))


@blueprint.get("/runs/<run>/session")
def save_run(run: str) -> Response:
    return _file(contents_of_run(services(), run, with_model=_with_model()))


@blueprint.post("/sessions")
def open_file() -> Response:
    """Open the session in the part ``file`` of a multipart body."""
    files = request.files.getlist("file")
    if len(files) != 1:
        raise Problem(400, "invalid", f"{len(files)} files were sent, one session is expected", "send the .collage file alone")
    with tempfile.TemporaryDirectory(prefix=".session-", dir=home()) as folder:
        path = Path(folder) / "session.collage"
        files[0].save(path)
        opened = open_session(services().config, services().models, path)
    return answer(opened, 201 if opened.added else 200)


def _with_model() -> bool:
    return request.args.get("model") != "0"


def _file(contents: Contents) -> Response:
    return attachment(Response(session_pieces(contents), mimetype="application/zip"), contents.file_name)
