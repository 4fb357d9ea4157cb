"""Makes every error answer of the web API, in one shape: ``{"error": {"code", "message", "hint"}}``.

`CollageError`s, Flask's own HTTP errors and faults of ours enter; JSON answers leave. A fault's traceback goes to the log and
never to the client.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from collage_core.base.durations import duration
from collage_core.base.isolation.worker_errors import WorkerTimeout
from collage_core.base.module_regions import RegionSummary
from collage_core.base.open_inputs import OpenInput
from collage_core.base.whole_file import FULL
from collage_core.errors import Cancelled, CollageError

from ..messages.live import ApiError, ErrorBody, OpenInputJson, RegionChoice

_CODES = {400: "invalid", 404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "not_json"}
_HINTS = {
    404: "docs/api.md lists every address",
    405: "docs/api.md lists the methods of every address",
    413: "the page says how large an upload may be; open a larger model by its path",
    415: "send JSON with Content-Type: application/json",
}


DISK_FULL = ApiError("disk_full", "the disk is full", "make room, or set COLLAGE_HOME to a folder with room; what was measured is stored")
_HALF = ApiError("half", "the rest of the request did not come", "send it again")


class Problem(CollageError):
    """A mistake of a request, with its HTTP status."""

    def __init__(self, status: int, code: str, message: str, hint: str = ""):
        super().__init__(message, hint, code)
        self.status = status


def not_found(code: str, message: str, hint: str = "") -> Problem:
    """Make the error of a thing that does not exist (404)."""
    return Problem(404, code, message, hint)


def refused(code: str, message: str, hint: str = "") -> Problem:
    """Make the error of what is not possible in the present state (409)."""
    return Problem(409, code, message, hint)


def api_error(error: CollageError) -> ApiError:
    """Return a mistake as the page gets it."""
    return ApiError(error.code, error.message, error.hint)


def error_response(
    status: int, error: ApiError, choices: Sequence[str] = (), regions: Sequence[RegionSummary] = (), inputs: Sequence[OpenInput] = ()
) -> Response:
    """Answer with an `ErrorBody`."""
    return Response(json.dumps(error_body(error, choices, regions, inputs)), status, mimetype="application/json")


def error_body(
    error: ApiError, choices: Sequence[str] = (), regions: Sequence[RegionSummary] = (), inputs: Sequence[OpenInput] = ()
) -> dict[str, Any]:
    """Return an `ErrorBody` as it travels: without choices, regions and inputs where there are none."""
    offered = [RegionChoice(region.name, region.function, region.block, region.nodes) for region in regions]
    asked = [OpenInputJson(**asdict(size)) for size in inputs]
    return {key: value for key, value in asdict(ErrorBody(error, list(choices), offered, asked)).items() if value}


def register(app: Flask) -> None:
    """Let `app` answer every error with an `ErrorBody`."""
    app.register_error_handler(CollageError, _mistake)
    app.register_error_handler(
        Cancelled, lambda error: error_response(503, ApiError("cancelled", "the client has disconnected", "ask again"))
    )
    app.register_error_handler(TimeoutError, lambda error: error_response(408, _HALF))
    app.register_error_handler(WorkerTimeout, _too_slow)
    app.register_error_handler(OSError, lambda error: error_response(507, DISK_FULL) if error.errno in FULL else _fault(app, error))
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, lambda error: _fault(app, error))


def _mistake(error: CollageError) -> Response:
    extras = (getattr(error, name, ()) for name in ("choices", "regions", "inputs"))
    return error_response(getattr(error, "status", 400), api_error(error), *extras)


def _too_slow(error: WorkerTimeout) -> Response:
    message = f"the answer took longer than {duration(error.seconds)}, and was given up"
    return error_response(503, ApiError("too_slow", message, "ask again when no run measures, or ask for less"))


def _http(error: HTTPException) -> Response:
    status = error.code or 500
    if status < 400:
        return error.get_response()  # type: ignore[return-value]
    message = {
        404: f"there is nothing at {request.path!r}",
        405: f"{request.path!r} does not take {request.method}",
        413: "the body of the request is larger than what is accepted",
    }.get(status) or (error.description or HTTPStatus(status).phrase)
    response = error_response(status, ApiError(_CODES.get(status, "invalid"), message, _HINTS.get(status, "")))
    for name, value in error.get_headers():
        if name.lower() == "allow":
            response.headers[name] = value
    return response


def _fault(app: Flask, error: Exception) -> Response:
    app.logger.error("fault while answering %s %s", request.method, request.path, exc_info=error)
    return error_response(500, ApiError("internal", "the server has an internal error", "its log has the details; please report it"))
