"""The user's own files on the page: chosen, refused with a reason, asked for shapes, with external data beside them."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from playwright.sync_api import expect

from tests.helpers.long_cases import mostly_long
from tests.helpers.models import model_of, rated_model, weights, write
from tests.helpers.speech_models import speech_model

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


def ask_for_sizes(watched: Watched) -> None:
    """A model without sizes is drawn at once; they are asked for when it is to be planned."""
    watched.page.get_by_role("radio", name="As planned").click()


def test_a_file_opens_as_a_graph(start: Watched, tmp_path: Path) -> None:
    choose(start, write_model(tmp_path))
    for name in ("x", "dense", "act", "z"):
        expect(start.node(name)).to_be_visible()


def test_a_model_comes_with_its_external_data(start: Watched, tmp_path: Path) -> None:
    choose(start, write_model(tmp_path, external=True))
    expect(start.node("dense")).to_be_visible()


@pytest.mark.long
def test_external_data_that_is_missing_is_named(start: Watched, tmp_path: Path) -> None:
    choose(start, write_model(tmp_path, external=True)[:1])
    expect(start.node("dense")).to_be_visible()
    expect(start.page.locator(".notices")).to_contain_text("tiny.data")
    expect(start.page.locator(".notices")).to_contain_text("choose both files together")


OTHERS = {
    "net.tflite": (b"\x1c\0\0\0TFL3" + bytes(64), "TensorFlow Lite", "pip install tflite==2.18.0"),
    "weights.safetensors": ((20).to_bytes(8, "little") + b'{"w": {"dtype": "F32"}}', "weights without a graph", "optimum-cli export onnx"),
    "net.pt": (b"\x80\x02}q\0.", "a Python pickle", "torch.onnx.export"),
    "net.pth": (b"no pickle of today", "usually a Python pickle", "torch.onnx.export"),
    "net.h5": (b"\x89HDF\r\n\x1a\n" + bytes(64), "an HDF5 file", "format='onnx'"),
    "net.pb": (b"\n\x14\n\x05input\x12\x0bPlaceholder", "a frozen graph of TensorFlow", "tf2onnx.convert --graphdef"),
}
"""Name of a file → its content, what the page says that it is, and what it says to do."""


@pytest.mark.parametrize("name", mostly_long(OTHERS))
def test_a_file_of_another_kind_says_what_it_is_and_what_to_do(start: Watched, tmp_path: Path, name: str) -> None:
    if name == "net.tflite" and find_spec("tflite"):
        pytest.skip("tflite is installed, so such files open")
    content, what, hint = OTHERS[name]
    (tmp_path / name).write_bytes(content)
    choose(start, [tmp_path / name])
    alert = start.page.get_by_role("alert")
    expect(alert).to_contain_text(what)
    expect(alert).to_contain_text(hint)


@pytest.mark.long
def test_a_folder_with_several_models_is_a_choice(start: Watched, tmp_path: Path) -> None:
    for name in ("model", "model_quantized"):
        (tmp_path / name).mkdir()
        write_model(tmp_path / name)[0].rename(tmp_path / f"{name}.onnx")
    start.page.get_by_label("or a file on this machine").fill(str(tmp_path))
    start.page.get_by_role("button", name="Open", exact=True).click()
    alert = start.page.get_by_role("alert")
    expect(alert).to_contain_text("is a folder with 2 models")
    alert.get_by_role("button", name=f"{tmp_path}/model_quantized.onnx").click()
    expect(start.node("dense")).to_be_visible()


def test_a_dynamic_dimension_is_asked_for(start: Watched, tmp_path: Path) -> None:
    choose(start, write_model(tmp_path, width="width"))
    expect(start.page.locator(".panel")).to_contain_text("1×width float32")
    ask_for_sizes(start)
    form = start.page.get_by_role("form", name="Shape of x")
    expect(start.page.get_by_role("alert")).to_have_count(0)
    expect(form.get_by_label("dimension 0")).to_be_disabled()
    field = form.get_by_label("dimension 1 (width)")
    expect(field).to_be_focused()
    field.fill("many")
    expect(form).to_contain_text("many is no whole number")
    expect(form.get_by_role("button", name="Open with this shape")).to_be_disabled()
    field.fill("64")
    field.press("Enter")
    expect(start.node("dense")).to_be_visible()
    expect(start.page.locator("#stage")).to_be_focused()  # what had the focus is gone, and the keys go on from the graph
    start.page.keyboard.press("ArrowDown")
    expect(start.page.locator(".stage [aria-pressed=true], .stage [aria-selected=true], .stage rect:focus").first).to_be_attached()


def test_a_value_is_asked_for_with_the_sizes_and_folds_what_rests_on_it(start: Watched, tmp_path: Path) -> None:
    choose(start, [write(tmp_path, speech_model(), "speech.onnx")])
    ask_for_sizes(start)
    form = start.page.get_by_role("form", name="Shape of x")
    expect(form.get_by_label("dimension 0 (batch)")).to_have_value("1")
    expect(form.get_by_label("dimension 1 (length)")).to_have_value("8")
    value = form.get_by_label("value of rate (int64)")
    expect(value).to_have_value("16000")
    value.fill("fast")
    expect(form).to_contain_text("fast is no whole number")
    expect(form.get_by_role("button", name="Open with this shape")).to_be_disabled()
    value.fill("8000")
    form.get_by_label("dimension 1 (length)").fill("4")
    value.press("Enter")
    expect(start.node("narrow/lstm")).to_be_visible()


@pytest.mark.long
def test_sizes_that_belong_together_are_typed_together(start: Watched, tmp_path: Path) -> None:
    text = "g (float[?,?] x, float[2,?,4] s) => (float[?,n] y) { r = ReduceSum<keepdims = 0>(s, axes) [join] y = Concat<axis = 1>(x, r) }"
    choose(start, [write(tmp_path, model_of(text, {"axes": np.array([0])}), "joined.onnx")])
    ask_for_sizes(start)
    form = start.page.get_by_role("form", name="Shapes of the inputs")
    form.get_by_label("x, dimension 0 (x[0] = s[1])").fill("3")
    expect(form.get_by_label("s, dimension 1 (x[0] = s[1])")).to_have_value("3")
    form.get_by_role("button", name="Open with these shapes").click()
    expect(start.node("join")).to_be_visible()


@pytest.mark.long
def test_a_typed_size_is_not_lost_and_is_the_suggestion_of_the_next_time(start: Watched, tmp_path: Path) -> None:
    """A mistake beside it does not take it away, nor does a model that cannot be opened with it."""
    page = start.page
    text = "g (float[n,k] x) => (float[n,m] z) { [product] z = MatMul(x, w) }"
    path = write(tmp_path, model_of(text, {"w": weights(4, 4)}), "product.onnx")
    choose(start, [path])
    for suggested, typed in ((["1", "4"], ["3", "5"]), (["3", "5"], ["3", "4"])):
        ask_for_sizes(start)
        form = page.get_by_role("form", name="Shape of x")
        fields = [form.get_by_label("dimension 0 (n)"), form.get_by_label("dimension 1 (k)")]
        assert [field.input_value() for field in fields] == suggested
        fields[0].fill(typed[0])
        fields[1].fill("wide")
        expect(form).to_contain_text("wide is no whole number")
        expect(fields[0]).to_have_value(typed[0])
        fields[1].fill(typed[1])
        fields[1].press("Enter")
        start.idle()
        if typed[1] == "5":
            expect(page.get_by_role("alert")).to_contain_text("the sizes of its inputs may not fit each other")
            page.get_by_role("button", name="Dismiss").click()
    expect(start.node("product")).to_be_visible()


@pytest.mark.long
def test_what_was_opened_before_comes_first_and_is_opened_with_other_shapes_or_deleted(start: Watched, tmp_path: Path) -> None:
    page = start.page
    choose(start, write_model(tmp_path, width="width"))
    ask_for_sizes(start)
    page.get_by_role("textbox", name="dimension 1 (width)").fill("64")
    page.get_by_role("button", name="Open with this shape").click()
    start.idle()
    page.get_by_role("button", name="Collage").click()
    start.idle()
    cards = page.locator(".own-card", has_text="x=1,64").filter(has_text="no plan yet")
    count = cards.count()
    assert page.get_by_role("heading", level=2).all_inner_texts()[:2] == ["Opened before", "Samples"]
    expect(cards.first).to_contain_text(re.compile("2 nodes · .*20"))
    cards.first.get_by_role("button", name="Other shapes").click()
    shapes = page.get_by_role("form", name="Shapes of the inputs of tiny")
    expect(shapes.get_by_label("dimension 0")).to_be_disabled()
    width = shapes.get_by_label("dimension 1 (width)")
    expect(width).to_have_value("64")
    width.fill("0")
    expect(shapes).to_contain_text("a size is at least 1")
    width.fill("64")
    width.press("Enter")
    expect(start.node("dense")).to_be_visible()
    page.get_by_role("button", name="Collage").click()
    start.idle()
    cards.first.get_by_role("button", name="Delete tiny").click()
    cards.first.get_by_role("button", name="Delete it").click()
    start.idle()
    expect(cards).to_have_count(count - 1)


@pytest.mark.long
def test_a_sample_shows_what_its_best_plan_brings(start: Watched) -> None:
    card = start.page.get_by_role("button", name="CRNN")
    expect(card.locator(".card-result")).to_have_text(
        re.compile(r"^[\d.]+ ms measured 1\.\d+ times faster than \w+ alone \(.*\), checked$")
    )


@pytest.mark.long
def test_the_value_of_a_small_input_is_fixed_folded_and_freed(start: Watched, tmp_path: Path) -> None:
    page = start.page
    choose(start, [write(tmp_path, rated_model(), "rated.onnx")])
    for shown, typed, node in (("x=1,4", "16000", "Relu relu"), ("x=1,4 · sr = 16000", "", "If pick")):
        page.get_by_role("button", name="Collage").click()
        start.idle()
        card = page.locator(".own-card", has=page.get_by_text(shown, exact=True))
        card.get_by_role("button", name="Other shapes").click()
        field = card.get_by_label("value of sr")
        field.fill("fast")
        expect(card.locator("label", has_text="value of sr").locator(".bad")).to_have_text(re.compile("^ ?fast is no (whole )?number$"))
        expect(card.get_by_role("button", name="Open", exact=True)).to_be_disabled()
        field.fill(typed)
        field.press("Enter")
        start.idle()
        expect(page.get_by_role("button", name=node)).to_be_visible()
    page.get_by_role("button", name="Collage").click()
    start.idle()
    texts = page.locator(".own-card", has_text="rated").all_inner_texts()
    assert sorted(text.split(" · ")[0].split()[-2:] for text in texts) == [["1", "node"], ["2", "nodes"]]


def test_what_is_no_model_is_refused_with_a_hint(start: Watched, tmp_path: Path) -> None:
    (tmp_path / "notes.onnx").write_text("dear diary")
    choose(start, [tmp_path / "notes.onnx"])
    alert = start.page.get_by_role("alert")
    expect(alert).to_contain_text("notes.onnx")
    expect(alert.locator(".hint")).not_to_be_empty()
    alert.get_by_role("button", name="Dismiss").click()
    expect(alert).to_have_count(0)


@pytest.mark.long
def test_names_that_turn_the_direction_of_reading_are_shown_escaped(start: Watched, tmp_path: Path) -> None:
    """The page's own data keeps the name of the node as the model has it."""
    turned = "safe\u202egnp"
    path = write_model(tmp_path)[0]
    model = onnx.load(path)
    model.graph.node[1].name = turned
    onnx.save(model, path)
    choose(start, [path])
    start.node(turned).focus()
    start.press("Enter")
    expect(start.page.get_by_role("heading", name=r"safe\u202egnp")).to_be_visible()
    expect(start.page.locator(".stage").get_by_role("button", name=re.compile(r"safe\\u202egnp"))).to_be_visible()
    shown = start.page.evaluate('() => document.body.innerText + document.body.innerHTML.replaceAll(/data-name="[^"]*"/g, \'\')')
    assert "\u202e" not in shown
