"""Route ``/api/v1/models/<id>/dot``: the graph of a model for Graphviz, with the colours that the page shows."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from flask import Blueprint, Response

from ..http.answers import json_body
from ..http.asker import asker_left
from ..http.error_answers import Problem
from ..http.validation import read
from ..messages.models import DotCluster, DotRequest
from ..services import services
from ..worker.model_drawing import write_dot

blueprint = Blueprint("dot", __name__)

_COLOUR = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)
LABEL_CHARACTERS = 200


@blueprint.post("/models/<model>/dot")
def make_dot(model: str) -> Response:
    file, _ = services().models.graph(model)
    drawing = _checked(json_body(DotRequest))
    text = services().pool.call(write_dot, str(file), drawing, should_stop=asker_left())
    return Response(text, mimetype="text/vnd.graphviz")


def _checked(request: DotRequest) -> dict[str, Any]:
    """The request as plain data: every colour is one, every label short, every cluster well-formed.

    Raises:
        Problem: something is not (400).
    """
    clusters = [read(DotCluster, data) for data in request.clusters]
    for colour in (*(fill for fill in request.fills if fill is not None), *(cluster.colour for cluster in clusters)):
        if not _COLOUR.fullmatch(colour):
            raise Problem(400, "invalid", f"{colour[:40]!r} is no colour", "write it as #rrggbb")
    for label in (request.title, *(cluster.label for cluster in clusters)):
        if len(label) > LABEL_CHARACTERS:
            raise Problem(400, "invalid", f"a label has {len(label)} characters, {LABEL_CHARACTERS} are accepted", "shorten it")
    return {"title": request.title, "fills": request.fills, "clusters": [asdict(cluster) for cluster in clusters]}
