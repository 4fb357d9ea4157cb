"""Routes of ``/api/v1/runs/<id>/trace``: have a run's search traced, and read the trace chunk by chunk."""

from __future__ import annotations

import gzip

from flask import Blueprint, Response

from ..http.answers import accepts_gzip, answer, compressed_json
from ..http.error_answers import Problem
from ..services import services

blueprint = Blueprint("traces", __name__)


@blueprint.get("/runs/<run>/trace")
def get_trace(run: str) -> Response:
    return answer(services().traces.state(run))


@blueprint.post("/runs/<run>/trace")
def make_trace(run: str) -> Response:
    state = services().traces.start(run)
    return answer(state, 202 if state.state == "tracing" else 200)


@blueprint.delete("/runs/<run>/trace")
def delete_trace(run: str) -> Response:
    services().traces.drop(run)
    return Response(status=204)


@blueprint.get("/runs/<run>/trace/chunks/<number>")
def get_chunk(run: str, number: str) -> Response:
    if not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise Problem(400, "invalid", f"{number[:40]!r} is not the number of a chunk", "ask for 0")
    text = services().traces.chunk(run, int(number))
    response = compressed_json(gzip.compress(text, 1)) if accepts_gzip() else Response(text, mimetype="application/json")
    response.vary.add("Accept-Encoding")
    return response
