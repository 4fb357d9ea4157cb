"""Netron as it is served: without its date and its reports, under a policy of its own; and the models that it is given."""

from __future__ import annotations

import json
from http.cookies import SimpleCookie
from pathlib import Path

import netron as package
import onnx
import pytest
from flask import Flask
from flask.testing import FlaskClient

from collage_core.base.isolation.worker_errors import WorkerDied, WorkerTimeout
from collage_core.errors import CollageError
from collage_core.model.onnx_model import load_model
from collage_core.model.samples import registry as samples
from collage_core.rewrite.export.annotated import without_weights
from collage_server.config import ServerConfig
from collage_server.routes import netron as served
from collage_server.worker import onnx_files

Recorded = tuple[FlaskClient, str, str]
"""A client, the id of a sample, and that of its recorded run."""


@pytest.fixture(scope="module")
def config(home: Path) -> ServerConfig:
    return ServerConfig()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def test_the_page_has_no_date_and_reports_to_nobody(client: FlaskClient) -> None:
    text = client.get("/netron/").text
    assert 'name="date"' not in text
    assert '<meta name="version" content="0.0.0">' in text
    assert package.__version__ not in text


def test_the_package_still_has_what_is_taken_out() -> None:
    text = (served.FOLDER / "index.html").read_text()
    assert text.count('<meta name="date" content="') == 1
    assert text.count(f'<meta name="version" content="{package.__version__}">') == 1


def test_consent_is_given_for_netron_alone(app: Flask) -> None:
    client = app.test_client()
    for prefix in ("", "/tools/collage"):
        answer = client.get("/netron/", environ_overrides={"SCRIPT_NAME": prefix})
        cookie = SimpleCookie(answer.headers["Set-Cookie"])["consent"]
        assert (cookie["path"], cookie["samesite"]) == (f"{prefix}/netron", "Strict")


def test_its_policy_allows_nothing_from_outside(client: FlaskClient) -> None:
    for path in ("/netron/", "/netron/view.js", "/netron/nothing.js"):
        policy = client.get(path).headers["Content-Security-Policy"]
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        assert rules["default-src"] == "'none'"
        assert {part for rule in rules.values() for part in rule.split()} <= {"'none'", "'self'", "'unsafe-inline'", "data:", "blob:"}
        assert "unsafe" not in rules["script-src"]
    assert "unsafe" not in client.get("/").headers["Content-Security-Policy"].split("script-src")[1].split(";")[0]


