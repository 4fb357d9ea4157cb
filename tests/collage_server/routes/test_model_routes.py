"""Opening models: uploads with external data, samples, paths; and whatever is wrong with them."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from fake_engine import FakeEngine
from flask import Flask
from onnx import TensorProto, helper, numpy_helper

from collage_server import model_store
from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.services import services
from collage_server.shared.json_files import read_json, write_json
from collage_server.worker import load_model
from tests.helpers.detectors import detector
from tests.helpers.live import Live, put_model
from tests.helpers.models import rated_model, write
from tests.helpers.speech_models import speech_model

WEIGHTS = "tiny.weights"


def onnx_file(folder: Path, *, external: bool = False, batch: Any = 1, channels: Any = 3) -> Path:
    """``relu(x + w)`` over ``batch × channels``; with its weights in a file of their own if `external`."""
    weight = numpy_helper.from_array(np.arange(3, dtype=np.float32), "w")
    nodes = [helper.make_node("Add", ["x", "w"], ["s"], "add"), helper.make_node("Relu", ["s"], ["y"], "relu")]
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, channels])
    graph = helper.make_graph(nodes, "tiny", [value], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = folder / "tiny.onnx"
    if external:
        onnx.save(model, path, save_as_external_data=True, location=WEIGHTS, size_threshold=0)
    else:
        onnx.save(model, path)
    return path


def upload(app: Flask, files: Sequence[tuple[str, bytes]], shapes: str | None = None, *, trust: bool = False) -> Any:
    data: dict[str, Any] = {"file": [(io.BytesIO(content), name) for name, content in files]}
    if trust:
        data["trust"] = "true"
    if shapes is not None:
        data["shapes"] = shapes
    return app.test_client().post("/api/v1/models", data=data, content_type="multipart/form-data")


def leftovers() -> list[str]:
    return [folder.name for folder in model_store._models_folder().iterdir() if folder.name.startswith(".")]


def test_upload_with_external_data_then_graph_then_delete(app: Flask, tmp_path: Path) -> None:
    path = onnx_file(tmp_path, external=True)
    files = [("some/folder/tiny.onnx", path.read_bytes()), (f"some/folder/{WEIGHTS}", (tmp_path / WEIGHTS).read_bytes())]
    answer = upload(app, files)
    assert answer.status_code == 201, answer.text
    info = answer.json
    assert (info["name"], info["nodes"], info["quantised"], info["sample"], info["stale"]) == ("tiny", 2, False, None, False)
    assert info["accuracy"] == 1e-3
    assert info["inputs"] == [{"name": "x", "shape": [1, 3], "dtype": "float32"}]
    assert info["outputs"] == [{"name": "y", "shape": [1, 3], "dtype": "float32"}]
    assert info["size_bytes"] == sum(len(content) for _, content in files)
    assert upload(app, files).status_code == 200, "it was open already"
    client = app.test_client()
    info["opened"] = client.get("/api/v1/models").json["models"][0]["opened"]
    assert client.get(f"/api/v1/models/{info['id']}").json == info
    assert info in client.get("/api/v1/models").json["models"]

    graph = client.get(f"/api/v1/models/{info['id']}/graph")
    assert graph.json["id"] == info["id"]
    assert [node["op"] for node in graph.json["graph"]["nodes"]] == ["Add", "Relu"]
    assert graph.json["formal"] == {"Add": {"names": ["A", "B"], "rest": None}, "Relu": {"names": ["X"], "rest": None}}
    packed = client.get(f"/api/v1/models/{info['id']}/graph", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.data) < len(graph.data)
    again = client.get(f"/api/v1/models/{info['id']}/graph", headers={"If-None-Match": graph.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")

    assert client.delete(f"/api/v1/models/{info['id']}").status_code == 204
    assert client.get(f"/api/v1/models/{info['id']}").status_code == 404
    assert leftovers() == []


def test_a_model_of_several_shapes_is_shown_at_the_last_one_and_keeps_all_for_its_runs(app: Flask, tmp_path: Path) -> None:
    models = app.extensions["collage"].models
    path, several = onnx_file(tmp_path, channels="c"), {"x": "1,{2,3}"}
    info, is_new = models.open_path(path, model_store.FixedInputs(several))
    assert (info.inputs[0].shape, is_new) == ((1, 3), True)
    assert models.file(info.id) == (path, model_store.FixedInputs(several))
    again, is_new = models.open_path(path, model_store.FixedInputs({"x": [1, 3]}))
    assert (again.id, is_new) == (info.id, False)
    assert models.file(info.id)[1].to_json()["shapes"] == {"x": [1, 3]}


def test_path_with_shapes_is_used_where_it_lies(app: Flask, tmp_path: Path) -> None:
    path = onnx_file(tmp_path, external=True, channels="c")
    client = app.test_client()
    unsaid = client.post("/api/v1/models", json={"path": str(path)})
    assert "'x'" in unsaid.json["refusal"]["error"]["message"]
    info = client.post("/api/v1/models", json={"path": str(path), "shapes": {"x": [1, 3]}}).json
    assert info["inputs"][0]["shape"] == [1, 3]
    assert app.extensions["collage"].models.file(info["id"]) == (path, model_store.FixedInputs({"x": [1, 3]}))
    os.utime(tmp_path / WEIGHTS, (1, 1))
    assert client.get(f"/api/v1/models/{info['id']}").json["stale"] is True
    reopened = client.post("/api/v1/models", json={"path": str(path), "shapes": {"x": [1, 3]}})
    assert (reopened.json["id"], reopened.json["stale"]) == (info["id"], False)


def test_a_fixed_value_makes_another_model_and_is_remembered(app: Flask, tmp_path: Path) -> None:
    client, path = app.test_client(), write(tmp_path, rated_model())
    free = client.post("/api/v1/models", json={"path": str(path)}).json
    fixed = client.post("/api/v1/models", json={"again": free["id"], "values": {"sr": "16000"}}).json
    assert [(info["nodes"], info["values"], [x["name"] for x in info["inputs"]]) for info in (free, fixed)] == [
        (2, {}, ["x", "sr"]),
        (1, {"sr": "16000"}, ["x"]),
    ]
    assert client.post("/api/v1/models", json={"again": fixed["id"]}).json["id"] == fixed["id"]
    assert client.post("/api/v1/models", json={"again": fixed["id"], "values": {}}).json["id"] == free["id"]
    assert app.extensions["collage"].models.file(fixed["id"])[1].to_json() == {"shapes": {}, "values": {"sr": "16000"}}
    data = {"file": (io.BytesIO(path.read_bytes()), "model.onnx"), "values": '{"sr": "16000"}'}
    assert client.post("/api/v1/models", data=data).json["id"] == fixed["id"]
    wrong = client.post("/api/v1/models", json={"path": str(path), "values": {"sr": "fast"}})
    assert (wrong.status_code, wrong.json["error"]["code"]) == (400, "value")
    assert wrong.json["error"]["message"] == "the value 'fast' of input 'sr' is no int64"


def test_a_data_dependent_dimension_is_told_beside_the_shape_of_the_reference_run(app: Flask, tmp_path: Path) -> None:
    client = app.test_client()
    info = client.post("/api/v1/models", json={"path": str(write(tmp_path, detector()))}).json
    (selected,) = info["outputs"]
    assert (selected["name"], selected["shape"], selected["measured_shape"][1]) == ("selected", [None, 3], 3)
    assert "measured_shape" not in info["inputs"][0]
    nodes = client.get(f"/api/v1/models/{info['id']}/graph").json["graph"]["nodes"]
    assert [node["name"] for node in nodes if "measured_shape" in node["outputs"][0]] == ["nms"]
    assert client.get("/api/v1/models").json["models"][0]["outputs"] == info["outputs"]


def test_sample(app: Flask) -> None:
    answer = app.test_client().post("/api/v1/models", json={"sample": "mini-MNIST"})
    assert (answer.status_code, answer.json["name"], answer.json["sample"]) == (201, "mini_mnist", "mini_mnist")


def test_a_sample_is_read_again_only_where_what_was_read_is_gone_stale_or_for_other_inputs(
    app: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, read, call = app.test_client(), list[str](), model_store.ModelStore._call

    def counting(store: model_store.ModelStore, path: Path, *given: Any) -> Any:
        read.append(path.name)
        return call(store, path, *given)

    def open_sample(**more: Any) -> tuple[int, str, int]:
        answer = client.post("/api/v1/models", json={"sample": "mini_mnist", **more})
        return answer.status_code, answer.json["id"], len(read)

    model = open_sample()[1]
    upload(app, [("tiny.onnx", onnx_file(tmp_path).read_bytes())])
    monkeypatch.setattr(model_store.ModelStore, "_call", counting)
    assert open_sample() == (200, model, 0)
    assert client.get("/api/v1/models").json["models"][0]["id"] == model, "what was opened last is listed first"
    shape = [1, 1, 28, 28]
    assert open_sample(shapes={client.get(f"/api/v1/models/{model}").json["inputs"][0]["name"]: shape}) == (200, model, 1)
    assert open_sample() == (200, model, 2), "its file of facts tells of another way to open it"
    meta = model_store._models_folder() / model / model_store.META
    facts = read_json(meta)
    write_json(meta, {**facts, "files": [{**facts["files"][0], "bytes": 1}]})
    assert open_sample() == (200, model, 3)
    assert client.delete(f"/api/v1/models/{model}").status_code == 204
    assert open_sample() == (201, model, 4)
    assert open_sample() == (200, model, 4)


def test_samples_are_listed(app: Flask) -> None:
    rows = {row["name"]: row for row in app.test_client().get("/api/v1/samples").json["samples"]}
    assert set(rows["mini_mnist"]) == {"name", "title", "description", "recorded", "result"}


@pytest.mark.parametrize(
    ("files", "code", "message"),
    [
        ([], "no_model", "no .onnx file is among what was sent: nothing"),
        ([("a.bin", b"1"), ("b.txt", b"2")], "no_model", "no .onnx file is among what was sent: 'a.bin', 'b.txt'"),
        ([("a.onnx", b"1"), ("b.ONNX", b"2")], "several_models", "2 models were sent at once: 'a.onnx', 'b.ONNX'"),
        ([("x/a.onnx", b"1"), ("y/a.onnx", b"2")], "same_name", "two files are called 'a.onnx'"),
        ([("a.onnx/..", b"1")], "bad_name", "'a.onnx/..' cannot be the name of a file"),
        ([("../", b"1")], "bad_name", "'../' cannot be the name of a file"),
        ([("n" * 300 + ".onnx", b"1")], "bad_name", f"'{'n' * 80}' cannot be the name of a file"),
        ([(f"{number}.bin", b"") for number in range(65)], "too_many_files", "65 files were sent, 64 are accepted"),
    ],
)
def test_uploads_that_are_refused_unread(app: Flask, files: list[tuple[str, bytes]], code: str, message: str) -> None:
    answer = upload(app, files)
    assert (answer.status_code, answer.json["error"]["code"], answer.json["error"]["message"]) == (400, code, message)
    assert answer.json["error"]["hint"]
    assert leftovers() == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no model at all", "'broken.onnx'"),
        (b"", "'broken.onnx' is empty"),
        (b"\x08\x09" + b"\xff" * 50, "'broken.onnx' is cut off or damaged"),
    ],
)
def test_broken_uploads_are_named_as_the_user_knows_them(app: Flask, content: bytes, message: str) -> None:
    error = upload(app, [("broken.onnx", content)]).json["error"]
    assert error["message"].startswith(message)
    assert ".incoming" not in error["message"]
    assert leftovers() == []


def test_external_data_missing(app: Flask, tmp_path: Path) -> None:
    path = onnx_file(tmp_path, external=True)
    error = upload(app, [("tiny.onnx", path.read_bytes())]).json["refusal"]["error"]
    assert (error["code"], error["message"]) == ("no_external_data", f"the data of 'w' is in '{WEIGHTS}', which is not there")
    assert error["hint"] == "the model keeps its weights in a second file: choose both files together, or drop both"


def test_integers_that_a_page_would_round_are_text(tmp_path: Path) -> None:
    attributes = {"largest": 2**63 - 1, "bounds": [-(2**53), 2**53 - 1]}
    graph = {"nodes": [{"op": "Slice", "attributes": attributes}], "constants": {"k": {"value": (2**62, True)}}}
    load_model.write_graph(tmp_path, {"graph": graph}, None)
    written = read_json(tmp_path / load_model.GRAPH)["graph"]
    assert written["nodes"][0]["attributes"]["largest"] == "9223372036854775807"
    assert written["nodes"][0]["attributes"]["bounds"] == ["-9007199254740992", 2**53 - 1]
    assert written["constants"]["k"]["value"] == [str(2**62), True]


@pytest.mark.parametrize("shapes", ["[1]", '{"x": 3}', '{"x": ["a"]}', "{", '{"x": [1.5]}'])
def test_shapes_that_are_none(app: Flask, shapes: str) -> None:
    answer = upload(app, [("a.onnx", b"")], shapes)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "invalid")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"sample": "nothing"}, 400, "unknown_sample"),
        ({"sample": "mnist", "path": "/x"}, 400, "invalid"),
        ({"path": "/nothing/there.onnx"}, 400, "no_file"),
        ({"path": "a\0b"}, 400, "invalid"),
        ({"path": 3}, 400, "invalid"),
    ],
)
def test_open_mistakes(app: Flask, body: dict[str, Any], status: int, code: str) -> None:
    answer = app.test_client().post("/api/v1/models", json=body)
    assert (answer.status_code, answer.json["error"]["code"]) == (status, code), answer.text


def test_a_folder_is_answered_with_the_models_in_it(app: Flask, tmp_path: Path) -> None:
    for name in ("onnx/model.onnx", "onnx/model_int8.onnx"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    answer = app.test_client().post("/api/v1/models", json={"path": str(tmp_path)})
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "several_models")
    assert answer.json["choices"] == [str(tmp_path / "onnx/model.onnx"), str(tmp_path / "onnx/model_int8.onnx")]
    refused = app.test_client().post("/api/v1/models", json={"path": str(tmp_path / "onnx/model.onnx")}).json
    assert "choices" not in refused


def test_a_single_file_is_told_by_its_content(app: Flask) -> None:
    answer = upload(app, [("model.safetensors", (20).to_bytes(8, "little") + b'{"w": {"dtype": "F32"}}')])
    error = answer.json["error"]
    assert (answer.status_code, error["code"]) == (400, "not_onnx")
    assert error["message"] == "'model.safetensors' is a file of safetensors: weights without a graph, not an ONNX model"
    assert "optimum-cli export onnx" in error["hint"]


def test_a_model_behind_links_opens_with_its_external_data(app: Flask, tmp_path: Path) -> None:
    """As the cache of Hugging Face has it: links with the names, beside a folder with the files."""
    blobs, names = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir(), names.mkdir()
    path = onnx_file(blobs, external=True)
    for name in (path.name, WEIGHTS):
        (blobs / name).rename(blobs / f"{name}-digest")
        (names / name).symlink_to(blobs / f"{name}-digest")
    answer = app.test_client().post("/api/v1/models", json={"path": str(names / path.name)})
    assert answer.status_code == 201, answer.text
    again = app.test_client().get(f"/api/v1/models/{answer.json['id']}").json
    assert not again["stale"]


SCRIPT = b"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        with R.dataflow():
            a = R.nn.relu(R.exp(x))
            R.output(a)
        return a
"""


