"""Route of ``/api/v1/runs/<id>/report``: the report of a run, to download."""

from __future__ import annotations

from flask import Blueprint, Response, current_app

from ..http.file_names import attachment, plain_name
from ..report.compose import report_of
from ..services import services

blueprint = Blueprint("reports", __name__)


@blueprint.get("/runs/<run>/report")
def get_report(run: str) -> Response:
    services().runs.folder(run)
    text = report_of(current_app._get_current_object(), run)  # type: ignore[attr-defined]
    return attachment(Response(text, mimetype="text/html"), f"{plain_name(services().runs.get(run).model_name)}-{run}-report.html")
