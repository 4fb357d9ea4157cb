"""The graph as DOT over the web: coloured as asked, and nothing but colours, labels and nodes is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from collage_server import model_store
from collage_server.shared.json_files import write_json
from collage_server.worker import load_model
from tests.helpers.dot_reader import read_dot
from tests.helpers.graphs import MINI_MNIST
from tests.helpers.live import put_model

CLUSTER = {"label": 'tvm "1 ms"', "colour": "#B8639a", "nodes": [1, 2, 99]}


@pytest.fixture(scope="module")
def drawable(home: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    model = put_model(tmp_path_factory.mktemp("drawn") / "mini.onnx", b"mini")
    folder = model_store._models_folder() / model
    write_json(folder / load_model.GRAPH, {"id": model, "graph": MINI_MNIST.to_json(), "folded": []})
    return model


def test_it_is_drawn_as_asked(app: Flask, drawable: str) -> None:
    body = {"title": "mini", "fills": [None, "#b8639a"], "clusters": [CLUSTER]}
    answer = app.test_client().post(f"/api/v1/models/{drawable}/dot", json=body)
    assert (answer.status_code, answer.mimetype) == (200, "text/vnd.graphviz")
    dot = read_dot(answer.text)
    assert dot.clusters == [('tvm "1 ms"', ["n1", "n2"])]
    assert dot.nodes["n1"]["fillcolor"] == '"#b8639a66"'


@pytest.mark.parametrize(
    "change",
    [
        {"fills": ['#fff", label="x']},
        {"fills": ["red"]},
        {"fills": [3]},
        {"clusters": [{**CLUSTER, "colour": "#12345"}]},
        {"clusters": [{**CLUSTER, "nodes": ["1"]}]},
        {"clusters": [{**CLUSTER, "label": "x" * 201}]},
        {"clusters": [{"label": "x"}]},
        {"title": "x" * 201},
    ],
)
def test_what_is_not_right_is_refused(app: Flask, drawable: str, change: dict[str, Any]) -> None:
    answer = app.test_client().post(f"/api/v1/models/{drawable}/dot", json={"title": "mini", **change})
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "invalid")