@pytest.mark.long
def test_a_relax_module_opens_like_any_model(app: Flask) -> None:
    client = app.test_client()
    info = upload(app, [("module.py", SCRIPT)], trust=True).json
    assert (info["name"], info["nodes"], info["inputs"][0]["shape"]) == ("module", 2, [1, 4])
    nodes = client.get(f"/api/v1/models/{info['id']}/graph").json["graph"]["nodes"]
    assert [(node["name"], node["op"]) for node in nodes] == [("lv", "Exp"), ("a", "Relu")]
    shown = client.get(f"/api/v1/models/{info['id']}/onnx")
    assert [node.op_type for node in onnx.ModelProto.FromString(shown.data).graph.node] == ["Exp", "Relu"]


SEVERAL = b"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            R.output(a)
        return a

    @R.function
    def other(y: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            b = R.exp(y)
            c = R.tanh(b)
            R.output(c)
        return c
"""


@pytest.mark.long
def test_of_several_regions_one_is_chosen(app: Flask) -> None:
    """The error lists them, the largest first; a run, and what is opened again, are of the chosen one."""
    client = app.test_client()
    asked = upload(app, [("several.py", SEVERAL)], trust=True)
    assert (asked.status_code, asked.json["error"]["code"]) == (400, "several_regions")
    assert asked.json["regions"] == [
        {"name": "other.0", "function": "other", "block": 0, "nodes": 2},
        {"name": "main.0", "function": "main", "block": 0, "nodes": 1},
    ]
    data = {"file": [(io.BytesIO(SEVERAL), "several.py")], "region": '"other.0"', "trust": "true"}
    info = client.post("/api/v1/models", data=data, content_type="multipart/form-data").json
    assert (info["name"], info["nodes"], info["region"]) == ("several", 2, "other.0")
    shown = client.get(f"/api/v1/models/{info['id']}/onnx")
    assert [node.op_type for node in onnx.ModelProto.FromString(shown.data).graph.node] == ["Exp", "Tanh"]
    with app.app_context():
        _, fixed = services().models.file(info["id"])
    assert fixed.to_json()["region"] == "other.0"
    again = client.post("/api/v1/models", json={"again": info["id"]})
    assert (again.status_code, again.json["region"]) == (200, "other.0")
    asked = client.post("/api/v1/models", json={"again": info["id"], "region": ""})
    assert len(asked.json["regions"]) == 2
    assert leftovers() == []


@pytest.mark.parametrize("name", ["evil.py", "folder/evil.PY", "evil.pt2"])
def test_a_program_is_opened_after_a_question(app: Flask, tmp_path: Path, name: str) -> None:
    """Without the answer nothing of it runs, whether it comes as an upload or by its path."""
    ran, program = tmp_path / "ran", tmp_path / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"open({str(ran)!r}, 'w')")
    client = app.test_client()
    for answer in (upload(app, [(name, program.read_bytes())]), client.post("/api/v1/models", json={"path": str(program)})):
        assert (answer.status_code, answer.json["error"]) == (
            409,
            {
                "code": "asks_trust",
                "message": f"{program.name!r} is a program: opening it runs what is in it, which can do whatever you can on this machine",
                "hint": 'send "trust": true if you trust who wrote it',
            },
        )
    assert not ran.exists()
    assert leftovers() == []


def test_what_was_trusted_is_opened_again_without_a_question_unless_it_changes(app: Flask, tmp_path: Path) -> None:
    trusted = put_model(tmp_path / "x.py", b"trusted")
    answer = app.test_client().post("/api/v1/models", json={"again": trusted})
    assert answer.json["error"]["code"] != "asks_trust"
    (tmp_path / "x.py").write_bytes(b"another one")
    answer = app.test_client().post("/api/v1/models", json={"again": trusted})
    assert (answer.status_code, answer.json["error"]["code"]) == (409, "asks_trust")


@pytest.mark.parametrize("trust", ['"yes"', "1", "null", "[true]"])
def test_an_answer_that_is_none(app: Flask, trust: str) -> None:
    answer = app.test_client().post("/api/v1/models", data={"file": (io.BytesIO(SCRIPT), "x.py"), "trust": trust})
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "invalid")


REMOTE = [
    {"environ_base": {"REMOTE_ADDR": "10.0.0.1"}},
    {"headers": {"X-Forwarded-For": "127.0.0.1"}},
    {"headers": {"Forwarded": "for=127.0.0.1"}},
    {"headers": {"Via": "1.1 proxy"}},
]
"""Requests of others than who trusts the accounts of this machine: from elsewhere, or from a proxy that nobody told of."""


@pytest.mark.parametrize("name", ["module.py", "program.pt2", "PROGRAM.PY"])
@pytest.mark.parametrize("remote", REMOTE)
def test_programs_are_for_this_machine_alone(app: Flask, name: str, remote: dict[str, Any]) -> None:
    answer = app.test_client().post("/api/v1/models", data={"file": (io.BytesIO(SCRIPT), name)}, **remote)
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "runs_code")


@pytest.mark.parametrize("remote", REMOTE)
def test_paths_are_for_this_machine_alone(app: Flask, remote: dict[str, Any]) -> None:
    answer = app.test_client().post("/api/v1/models", json={"path": "/x"}, **remote)
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "local_paths_off")


@pytest.fixture
def untrusting(home: Path) -> Iterator[Callable[..., Flask]]:
    """Makes apps as `ServerConfig` says, with the fake engine."""
    apps = list[Flask]()

    def make(**settings: Any) -> Flask:
        apps.append(create_app(ServerConfig(engine=FakeEngine(), **settings))[0])
        return apps[-1]

    yield make
    for app in apps:
        app.extensions["collage"].close()


TURN_ON = "; or start the explorer without --no-token"


def test_loopback_is_no_user(untrusting: Callable[..., Flask], tmp_path: Path) -> None:
    """Without a token, another account of this machine may ask from the same address: nothing of its choice runs, and the hint says why."""
    client, ran = untrusting(token=None).test_client(), tmp_path / "ran"
    program = io.BytesIO(f"open({str(ran)!r}, 'w')".encode())
    refused = client.post("/api/v1/models", data={"file": (program, "x.py")})
    assert (refused.status_code, refused.json["error"]) == (
        403,
        {
            "code": "runs_code",
            "message": "'x.py' may hold code, which would run on the server",
            "hint": f"send what `tvm.ir.save_json` writes of its module, or open it with `collage explore FILE`{TURN_ON}",
        },
    )
    refused = client.post("/api/v1/models", json={"path": str(tmp_path)})
    assert (refused.status_code, refused.json["error"]) == (
        403,
        {
            "code": "local_paths_off",
            "message": "models cannot be opened by a path on the server's machine",
            "hint": f"send the file instead{TURN_ON}",
        },
    )
    assert not ran.exists()


def test_without_a_token_who_asks_from_this_machine_is_trusted_if_its_user_says_so(untrusting: Callable[..., Flask]) -> None:
    client = untrusting(token=None, trust_local=True).test_client()
    program = {"file": (io.BytesIO(SCRIPT), "x.py")}
    assert client.post("/api/v1/models", data=program).json["error"]["code"] == "asks_trust"
    assert client.post("/api/v1/models", json={"path": "/nothing/there.onnx"}).json["error"]["code"] == "no_file"
    for remote in REMOTE:
        assert client.post("/api/v1/models", json={"path": "/nothing/there.onnx"}, **remote).json["error"]["code"] == "local_paths_off"


def test_a_program_is_not_read_again_either(untrusting: Callable[..., Flask], tmp_path: Path) -> None:
    """The file at its path may have changed since its owner opened it."""
    client, program = untrusting(token=None).test_client(), put_model(tmp_path / "x.py", b"its owner's")
    refused = client.post("/api/v1/models", json={"again": program})
    assert (refused.status_code, refused.json["error"]["code"]) == (403, "runs_code")


@pytest.mark.parametrize("settings", [{"behind_proxy": True}, {"hosts": ("tools.example",)}, {"host": "0.0.0.0"}])
def test_nothing_is_trusted_behind_a_proxy(untrusting: Callable[..., Flask], settings: dict[str, Any]) -> None:
    """Whatever headers the request has: without any, it seems to come from this machine. The hint offers nothing that would not help."""
    client = untrusting(**settings).test_client()
    for headers in ({}, {"X-Forwarded-For": "127.0.0.1"}, {"X-Forwarded-For": "10.0.0.1, 127.0.0.1"}):
        refused = client.post("/api/v1/models", data={"file": (io.BytesIO(SCRIPT), "x.py")}, headers=headers)
        assert (refused.status_code, refused.json["error"]["code"]) == (403, "runs_code")
        assert "token" not in refused.json["error"]["hint"]
        refused = client.post("/api/v1/models", json={"path": "/x"}, headers=headers)
        assert (refused.status_code, refused.json["error"]["hint"]) == (403, "send the file instead")


def test_upload_that_is_too_large(app: Flask) -> None:
    answer = upload(app, [("a.onnx", bytes(2 << 20))])
    assert (answer.status_code, answer.json["error"]["code"]) == (413, "too_large")
    assert leftovers() == []


def test_client_sees_why_its_upload_was_refused(live: Live) -> None:
    answer = live.http.post(f"{live.address}api/v1/models", files={"file": ("a.onnx", bytes(8 << 20))}, timeout=30)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


def load_and_die(*_: Any) -> None:
    os.abort()


def load_and_hang(*_: Any) -> None:
    import time

    time.sleep(600)


def load_and_fail(*_: Any) -> None:
    raise ZeroDivisionError("what a model")


@pytest.mark.parametrize(
    ("load", "timeout_s", "code", "message"),
    [
        (load_and_die, 60, "model_kills", "reading 'a.onnx' crashed with SIGABRT: the file is damaged, or too large for this machine"),
        (load_and_hang, 0.2, "model_too_slow", "reading 'a.onnx' took longer than 200 ms"),
        (load_and_fail, 60, "bad_model", "cannot read 'a.onnx': ZeroDivisionError: what a model"),
    ],
)
def test_whatever_a_model_does_the_server_goes_on(
    home: Path, monkeypatch: pytest.MonkeyPatch, load: Any, timeout_s: float, code: str, message: str
) -> None:
    monkeypatch.setattr(load_model, "load", load)
    store = model_store.ModelStore(ServerConfig(load_timeout_s=timeout_s))
    with store.incoming() as folder:
        (folder / "files" / "a.onnx").touch()
        with pytest.raises(Exception, match=r".") as caught:
            store.open_upload(folder, model_store.FixedInputs())
    assert (caught.value.code, caught.value.message) == (code, message)  # type: ignore[attr-defined]


def test_damaged_and_foreign_folders_are_not_listed(home: Path, tmp_path: Path) -> None:
    store = model_store.ModelStore(ServerConfig())
    known = put_model(tmp_path / "good.onnx", b"good")
    (model_store._models_folder() / "empty").mkdir()
    (model_store._models_folder() / "a file").touch()
    damaged = model_store._models_folder() / "damaged"
    damaged.mkdir()
    (damaged / model_store.META).write_text("{")
    listed = [info.id for info in store.all()]
    assert known in listed
    assert not {"empty", "damaged", "a file"} & set(listed)
    assert json.loads((model_store._models_folder() / known / model_store.META).read_text())["name"] == "good"


def test_an_upload_is_opened_again_with_other_shapes_and_outlives_the_first(app: Flask, tmp_path: Path) -> None:
    client = app.test_client()
    path = onnx_file(tmp_path, batch="b")
    first = client.post("/api/v1/models", data={"file": path.open("rb"), "shapes": '{"x": [1, 3]}'}).json
    other = client.post("/api/v1/models", json={"again": first["id"], "shapes": {"x": [5, 3]}}).json
    assert (first["inputs"][0]["shape"], other["inputs"][0]["shape"]) == ([1, 3], [5, 3])
    assert first["dimensions"] == other["dimensions"] == {"x": ["b", "3"]}
    assert client.delete(f"/api/v1/models/{first['id']}").status_code == 204
    models = {one["id"]: one for one in client.get("/api/v1/models").json["models"]}
    assert first["id"] not in models
    left = models[other["id"]]
    assert left["stale"] is False
    assert left["opened"].startswith("20")


def test_sizes_that_must_be_said_are_asked_for_with_the_values_that_can_be(app: Flask, tmp_path: Path) -> None:
    content = write(tmp_path, speech_model()).read_bytes()
    answer = upload(app, [("speech.onnx", content)])
    assert answer.json["refusal"]["error"]["code"] == "open_shape"
    asked = {"name": "x", "dtype": "float32", "dimensions": ["batch", "length"], "sizes": [1, 8]}
    assert answer.json["refusal"]["inputs"] == [
        {**asked, "is_asked": True, "takes_value": False, "value": ""},
        {"name": "rate", "dtype": "int64", "dimensions": [], "sizes": [], "is_asked": False, "takes_value": True, "value": "16000"},
    ]
    given = {"file": [(io.BytesIO(content), "speech.onnx")], "shapes": '{"x": [1, 8]}', "values": '{"rate": "16000"}'}
    opened = app.test_client().post("/api/v1/models", data=given, content_type="multipart/form-data")
    assert (opened.status_code, opened.json["values"]) == (201, {"rate": "16000"})
