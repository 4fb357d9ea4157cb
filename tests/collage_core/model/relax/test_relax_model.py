"""Relax modules in files: what they become, what they compute, and what is said of those that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.graph.index_set import IndexSet
from collage_core.model.reference.accuracy import largest_error
from collage_core.model.relax.load import load
from collage_core.model.relax.relax_model import RelaxModel
from tests.helpers.command import document_of
from tests.helpers.paths import ROOT

SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4, 8, 8), "float32"), w: R.Tensor((4, 4, 3, 3), "float32"), b: R.Tensor((1, 4, 1, 1), "float32")):
        n = T.int64()
        with R.dataflow():
            conv = R.nn.conv2d(x, w, padding=1)
            shifted = R.add(conv, b)
            silu = R.nn.silu(R.nn.relu(shifted))
            halves = R.split(silu, 2, axis=1)
            flat = R.reshape(halves[1], R.shape([n, 128]))
            known = R.match_cast(flat, R.Tensor((n, 128), "float32"))
            out = R.multiply(known, R.const(2.0, "float32"))
            R.output(out, halves)
        return (out, halves)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_becomes_a_graph_of_its_bindings(script: Path) -> None:
    """Symbols are fixed, the batch to one; fields, casts and shapes are no nodes."""
    model = load(script)
    assert isinstance(model, RelaxModel)
    assert [(node.name, node.op) for node in load(script, fold=False).graph.nodes] == [
        ("conv", "Conv"), ("shifted", "Add"), ("lv2", "Relu"), ("silu/0", "Sigmoid"), ("silu", "Mul"), ("halves", "Split"),
        ("flat", "Reshape"), ("out", "Mul"),
    ]  # fmt: skip
    assert {tensor.name: tensor.type.shape for tensor in model.graph.inputs} == {"x": (1, 4, 8, 8), "w": (4, 4, 3, 3), "b": (1, 4, 1, 1)}
    of_three = load(script, {"x": (3, 4, 8, 8)})
    assert of_three.graph.inputs[0].type.shape == (3, 4, 8, 8)
    assert model.hash != of_three.hash


@pytest.mark.long
def test_its_reference_is_what_tvm_computes(script: Path) -> None:
    model = load(script)
    inputs = model.seeded_inputs()
    expected = model.reference(inputs)
    assert list(expected) == list(model.graph.outputs)
    assert largest_error(model.activations(inputs, model.graph.outputs), expected) < 1e-5
    assert model.cut(IndexSet(range(len(model.graph)))).outputs


@pytest.mark.long
def test_plans_are_made_of_it_as_of_any_model(script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document_of(
        capsys, "partition", script, "--trust", "--targets", "onnxruntime,openvino", "--costs", "roofline", "--shape", "x=2,4,8,8"
    )
    assert sorted(node for part in found["plan"]["partitions"] for node in part["nodes"]) == list(range(found["model"]["nodes"]))
    assert found["model"]["inputs"][0]["shape"] == [2, 4, 8, 8]
    renamed = tmp_path / "script.txt"
    renamed.write_text(SCRIPT)
    with pytest.raises(CollageError, match="not an ONNX model"):
        load(renamed)
    candidates = document_of(capsys, "candidates", script, "--trust", "--targets", "onnxruntime", "--ir", "relax")
    assert candidates["candidates"]


@pytest.mark.long
def test_what_tvm_saves_is_read_too(script: Path, tmp_path: Path) -> None:
    from collage_core.model.relax.reading import read_module

    tvm: Any = pytest.importorskip("tvm")
    module, _ = read_module(script)
    saved = tmp_path / "saved.json"
    saved.write_text(tvm.ir.save_json(module))
    names = [node.name for node in load(saved).graph.nodes]
    assert names == [node.name for node in load(script).graph.nodes]


LEFT = """
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), flag: R.Tensor((), "bool")):
        with R.dataflow():
            a = R.exp(x)
            b = R.nn.relu(a)
            R.output(b)
        if flag:
            c = R.negative(b)
        else:
            c = R.abs(b)
        with R.dataflow():
            d = R.tanh(R.sigmoid(R.add(c, b)))
            R.output(d)
        return d
"""


@pytest.mark.long
def test_what_no_toolchain_can_take_is_said(tmp_path: Path) -> None:
    path = tmp_path / "left.py"
    path.write_text(LEFT)
    model = load(path)
    assert [node.op for node in model.graph.nodes] == ["Add", "Sigmoid", "Tanh"]
    assert model.notes == (
        "the function 'main' has 2 regions: this is the largest; `collage partition` and `CollagePartition` take all",
        "the binding 'c' of 'main' is left to TVM: it is outside of a dataflow block",
    )


SYMBOLS = (
    SCRIPT.replace('("n", 4, 8, 8)', '("n", 4, "h", 8)')
    .replace("n = T.int64()", "n = T.int64(); h = T.int64()")
    .replace("[n, 128]", "[n, h * 16]")
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.py", "", "defines none"),
        ("loops.py", "import tvm\nraise SystemExit(3)", "does not run as a script of TVM: SystemExit"),
        ("dies.py", "import os, tvm\nos.abort()", "cannot be read as a Relax module: .*abort|SIGABRT|signal"),
        ("wrong.py", "def f(:\n", "SyntaxError"),
        ("two.py", SCRIPT + SCRIPT.replace("Module", "Other"), "defines 2"),
        ("garbage.json", "{", "is not a module that TVM saved"),
        ("other.json", json.dumps({"a": 1}), "is not a module that TVM saved"),
        ("bytes.json", "\udcff", "cannot be read|is not a module"),
        ("open.py", SYMBOLS, "has the dynamic dimension 2"),
        ("missing.py", None, "cannot read"),
    ],
)  # fmt: skip
def test_files_that_are_none_are_one_line(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(CollageError, match=message) as raised:
        load(path)
    assert "\n" not in raised.value.message


@pytest.mark.long
def test_a_function_without_operators_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "lowered.py"
    path.write_text(SCRIPT.split("        n = T")[0] + "        return x\n")
    with pytest.raises(CollageError, match="has no binding that a toolchain could take"):
        load(path)


SCALED = """
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), by: R.Tensor((), "float32")):
        with R.dataflow():
            a = R.exp(R.multiply(x, by))
            R.output(a)
        return a
"""


@pytest.mark.long
def test_values_of_inputs_are_fixed_as_of_any_model(tmp_path: Path) -> None:
    path = tmp_path / "scaled.py"
    path.write_text(SCALED)
    model = load(path, values={"by": "0.5"})
    assert [tensor.name for tensor in model.graph.inputs] == ["x"]
    inputs = {"x": np.ones((2, 4), np.float32)}
    assert np.allclose(model.reference(inputs)["a"], np.exp(0.5), atol=1e-5)


@pytest.mark.long
def test_a_module_that_takes_the_process_down_is_an_error_in_two_lines(tmp_path: Path) -> None:
    """An object that holds itself: TVM follows it until its stack is full."""
    pytest.importorskip("tvm")
    saved = json.loads((ROOT / "tests" / "fuzz" / "corpus" / "relax" / "module.json").read_text())
    index, array = next((index, node) for index, node in enumerate(saved["nodes"]) if node["type"] == "ffi.Array" and node["data"])
    array["data"][0] = index
    path = tmp_path / "cycle.json"
    path.write_text(json.dumps(saved))
    with pytest.raises(CollageError, match=r"'.*cycle\.json' cannot be read as a Relax module: crashed with SIGSEGV$") as caught:
        load(path)
    assert caught.value.hint == "repair it, or save it again"
