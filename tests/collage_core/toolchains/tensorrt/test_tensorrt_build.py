"""Engines, refusals and the inspection of a model: on a module that stands in for TensorRT, and on the real one where it is installed."""

from __future__ import annotations

from dataclasses import replace
from importlib import util
from pathlib import Path

import onnx
import pytest

from collage_core.base.isolation.worker import Worker
from collage_core.model.reference.accuracy import relative_error
from collage_core.toolchains.conformance.small_models import drawn, matmul, reference
from collage_core.toolchains.onnxruntime.onnxruntime_halves import in_halves
from collage_core.toolchains.tensorrt import tensorrt_build
from collage_core.toolchains.tensorrt.engine_store import EngineStore
from collage_core.toolchains.tensorrt.tensorrt import OPERATORS
from collage_core.toolchains.tensorrt.tensorrt_build import (
    EngineSettings,
    RefusedNode,
    build_engine,
    inspect_model,
    kept_engine,
    supported_nodes,
)
from collage_core.toolchains.toolchain import ToolchainError
from tests.helpers.models import model_of, write

FAKE, REAL = "fake_tensorrt", "tensorrt_rtx_bindings"
BUILD = EngineSettings(FAKE, "1", "SM120")
TWO = "g (float[1,1,4,4] x) => (float[1,1,4,4] y) {\n [first] c = Relu(x)\n [last] y = Tanh(c)\n}"
POOLED = TWO.replace("Tanh(c)", "MaxPool<kernel_shape = [1, 1]>(c)")


def onnx_of(text: str) -> bytes:
    return model_of(text).SerializeToString()


def test_an_engine_is_built_for_the_capability_with_its_layers():
    engine = build_engine(BUILD, onnx_of(TWO))
    assert engine.package == b"engine SM120"
    assert engine.layers == ("first_0 (kgen)", "last_0 (kgen)")
    assert build_engine(replace(BUILD, capability=None), onnx_of(TWO)).package == b"engine none"


def test_the_parser_refuses_in_its_own_words():
    with pytest.raises(ToolchainError) as caught:
        build_engine(BUILD, onnx_of(POOLED))
    assert (caught.value.stage, caught.value.message) == ("import", "last (MaxPool): Assertion failed: no MaxPool today")


def test_the_builder_fails_in_its_own_words():
    with pytest.raises(ToolchainError) as caught:
        build_engine(BUILD, onnx_of(TWO.replace("Tanh", "Sigmoid")))
    assert (caught.value.stage, caught.value.message) == ("build", "no kernel for last")


def test_a_library_that_cannot_be_imported_is_a_reason():
    with pytest.raises(ToolchainError) as caught:
        build_engine(replace(BUILD, library="no_such_library"), onnx_of(TWO))
    assert (caught.value.stage, caught.value.message) == ("device", "No module named 'no_such_library'")


def test_the_parser_says_which_nodes_it_takes_together():
    found = supported_nodes(FAKE, onnx_of(POOLED))
    assert found.groups == (("first",),)
    assert found.refused == (RefusedNode("last", "MaxPool", "Assertion failed: no MaxPool today"),)


def test_an_engine_is_built_once_for_a_model_a_version_a_capability_and_a_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    built: list[str] = []

    def counted(settings: EngineSettings, onnx: bytes):
        built.append(settings.version)
        return build_engine(settings, onnx)

    monkeypatch.setattr(tensorrt_build, "build_engine", counted)
    store = EngineStore(tmp_path)
    for settings in (BUILD, BUILD, replace(BUILD, version="2"), replace(BUILD, capability=None), replace(BUILD, halves=True), BUILD):
        kept_engine(settings, onnx_of(TWO), store)
    assert len(built) == 4
    assert kept_engine(BUILD, onnx_of(TWO), store) == build_engine(BUILD, onnx_of(TWO))
    kept_engine(BUILD, onnx_of(TWO.replace("Tanh", "Cos")), store)
    assert len(built) == 5


def test_a_model_in_halves_keeps_its_ends_and_nearly_its_values():
    model = matmul()
    halves = onnx.load_model_from_string(in_halves(model.onnx))
    assert {tensor.data_type for tensor in halves.graph.initializer} == {onnx.TensorProto.FLOAT16}
    assert {value.type.tensor_type.elem_type for value in (*halves.graph.input, *halves.graph.output)} == {onnx.TensorProto.FLOAT}
    inputs = drawn(model.inputs)
    error = relative_error(reference(replace(model, onnx=halves.SerializeToString()), inputs)[0], reference(model, inputs)[0])
    assert 1e-6 < error < 5e-3


def test_a_model_that_is_none_is_a_matter_of_the_import():
    with pytest.raises(ToolchainError, match="it cannot be converted to float16"):
        in_halves(b"no model")


def test_a_model_is_inspected_group_by_group(tmp_path: Path):
    found = inspect_model(BUILD, "mini_mnist", EngineStore(tmp_path))
    assert (found["nodes"], [engine["nodes"] for engine in found["engines"]]) == (6, [2, 3])
    assert [len(engine["layers"]) for engine in found["engines"]] == [2, 3]
    assert [node["op"] for node in found["refused"]] == ["MaxPool"]


def test_what_the_builder_cannot_build_is_refused_and_the_rest_is_built(tmp_path: Path):
    text = TWO.replace("[last] y = Tanh(c)", "[odd] o = Sigmoid(c)\n [other] p = Neg(x)\n [last] y = Add(o, p)")
    found = inspect_model(BUILD, str(write(tmp_path, model_of(text))), EngineStore(tmp_path / "engines"))
    assert [engine["layers"] for engine in found["engines"]] == [["first_0 (kgen)", "other_0 (kgen)"], ["last_0 (kgen)"]]
    assert found["refused"] == [{"name": "odd", "op": "Sigmoid", "reason": "no kernel for odd"}]


@pytest.mark.skipif(util.find_spec(REAL) is None, reason="TensorRT for RTX is not installed: it is in no lock")
class TestTheRealLibrary:
    def test_builds_an_engine_without_a_gpu(self):
        with Worker() as worker:
            engine = worker.call(build_engine, EngineSettings(REAL, "1", "SM120"), onnx_of(TWO), timeout_s=60)
            assert engine.package
            assert engine.layers

    def test_refuses_in_its_own_words(self):
        text = "g (float[2,2] x) => (float y) {\n [first] c = Relu(x)\n [odd] y = Det(c)\n}"
        with Worker() as worker:
            found = worker.call(supported_nodes, REAL, onnx_of(text), timeout_s=60)
        assert found.groups == (("first",),)
        assert [(node.name, node.op) for node in found.refused] == [("odd", "Det")]

    def test_knows_the_operators_of_the_list(self):
        with Worker() as worker:
            found = worker.call(unknown_operators, timeout_s=60)
        assert found == []


def unknown_operators() -> list[str]:
    """The operators of our list that the library's own query does not know. Called in a worker."""
    import tensorrt_rtx_bindings as library

    log = library.Logger(library.Logger.ERROR)
    network = library.Builder(log).create_network(1)
    parser = library.OnnxParser(network, log)
    return [name for name in OPERATORS if not parser.supports_operator(name)]
