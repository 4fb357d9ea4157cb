"""Every file that parses opens; its graphs, its card, its operators and its weights can be asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from onnx import ModelProto, save

from collage_server.services import services
from tests.helpers import viewed_models as odd


@pytest.fixture(scope="module")
def client(app: Any) -> FlaskClient:
    made: FlaskClient = app.test_client()
    return made


def opened(client: FlaskClient, folder: Path, model: ModelProto) -> dict[str, Any]:
    path = folder / "odd.onnx"
    save(model, path)
    response = client.post("/api/v1/models", json={"path": str(path)})
    assert response.status_code in (200, 201), response.text
    info: dict[str, Any] = response.json
    return info


@pytest.mark.parametrize("make", [odd.custom_operator, odd.missing_weights, odd.no_outputs], ids=lambda make: make.__name__)
def test_a_model_that_cannot_be_run_opens_as_its_file_has_it(client: FlaskClient, tmp_path: Path, make: Callable[[], ModelProto]) -> None:
    info = opened(client, tmp_path, make())
    assert info["refusal"]["error"]["message"] != ""
    graph = client.get(f"/api/v1/models/{info['id']}/graph").json
    assert len(graph["graph"]["nodes"]) == info["nodes"] == len(make().graph.node)
    assert client.get(f"/api/v1/models/{info['id']}/groups").status_code == 200
    refused = client.post("/api/v1/runs", json={"model": info["id"], "targets": ["onnxruntime"]})
    assert (refused.status_code, refused.json["error"]["message"]) == (400, info["refusal"]["error"]["message"])


def test_sizes_are_asked_for_with_the_model_open_and_then_open_it_as_planned(client: FlaskClient, tmp_path: Path) -> None:
    relu = odd.model([odd.helper.make_node("Relu", ["x"], ["y"])])
    info = opened(client, tmp_path, relu)
    [asked] = info["refusal"]["inputs"]
    assert (asked["name"], asked["dimensions"], asked["sizes"]) == ("x", ["N", "3", "?"], [1, 3, 128])
    assert info["inputs"] == [{"name": "x", "shape": [None, 3, None], "dtype": "float32", "symbols": ["N", "3", "?"]} | info["inputs"][0]]
    planned = client.post("/api/v1/models", json={"again": info["id"], "shapes": {"x": [1, 3, 8]}}).json
    assert (planned["refusal"], planned["inputs"][0]["shape"]) == (None, [1, 3, 8])
    assert planned["id"] != info["id"]
    wrong = client.post("/api/v1/models", json={"again": info["id"], "shapes": {"x": [1, 4, 8]}})
    assert wrong.status_code == 400
    assert "the model fixes it to 3" in wrong.json["error"]["message"]


def test_a_planned_model_has_the_graphs_of_its_file_too(client: FlaskClient, tmp_path: Path) -> None:
    info = opened(client, tmp_path, odd.nested_branches())
    assert info["refusal"] is None
    root = client.get(f"/api/v1/models/{info['id']}/file").json
    assert [body["scope"] for body in root["graph"]["nodes"][0]["bodies"]] == ["0.else_branch", "0.then_branch"]
    deep = client.get(f"/api/v1/models/{info['id']}/file", query_string={"scope": "0.then_branch/0.then_branch"}).json
    assert [step["title"] for step in deep["path"]] == ["odd", "gate · then_branch", "inner · then_branch"]
    assert deep["groups"] == {"id": info["id"], "repeats": [], "scopes": [], "sections": deep["groups"]["sections"]}
    unknown = client.get(f"/api/v1/models/{info['id']}/file?scope=9.none")
    assert (unknown.status_code, unknown.json["error"]["message"]) == (404, "the file of the model has no graph '9.none'")


def test_the_graphs_of_a_file_are_written_again_where_they_are_damaged(client: FlaskClient, app: Any, tmp_path: Path) -> None:
    info = opened(client, tmp_path, odd.nested_functions())
    with app.app_context():
        (services().models.folder(info["id"]) / "file.json.gz").write_bytes(b"damaged")
    assert client.get(f"/api/v1/models/{info['id']}/file?scope=function local:Inner").json["graph"]["nodes"][0]["op"] == "LeakyRelu"


def test_card_operators_and_weights_come_from_the_file(client: FlaskClient, tmp_path: Path) -> None:
    info = opened(client, tmp_path, odd.nested_branches())
    address = f"/api/v1/models/{info['id']}"
    assert client.get(f"{address}/card").json["operators"]["If"] == 2
    assert [one["op"] for one in client.get(f"{address}/operators").json["operators"]] == ["Identity", "If", "MatMul", "Relu"]
    weight = client.get(f"{address}/weights?name=w&first=3&count=2").json
    assert (weight["values"], weight["maximum"], weight["not_finite"]) == ([3.0, 0.0], 3.0, 1)
    assert client.get(f"{address}/weights?name=none").json["error"]["message"] == "the model has no weight 'none'"
    wrong = client.get(f"{address}/weights?name=w&first=-1")
    assert (wrong.status_code, wrong.json["error"]["message"]) == (400, "first is '-1', and must be a number of 0 or more")


def test_a_file_that_does_not_parse_is_refused(client: FlaskClient, tmp_path: Path) -> None:
    (tmp_path / "odd.onnx").write_bytes(b"\x08\x07" + b"abc" * 30)
    response = client.post("/api/v1/models", json={"path": str(tmp_path / "odd.onnx")})
    assert response.status_code == 400
    assert "is not an ONNX model" in response.json["error"]["message"]
