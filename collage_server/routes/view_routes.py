"""Routes of ``/api/v1/models/<id>``: the graphs of its file, its card, the definitions of its operators, and its weights."""

from __future__ import annotations

import gzip
import json

from flask import Blueprint, Response, request

from collage_core.base.isolation.worker_errors import WorkerDied
from collage_core.errors import CollageError

from ..http.answers import answer, json_file
from ..http.asker import asker_left
from ..http.error_answers import Problem, not_found
from ..messages.models import ModelOperators
from ..services import services
from ..worker import model_view

blueprint = Blueprint("view", __name__)

TIMEOUT_S = 120.0


@blueprint.get("/models/<model>/file")
def get_file(model: str) -> Response:
    scope = request.args.get("scope", "")
    graphs = services().models.file_graphs(model)
    if graphs is None:
        path, folder = _onnx_file(model), str(services().models.folder(model))
        try:
            services().pool.call(model_view.file_graphs, path, folder, True, timeout_s=TIMEOUT_S)
        except WorkerDied:  # ONNX's inference may end the process on a broken model.
            services().pool.call(model_view.file_graphs, path, folder, False, timeout_s=TIMEOUT_S)
        graphs = services().models.file_graphs(model)
        assert graphs is not None
    if scope not in graphs:
        raise not_found("unknown_scope", f"the file of the model has no graph {scope[:80]!r}", "the nodes name those in them (`bodies`)")
    graph = graphs[scope]
    content = {"id": model, **graph, "groups": {"id": model, **graph["groups"]}}
    return json_file(gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 1, mtime=0))


@blueprint.get("/models/<model>/card")
def get_card(model: str) -> Response:
    path = _onnx_file(model)
    return answer(services().pool.call(model_view.card, path, services().models.get(model).name, timeout_s=TIMEOUT_S))


@blueprint.get("/models/<model>/operators")
def get_operators(model: str) -> Response:
    return answer(ModelOperators(services().pool.call(model_view.operators, _onnx_file(model), timeout_s=TIMEOUT_S)))


@blueprint.get("/models/<model>/weights")
def get_weight(model: str) -> Response:
    name, first, count = request.args.get("name", ""), _number("first", 0), _number("count", 100)
    path = _onnx_file(model)
    info, fixed = services().models.get(model), services().models.fixed_inputs(model)
    shapes = None if info.refusal else fixed.shapes
    found = services().pool.call(
        model_view.weight, path, name, first, count, shapes, fixed.values, timeout_s=TIMEOUT_S, should_stop=asker_left()
    )
    return answer(found)


def _number(name: str, default: int) -> int:
    text = request.args.get(name, str(default))
    if not text.isdecimal() or len(text) > 18:
        raise Problem(400, "invalid", f"{name} is {text[:40]!r}, and must be a number of 0 or more", "")
    return int(text)


def _onnx_file(model: str) -> str:
    """Return the path of the model's file.

    Raises:
        Problem: there is no such model (404), or its file has changed (409).
        CollageError: it is not ONNX.
    """
    path, _ = services().models.file(model)
    if not services().models.get(model).is_onnx:
        raise CollageError("the model is no ONNX file", "its graph is shown as it was opened", "not_onnx")
    return str(path)