def test_files_of_the_package_and_no_others_are_served(client: FlaskClient) -> None:
    answer = client.get("/netron/view.js")
    assert (answer.status_code, answer.mimetype) == (200, "text/javascript")
    again = client.get("/netron/view.js", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    for name in ("server.py", "__init__.py", "index.html", "..%2f__init__.py", "%2e%2e/netron/view.js", "nothing.js", ".js", "__pycache__"):
        assert client.get(f"/netron/{name}").status_code == 404, name


@pytest.fixture(scope="module")
def recorded(app: Flask) -> Recorded:
    client = app.test_client()
    model = client.post("/api/v1/models", json={"sample": "mnist"}).json
    runs = client.get("/api/v1/runs").json["runs"]
    run = next(one["id"] for one in runs if one["model"] == model["id"])
    client.get(f"/api/v1/runs/{run}")
    return client, model["id"], run


def test_the_original_is_the_file_itself(recorded: Recorded) -> None:
    client, model, _ = recorded
    answer = client.get(f"/api/v1/models/{model}/onnx")
    assert answer.headers[served.LEFT_OUT] == "0"
    assert onnx.ModelProto.FromString(answer.data) == onnx.load(samples.resolve("mnist"))


def test_the_partitioned_model_says_who_runs_what(recorded: Recorded) -> None:
    client, _, run = recorded
    plan = client.get(f"/api/v1/runs/{run}/plan").json
    model = onnx.ModelProto.FromString(client.get(f"/api/v1/runs/{run}/onnx").data)
    onnx.checker.check_model(model, full_check=True)
    about = {entry.key: entry.value for entry in model.metadata_props}
    assert about["collage predicted"] == f"{plan['total_s'] * 1e3:.4g} ms"
    told = [{entry.key: entry.value for entry in node.metadata_props} for node in model.graph.node]
    for partition in plan["partitions"]:
        for node in partition["nodes"]:
            assert told[node]["collage target"] == partition["target"]
            assert told[node]["collage cost from"] == partition["source"]
    assert any(name.startswith("collage regret of ") for one in told for name in one)
    typed = {value.name for value in (*model.graph.input, *model.graph.output, *model.graph.value_info)}
    assert {name for node in model.graph.node for name in node.output} <= typed


def test_a_partition_is_cut_out(recorded: Recorded) -> None:
    client, _, run = recorded
    plan = client.get(f"/api/v1/runs/{run}/plan").json
    for partition in plan["partitions"]:
        model = onnx.ModelProto.FromString(client.get(f"/api/v1/runs/{run}/partitions/{partition['id']}/onnx").data)
        assert [node.name for node in model.graph.node] == partition["names"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("models/nothing/onnx", 404, "unknown_model"),
        ("runs/nothing/onnx", 404, "unknown_run"),
        ("runs/nothing/partitions/c0/onnx", 404, "unknown_run"),
        ("runs/RUN/partitions/nothing/onnx", 400, "unknown_partition"),
    ],
)
def test_mistakes(recorded: Recorded, path: str, status: int, code: str) -> None:
    client, _, run = recorded
    answer = client.get(f"/api/v1/{path.replace('RUN', run)}")
    assert (answer.status_code, answer.json["error"]["code"]) == (status, code)


@pytest.mark.parametrize("error", [WorkerTimeout(120.0), WorkerDied("was killed with SIGKILL", -9)])
def test_a_file_that_cannot_be_made_is_said(recorded: Recorded, app: Flask, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    client, model, _ = recorded

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(app.extensions["collage"].pool, "call", fail)
    told = client.get(f"/api/v1/models/{model}/onnx").json["error"]
    assert told["code"] == "netron_file"
    assert told["hint"]


def test_a_plan_of_another_model_is_refused(tmp_path: Path, recorded: Recorded) -> None:
    client, _, run = recorded
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(client.get(f"/api/v1/runs/{run}/plan").json))
    with pytest.raises(CollageError, match="another model"):
        onnx_files.partitioned(str(samples.resolve("mini_mnist")), str(plan))


def test_no_path_of_this_machine_is_in_what_a_viewer_gets() -> None:
    model = onnx.ModelProto()
    for name, location in (("ours", "/home/somebody/weights.data"), ("theirs", "weights.data")):
        tensor = model.graph.initializer.add(name=name, data_type=1, dims=[3], data_location=onnx.TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value=location)
    assert without_weights(model, 1000) == 2
    assert [tensor.external_data[0].value for tensor in model.graph.initializer] == ["weights left out", "weights.data"]
    assert [list(tensor.dims) for tensor in model.graph.initializer] == [[3], [3]]


def test_large_weights_are_left_out_and_their_shapes_are_not() -> None:
    model = onnx.load(samples.resolve("mnist"))
    before = {tensor.name: (list(tensor.dims), tensor.data_type) for tensor in model.graph.initializer}
    whole = model.ByteSize()
    assert without_weights(model, whole) == 0
    taken = without_weights(model, 4096)
    assert 0 < taken < len(before)
    assert model.ByteSize() < 4096 + 20_000 < whole
    assert {tensor.name: (list(tensor.dims), tensor.data_type) for tensor in model.graph.initializer} == before
    assert load_model(samples.resolve("mnist")).graph is not None
    assert without_weights(model, 0) >= taken
