"""Everything that one sees can be saved: the graph as SVG, PNG and DOT with the overlay that is on, tables as CSV."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from playwright.sync_api import Page, expect

from collage_core.results.formats import FILES
from tests.helpers.dot_reader import read_dot

from .conftest import OpenPage
from .explorer import Explorer, Watched, show_tab

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<b>"&\\N{x}=1\u200b\x07'


@pytest.fixture
def opened(explorer: Explorer, open_page: OpenPage) -> Watched:
    return open_page(f"{explorer.address}?sample=squeezenet")


def saved(page: Page, kind: str) -> tuple[str, bytes]:
    """The graph in a format: the file's name and what is in it."""
    page.locator(".bottom-right").get_by_role("button", name="Save as").click()
    with page.expect_download() as download:
        page.get_by_role("dialog", name="Save the graph").get_by_role("button", name=kind).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def relu_model(reads: str, makes: str, name: str) -> onnx.ModelProto:
    tensors = [helper.make_tensor_value_info(tensor, TensorProto.FLOAT, [1]) for tensor in (reads, makes)]
    graph = helper.make_graph([helper.make_node("Relu", [reads], [makes], name)], "g", tensors[:1], tensors[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def texts(svg: bytes) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_the_whole_graph_as_svg_with_the_overlay_that_is_on(opened: Watched) -> None:
    name, by_target = saved(opened.page, "SVG")
    assert name == "squeezenet-target.svg"
    assert texts(by_target).count("Conv") == 26
    assert any(text.startswith("squeezenet · predicted") for text in texts(by_target))
    opened.press("h")
    name, by_cost = saved(opened.page, "SVG")
    assert name == "squeezenet-cost.svg"
    assert by_cost != by_target
    opened.page.emulate_media(color_scheme="dark")
    opened.idle()
    assert b"#16181c" in saved(opened.page, "SVG")[1]


@pytest.mark.long
def test_the_whole_graph_as_png_of_the_same_size(opened: Watched) -> None:
    root = ElementTree.fromstring(saved(opened.page, "SVG")[1])
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    ratio = min(2.0, 16_000 / max(width, height), (60e6 / (width * height)) ** 0.5)
    name, png = saved(opened.page, "PNG")
    assert name == "squeezenet-target.png"
    size = int.from_bytes(png[16:20]), int.from_bytes(png[20:24])
    assert size == pytest.approx((width * ratio, height * ratio), abs=1)


@pytest.mark.long
def test_the_whole_graph_as_dot_with_its_partitions(opened: Watched) -> None:
    opened.press("h")
    name, text = saved(opened.page, "DOT")
    assert name == "squeezenet-cost.dot"
    dot = read_dot(text.decode())
    show_tab(opened.page, "Partitions")
    partitions = int(opened.page.get_by_role("tab", name="Partitions").inner_text().split()[-1])
    assert len(dot.clusters) == partitions
    assert len([node for node in dot.nodes if node.startswith("n")]) == sum(len(nodes) for _, nodes in dot.clusters)


@pytest.mark.long
def test_names_that_would_break_a_file_do_not(explorer: Explorer, open_page: OpenPage, tmp_path: Path) -> None:
    onnx.save(relu_model(HOSTILE, "out", f"node {HOSTILE}"), tmp_path / "bad.onnx")
    watched = open_page(explorer.address)
    watched.page.locator("input[type=file]").set_input_files(tmp_path / "bad.onnx")
    watched.idle()
    assert "Relu" in texts(saved(watched.page, "SVG")[1])
    assert set(read_dot(saved(watched.page, "DOT")[1].decode()).nodes) == {"i0", "n0", "o0"}


@pytest.mark.long
def test_a_plan_of_one_toolchain_leaves_as_its_own_files(explorer: Explorer, open_page: OpenPage, tmp_path: Path) -> None:
    """The form is chosen by the keyboard; the artifact is rebuilt in it, and the page tells how it is loaded."""
    onnx.save(relu_model("x", "y", "relu"), tmp_path / "relu.onnx")
    watched = open_page(explorer.address)
    page = watched.page
    page.locator("input[type=file]").set_input_files(tmp_path / "relu.onnx")
    watched.idle()
    chips = page.get_by_role("group", name="Targets").locator("button[aria-pressed=true]")
    while (others := chips.filter(has_not_text=re.compile("onnxruntime$"))).count():
        others.first.click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".readout")).to_contain_text("verified", timeout=300_000)
    page.get_by_role("button", name="Export", exact=True).click()
    dialog = page.get_by_role("dialog", name="Export the plan of relu")
    dialog.get_by_role("radio", name="One TVM module").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    with page.expect_download(timeout=300_000) as download:
        page.keyboard.press("Enter")
    with zipfile.ZipFile(Path(download.value.path())) as archive:
        assert {"artifact/load.py", "artifact/model.onnx"} <= set(archive.namelist())
        assert "artifact/module.so" not in archive.namelist()
    expect(dialog.get_by_role("button", name="Download")).to_be_visible()
    expect(dialog.get_by_role("region", name="Contents of the export")).to_contain_text("artifact/load.py")


@pytest.mark.long
@pytest.mark.parametrize(
    ("tab", "file", "column"),
    [
        ("Partitions", "squeezenet-partitions.csv", "cost_s"),
        ("Totals", "squeezenet-totals.csv", "predicted_s"),
        ("Runs", "runs.csv", "predicted_s"),
        ("Compare", "squeezenet-compared.csv", "plan_s"),
    ],
)
def test_a_table_as_csv(opened: Watched, tab: str, file: str, column: str) -> None:
    show_tab(opened.page, tab)
    opened.idle()
    with opened.page.expect_download() as download:
        opened.page.get_by_role("button", name="Save as CSV").click()
    assert download.value.suggested_filename == file
    with Path(download.value.path()).open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert rows
    assert all(row[column] == "" or float(row[column]) >= 0 for row in rows)


@pytest.mark.long
def test_the_run_in_formats_of_others(opened: Watched) -> None:
    opened.page.get_by_role("button", name="Export", exact=True).click()
    listed = opened.page.get_by_role("region", name="Contents of the export").get_by_role("button")
    listed.filter(has_text="annotated.onnx").scroll_into_view_if_needed()
    assert {file.name for file in FILES} <= set(listed.all_inner_texts())
    for name in ("annotated.onnx", "nodes.csv"):
        with opened.page.expect_download() as download:
            listed.filter(has_text=name).click()
        assert download.value.suggested_filename == f"squeezenet-{name}"
        content = Path(download.value.path()).read_bytes()
        if name == "annotated.onnx":
            model = onnx.ModelProto.FromString(content)
            onnx.checker.check_model(model)
            told = [{entry.key for entry in node.metadata_props} for node in model.graph.node if node.op_type == "Conv"]
            assert told
            assert all("collage target" in keys for keys in told)
        else:
            assert content.startswith(b"node,name,operator,target,")
