"""The user's own files on the page: chosen, refused with a reason, asked for shapes, with external data beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from playwright.sync_api import expect

from .conftest import OpenPage
from .explorer import Explorer, Watched


def write_model(folder: Path, width: int | str = 64, external: bool = False, *, bias: bool = False) -> list[Path]:
    """MatMul and Relu on an input of (1, `width`), with a node more in between where it has a `bias`; its files."""
    weight = numpy_helper.from_array(np.random.default_rng(0).standard_normal((64, 32), dtype=np.float32), "weight")
    nodes = [helper.make_node("MatMul", ["x", "weight"], ["y"], "dense"), helper.make_node("Relu", ["b" if bias else "y"], ["z"], "act")]
    if bias:
        nodes.insert(1, helper.make_node("Sigmoid", ["y"], ["b"], "bias"))
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [1, width]), ("z", [1, 32]))]
    graph = helper.make_graph(nodes, "tiny", tensors[:1], tensors[1:], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = folder / "tiny.onnx"
    if not external:
        onnx.save(model, path)
        return [path]
    onnx.save(model, path, save_as_external_data=True, location="tiny.data", size_threshold=0)
    return [path, folder / "tiny.data"]


@pytest.fixture
def start(explorer: Explorer, open_page: OpenPage) -> Watched:
    """The page without a model."""
    return open_page(explorer.address)


def choose(watched: Watched, files: list[Path]) -> None:
    watched.page.locator("input[type=file]").set_input_files(files)
    watched.idle()


def test_a_file_opens_as_a_graph(start: Watched, tmp_path: Path) -> None:
    choose(start, write_model(tmp_path))
    for name in ("x", "dense", "act", "z"):
        expect(start.node(name)).to_be_visible()


def test_a_model_comes_with_its_external_data(start: Watched, tmp_path: Path) -> None:
    choose(start, write_model(tmp_path, external=True))
    expect(start.node("dense")).to_be_visible()


def test_external_data_that_is_missing_is_named(start: Watched, tmp_path: Path) -> None:
    choose(start, write_model(tmp_path, external=True)[:1])
    expect(start.page.get_by_role("alert")).to_contain_text("tiny.data")


def test_an_open_dimension_is_asked_for(start: Watched, tmp_path: Path) -> None:
    choose(start, write_model(tmp_path, width="width"))
    expect(start.page.get_by_role("alert")).to_contain_text("width")
    field = start.page.get_by_label("Shapes of the inputs")
    field.fill("x=1,many")
    expect(start.page.get_by_role("button", name="Open with these shapes")).to_be_disabled()
    field.fill("x=1,64")
    field.press("Enter")
    expect(start.node("dense")).to_be_visible()


def test_what_is_no_model_is_refused_with_a_hint(start: Watched, tmp_path: Path) -> None:
    (tmp_path / "notes.onnx").write_text("dear diary")
    choose(start, [tmp_path / "notes.onnx"])
    alert = start.page.get_by_role("alert")
    expect(alert).to_contain_text("notes.onnx")
    expect(alert.locator(".hint")).not_to_be_empty()
    alert.get_by_role("button", name="Dismiss").click()
    expect(alert).to_have_count(0)
