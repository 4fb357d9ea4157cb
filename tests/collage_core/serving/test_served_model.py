"""Requests and answers of a served artifact: what they hold, and which requests are refused."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.shaped_folder import folder_of, write_shaped
from collage_core.serving import served_model
from collage_core.serving.refusal import Refusal
from collage_core.serving.served_model import ServedModel
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor
from tests.helpers.served import K, X

INVERSE = [1, 0.5, 0.25, 0.2, 0.125, 0.1]


def test_it_is_described(served: ServedModel):
    assert served.metadata() == {
        "name": "inverse",
        "versions": ["1"],
        "platform": "collage_artifact",
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 3]}, {"name": "k", "datatype": "INT64", "shape": [2]}],
        "outputs": [{"name": "y", "datatype": "FP32", "shape": [2, 3]}, {"name": "z", "datatype": "INT64", "shape": [2]}],
    }


def test_lists_are_answered_with_lists(served: ServedModel):
    told, binary = served.infer({"id": "7", "inputs": [X, K]}, b"")
    assert binary == b""
    assert {key: told[key] for key in ("model_name", "model_version", "id")} == {"model_name": "inverse", "model_version": "1", "id": "7"}
    first, second = told["outputs"]
    assert (first["name"], first["datatype"], first["shape"]) == ("y", "FP32", [2, 3])
    np.testing.assert_allclose(first["data"], INVERSE, rtol=1e-6)
    assert second == {"name": "z", "datatype": "INT64", "shape": [2], "data": [6, -8]}


def test_only_the_outputs_that_are_asked_for_are_told(served: ServedModel):
    told, _ = served.infer({"inputs": [K, X], "outputs": [{"name": "z"}]}, b"")
    assert [one["name"] for one in told["outputs"]] == ["z"]
    assert "id" not in told


def test_binary_tensors_enter_and_leave_in_order(served: ServedModel):
    x, k = np.array(X["data"], np.float32), np.array(K["data"], np.int64)
    sent = [
        {"name": "k", "datatype": "INT64", "shape": [2], "parameters": {"binary_data_size": 16}},
        {"name": "x", "datatype": "FP32", "shape": [2, 3], "parameters": {"binary_data_size": 24}},
    ]
    request = {"inputs": sent, "outputs": [{"name": "z"}, {"name": "y", "parameters": {"binary_data": True}}]}
    told, binary = served.infer(request, k.tobytes() + x.tobytes())
    assert told["outputs"][0]["data"] == [6, -8]
    assert told["outputs"][1]["parameters"] == {"binary_data_size": 24}
    assert "data" not in told["outputs"][1]
    np.testing.assert_allclose(np.frombuffer(binary, np.float32), INVERSE, rtol=1e-6)
    told, binary = served.infer({"inputs": [X, K], "parameters": {"binary_data_output": True}}, b"")
    assert [one["parameters"]["binary_data_size"] for one in told["outputs"]] == [24, 16]
    assert np.frombuffer(binary[24:], np.int64).tolist() == [6, -8]


WRONG: list[tuple[object, bytes, str]] = [
    ([], b"", "the body is a JSON list, and not an object with 'inputs'"),
    ({}, b"", "the request has no 'inputs'"),
    ({"inputs": {"x": 1}}, b"", "the 'inputs' must be a list of objects"),
    ({"inputs": [1]}, b"", "the 'inputs' must be a list of objects"),
    ({"inputs": [{**X, "name": 3}]}, b"", "an input is called 3: each needs a name of its own"),
    ({"inputs": [X, X]}, b"", "an input is called 'x': each needs a name of its own"),
    ({"inputs": [X]}, b"", "the input 'k' is missing: the model's inputs are x: float32[2, 3], k: int64[2]"),
    ({"inputs": [X, K, {**K, "name": "q"}]}, b"", "the model has no input 'q'"),
    ({"inputs": [{**X, "shape": [3, 2]}, K]}, b"", "the input 'x' is float32[3, 2], the model takes float32[2, 3]"),
    ({"inputs": [{**X, "datatype": "FP64"}, K]}, b"", "the input 'x' is float64[2, 3], the model takes float32[2, 3]"),
    ({"inputs": [X, K], "id": 3}, b"", "the 'id' is no text"),
    ({"inputs": [X, K], "outputs": "y"}, b"", "the 'outputs' must be a list of objects"),
    ({"inputs": [X, K], "outputs": [{"name": "w"}]}, b"", "the model has no output 'w'; it has 'y', 'z'"),
    ({"inputs": [X, K], "parameters": {"binary_data_output": 1}}, b"", "'binary_data_output' must be true or false"),
    ({"inputs": [X, K], "parameters": []}, b"", "'binary_data_output' must be true or false"),
    ({"inputs": [X, K]}, b"abc", "there are 3 bytes after the JSON that belong to no input"),
    ({"inputs": [{**X, "parameters": {"binary_data_size": 24}}, K]}, b"", "must have either 'data', or a whole number"),
    ({"inputs": [{"name": "x", "parameters": {"binary_data_size": -4}}]}, b"", "must have either 'data', or a whole number"),
    ({"inputs": [{"name": "x", "parameters": {"binary_data_size": 24}}]}, b"ab", "should have 24 bytes after the JSON, and there are 2"),
]


@pytest.mark.parametrize(("request_", "binary", "message"), WRONG)
def test_a_request_that_is_not_right_is_refused(served: ServedModel, request_: object, binary: bytes, message: str):
    with pytest.raises(Refusal) as caught:
        served.infer(request_, binary)
    assert (caught.value.status, message in caught.value.message) == (400, True), caught.value.message


def test_what_json_cannot_say_is_refused(served: ServedModel):
    with pytest.raises(Refusal) as caught:
        served.infer({"inputs": [{**X, "data": [0] * 6}, K]}, b"")
    assert caught.value.status == 406


def test_a_request_too_many_is_refused_and_the_others_are_answered(served: ServedModel, monkeypatch: pytest.MonkeyPatch):
    goes_on, begun, answers = threading.Event(), threading.Event(), []
    run = served._artifact.run

    def slow(arrays: Any) -> Any:
        begun.set()
        goes_on.wait()
        return run(arrays)

    monkeypatch.setattr(served, "_room", threading.BoundedSemaphore(1))
    monkeypatch.setattr(served._artifact, "run", slow)
    thread = threading.Thread(target=lambda: answers.append(served.infer({"inputs": [X, K]}, b"")))
    thread.start()
    begun.wait()
    with pytest.raises(Refusal) as caught:
        served.infer({"inputs": [X, K]}, b"")
    goes_on.set()
    thread.join()
    assert caught.value.status == 503
    assert len(answers) == 1


def test_a_failure_of_a_toolchain_is_a_fault_of_the_server(served: ServedModel, monkeypatch: pytest.MonkeyPatch):
    def fail(_: Any) -> Any:
        raise CollageError("partition p on onnxruntime failed as it ran: no room", "build it again", "toolchain")

    monkeypatch.setattr(served._artifact, "run", fail)
    with pytest.raises(Refusal) as caught:
        served.infer({"inputs": [X, K]}, b"")
    assert (caught.value.status, caught.value.message) == (500, "partition p on onnxruntime failed as it ran: no room")


def test_texts_are_served(tmp_path: Path):
    given, made = tensor("s", (2,), "string"), tensor("t", (4,), "string")
    model = sub_model([node("Concat", "s s", "t", axis=0)], [given], [made])
    assemble([PartitionModel("onnxruntime", ("n",), model, "p")], model.inputs, ["t"], tmp_path / "out", 1, form="native")
    served = ServedModel(tmp_path / "out", "twice")
    try:
        told, _ = served.infer({"inputs": [{"name": "s", "datatype": "BYTES", "shape": [2], "data": ["a", "ö"]}]}, b"")
    finally:
        served.close()
    assert told["outputs"][0]["data"] == ["a", "ö", "a", "ö"]


def test_a_model_of_several_shapes_says_which_dimensions_vary(tmp_path: Path):
    for number, rows in enumerate((1, 4)):
        model = sub_model([node("Relu", "x", "y")], [tensor("x", (rows, 3))], [tensor("y", (rows, 3))])
        part = PartitionModel("onnxruntime", ("r",), model, "p")
        assemble([part], model.inputs, ["y"], tmp_path / "out" / folder_of(number), 1, form="pieces")
    write_shaped(tmp_path / "out", [("one", 0.5), ("four", 0.5)], {"model": {"name": "rows"}}, 1)
    served = ServedModel(tmp_path / "out")
    try:
        assert served.metadata()["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]
        assert served.metadata()["outputs"][0]["shape"] == [-1, -1]
        four = {"name": "x", "datatype": "FP32", "shape": [4, 3], "data": list(range(12))}
        assert served.infer({"inputs": [four]}, b"")[0]["outputs"][0]["shape"] == [4, 3]
        with pytest.raises(Refusal) as caught:
            served.infer({"inputs": [{**four, "shape": [6, 2]}]}, b"")
    finally:
        served.close()
    assert caught.value.status == 400
    assert "no plan for the shapes x [6, 2]" in caught.value.message


def test_a_request_may_be_as_large_as_its_inputs_can_need(served: ServedModel, monkeypatch: pytest.MonkeyPatch):
    assert served.body_bytes == served_model.LEAST_BODY


def test_an_artifact_that_cannot_be_opened_is_a_users_mistake(tmp_path: Path):
    with pytest.raises(CollageError, match="does not exist"):
        ServedModel(tmp_path / "nothing")
