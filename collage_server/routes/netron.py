"""Serves Netron from its package's own folder below ``/netron/``, and the models that it shows.

The page opens it in a frame of the same origin and hands the models over itself. It works offline and after the day on which
it would refuse to start, it asks nobody for consent, and reports to nobody; its policy allows nothing from outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVarTuple

import netron
from flask import Blueprint, Response, request, send_file

from collage_core.base.isolation.worker_errors import WorkerDied, WorkerTimeout
from collage_core.errors import CollageError

from ..http.asker import asker_left
from ..http.error_answers import not_found
from ..services import services
from ..shared.run_files import PLAN, record_file
from ..worker import onnx_files
from ..worker.onnx_files import Shown

blueprint = Blueprint("netron", __name__, url_prefix="/netron")
models = Blueprint("onnx", __name__)
Arguments = TypeVarTuple("Arguments")

FOLDER = Path(netron.__file__).parent
TYPES = {".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".png": "image/png", ".ico": "image/x-icon"}
CUT_TIMEOUT_S = 120.0
LEFT_OUT = "X-Collage-Left-Out"
"""How many tensors of the model that is answered have no values in it."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "worker-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
    )
)


@blueprint.after_request
def _set_policy(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = POLICY
    return response


@blueprint.get("/")
def page() -> Response:
    response = Response(shell(), mimetype="text/html")
    response.set_cookie("consent", "1", path=f"{request.script_root}/netron", samesite="Strict")
    return response


@blueprint.get("/<name>")
def file(name: str) -> Response:
    """Answer with a file of the package; all that Netron loads lies flat in its folder."""
    path = FOLDER / name
    kind = TYPES.get(path.suffix)
    if kind is None or path.parent != FOLDER or not path.is_file():
        raise not_found("not_found", f"Netron {netron.__version__} has no file {name[:80]!r}", "open /netron/ itself")
    response = send_file(path, mimetype=kind, conditional=True)
    response.headers["Cache-Control"] = "no-cache"
    return response


@cache
def shell() -> str:
    """Return Netron's page without its date, after which it would refuse to start, and as a version that reports to nobody."""
    text = (FOLDER / "index.html").read_text()
    text = re.sub(r'<meta name="date" content="[^"]*">\s*', "", text)
    return re.sub(r'<meta name="version" content="[^"]*">', '<meta name="version" content="0.0.0">', text)


@models.get("/models/<model>/onnx")
def original(model: str) -> Response:
    path, fixed = services().models.file(model)
    return _answer(onnx_files.original, str(path), fixed.shapes, fixed.values, fixed.region)


@models.get("/runs/<run>/onnx")
def partitioned(run: str) -> Response:
    return _answer(onnx_files.partitioned, *_of_run(run))


@models.get("/runs/<run>/partitions/<partition>/onnx")
def cut_partition(run: str, partition: str) -> Response:
    return _answer(onnx_files.cut_partition, *_of_run(run), partition)


def _of_run(run: str) -> tuple[str, str]:
    """Return the file of the run's model, and the run's plan."""
    folder = services().runs.folder(run)
    path, _ = services().models.file(services().runs.get(run).model)
    record = record_file(folder)
    assert record is not None
    return str(path), str(record.with_name(PLAN))


def _answer(function: Callable[[*Arguments], Shown], *args: *Arguments) -> Response:
    try:
        shown = services().pool.call(function, *args, timeout_s=CUT_TIMEOUT_S, should_stop=asker_left())
    except (WorkerTimeout, WorkerDied) as error:
        message = f"making the file for Netron {error.what}"
        raise CollageError(message, "the model may be too large for this machine's memory; look at one partition", "netron_file") from error
    response = Response(shown.onnx, mimetype="application/octet-stream")
    response.headers[LEFT_OUT] = str(shown.left_out)
    return response
