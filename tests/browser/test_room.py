"""Room for the graph: fit shows boxes, deep models open folded and wrapped, nothing lies over the graph, and every width has a layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import bench_models
import pytest
from playwright.sync_api import expect

from tests.helpers.long_cases import mostly_long

from .conftest import OpenPage
from .explorer import Explorer, Watched, http, running, show_tab

BOXES = "[...document.querySelectorAll('.stage [data-id]')].map((box) => box.getBoundingClientRect())"
FILLED = f"""() => {{ const boxes = {BOXES}; const stage = document.querySelector('.stage').getBoundingClientRect();
    const right = Math.max(...boxes.map((box) => box.right)), left = Math.min(...boxes.map((box) => box.left));
    return (right - left) / stage.width; }}"""
COLOURED = """() => { const canvas = document.querySelector('.stage canvas'); const { width, height } = canvas;
    const data = canvas.getContext('2d').getImageData(0, 0, width, height).data; let count = 0;
    for (let i = 0; i < data.length; i += 4) {
        const [r, g, b] = [data[i], data[i + 1], data[i + 2]];
        if (Math.max(r, g, b) - Math.min(r, g, b) > 30) count += 1;
    }
    return count / (width * height); }"""
DARK = """() => { const canvas = document.querySelector('.stage canvas'); const { width, height } = canvas;
    const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
    const isDark = Uint8Array.from({ length: width * height }, (_, i) => (data[4 * i] + data[4 * i + 1] + data[4 * i + 2] < 375 ? 1 : 0));
    const sizes = [], ends = [width, height, 0, 0];
    for (let first = 0; first < isDark.length; first += 1) {
        const waiting = isDark[first] ? [first] : []; let size = 0; isDark[first] = 0;
        while (waiting.length > 0) {
            const at = waiting.pop(), x = at % width, y = (at - x) / width; size += 1;
            ends[0] = Math.min(ends[0], x); ends[1] = Math.min(ends[1], y); ends[2] = Math.max(ends[2], x); ends[3] = Math.max(ends[3], y);
            for (const next of [at - 1, at + 1, at - width, at + width]) if (isDark[next]) { isDark[next] = 0; waiting.push(next); }
        }
        if (size > 0) sizes.push(size);
    }
    return { sizes, filled: [(ends[2] - ends[0]) / width, (ends[3] - ends[1]) / height] }; }"""
"""The areas of the canvas that are of one dark colour or several that touch, in pixels: titles of boxes, and now and then where edges
cross; and the share of the canvas between the outermost."""
FITS = "() => document.documentElement.scrollWidth <= window.innerWidth"


DEEP, DEEPEST = "gpt2", "transformer2148"
"""Transformers whose graphs have 448 and, the layer norms folded into one node each, 1,485 nodes."""


@pytest.fixture(scope="session")
def deep(explorer: Explorer, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The page of a deep model, by its name."""
    folder: Path = tmp_path_factory.mktemp("deep")

    def address(name: str) -> str:
        path = folder / f"{name}.onnx"
        if not path.exists():
            path.write_bytes(bench_models.build(name).SerializeToString())
        answer = http.post(f"{explorer.address}api/v1/models", json={"path": str(path)}, timeout=60)
        return f"{explorer.address}?model={answer.json()['id']}"

    return address


def inside(watched: Watched, inner: str, outer: str) -> bool:
    [a, b] = [watched.page.locator(one).bounding_box() for one in (inner, outer)]
    assert a
    assert b
    return a["y"] + a["height"] > b["y"] and b["y"] + b["height"] > a["y"]


@pytest.mark.long
def test_a_deep_model_opens_folded_and_fit_shows_coloured_boxes(deep: Callable[[str], str], open_page: OpenPage) -> None:
    folded = open_page(deep(DEEP))
    expect(folded.page.get_by_label("Group by")).to_have_value("repeats")
    expect(folded.page.get_by_role("button", name="Unfold h ×12")).to_be_visible()
    folded.page.get_by_label("Group by").select_option("scopes")
    folded.idle()
    assert folded.page.locator(".stage [data-id]").count() == 18  # Grouping refits: every fold is in view, and large enough to be read.
    assert folded.page.evaluate(FILLED) < 0.2, "18 boxes run straight down"
    folded.press("m")
    assert folded.page.locator(".stage [data-id]").count() == 18
    assert folded.page.evaluate(FILLED) > 0.7
    folded.page.reload()
    folded.idle()
    assert folded.page.evaluate(FILLED) > 0.7, "the page remembers that columns are on"
    flat = open_page(f"{deep(DEEP)}&group=nothing")
    flat.press("f")
    assert flat.page.evaluate(COLOURED) > 0.012


@pytest.mark.long
def test_fit_of_a_flat_model_of_1485_nodes_fills_the_window_with_a_box_a_node(deep: Callable[[str], str], open_page: OpenPage) -> None:
    watched = open_page(f"{deep(DEEPEST)}&group=nothing")
    expect(watched.page.locator(".top")).to_contain_text("1,485 nodes")
    watched.press("f")
    drawn = watched.page.evaluate(DARK)
    boxes = [size for size in drawn["sizes"] if size >= 6]
    assert len(boxes) == 1485, "no two of them touch"
    assert min(drawn["filled"]) > 0.85


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """An explorer in which no other test has measured a recorded run again: the header says so, and has less room for words."""
    with running(tmp_path_factory.mktemp("untouched")) as explorer:
        yield explorer


@pytest.mark.parametrize(("width", "height"), mostly_long([(1024, 768), (1440, 900), (1920, 1080)]))
def test_no_bar_covers_the_graph_and_the_header_is_one_line(untouched: Explorer, open_page: OpenPage, width: int, height: int) -> None:
    watched = open_page(f"{untouched.address}?sample=mini_mnist&overlay=coverage", width=width, height=height)
    expect(watched.page.locator(".legend")).to_be_visible()
    for bar in (".overlay-menu", ".find", ".legend", ".group-by", ".bottom-right"):
        assert not inside(watched, bar, ".stage"), bar
    header = watched.page.locator(".top").bounding_box()
    assert header
    assert header["height"] < 50, "one line"
    assert watched.page.evaluate(FITS)
    words = watched.page.locator(".readout .word")
    expect(words).to_be_visible() if width >= 1440 else expect(words).to_be_hidden()


@pytest.mark.long
def test_words_that_gave_way_to_something_wide_come_back(explorer: Explorer, open_page: OpenPage) -> None:
    """Even where the text has as many letters as before."""
    page = open_page(f"{explorer.address}?sample=mini_mnist").page
    say = "([text, basis]) => { const gap = document.querySelector('.top .spacer'); gap.textContent = text; gap.style.flexBasis = basis; }"
    header = page.locator(".top")
    page.evaluate(say, ["a", ""])
    page.wait_for_timeout(500)
    before = header.get_attribute("data-left-out")
    page.evaluate(say, ["b", "900px"])
    expect(header).to_have_attribute("data-left-out", "1 2 3 4 5")
    page.evaluate(say, ["c", ""])
    expect(header).to_have_attribute("data-left-out", str(before))


@pytest.mark.long
def test_the_buttons_beside_a_long_legend_stay_together(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=mini_mnist&overlay=cost", width=1024, height=768)
    expect(watched.page.locator(".legend")).to_be_visible()
    boxes = [watched.page.get_by_role("button", name=name, exact=True).bounding_box() for name in ("Legend", "Save as", "Zoom in")]
    tops = [box["y"] for box in boxes if box]
    assert max(tops) - min(tops) < 5, "in one line"
    last = watched.page.get_by_role("button", name="Columns").bounding_box()
    assert last
    stage = watched.page.locator(".stage").bounding_box()
    assert stage
    assert stage["x"] + stage["width"] - last["x"] - last["width"] < 20, "at the right side"


@pytest.mark.long
@pytest.mark.parametrize(("width", "height"), mostly_long([(1024, 768), (1440, 900), (1920, 1080)]))
def test_a_header_with_much_to_say_is_one_line_and_loses_no_more_words_than_it_must(
    explorer: Explorer, open_page: OpenPage, width: int, height: int
) -> None:
    watched = open_page(f"{explorer.address}?sample=speech_transformer", width=width, height=height)
    header = watched.page.locator(".top").bounding_box()
    assert header
    assert header["height"] < 50, "one line"
    names = watched.page.locator(".top .chip-name").first
    expect(names).to_be_visible()
    assert (names.evaluate("(name) => getComputedStyle(name).position") == "absolute") == (width <= 1440), (
        "letters alone where it is narrow"
    )
    watched.page.set_viewport_size({"width": 2400, "height": height})
    expect(watched.page.locator(".readout .word")).to_be_visible()
    expect(watched.page.locator(".readout .interval")).to_be_visible()


@pytest.mark.long
def test_a_panel_under_a_button_near_the_side_stays_in_the_window(deep: Callable[[str], str], open_page: OpenPage) -> None:
    watched = open_page(deep("transformer20"), width=1024, height=768)
    watched.page.locator(".run-preview").click()
    sheet = watched.page.locator(".top .sheet")
    expect(sheet).to_contain_text(re.compile("About [0-9,]+ builds"))  # It is wider than what stood there first.
    watched.idle()
    box = sheet.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1024
    assert watched.page.evaluate(FITS)


def test_a_phone_in_portrait_reads(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=mini_mnist", width=390, height=844)
    page = watched.page
    assert page.evaluate(FITS)
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_hidden()
    watched.node("relu1").click()
    watched.idle()
    expect(page.get_by_role("complementary", name="Details")).to_contain_text("onnxruntime")
    expect(page.get_by_role("button", name="Pin exactly")).to_have_count(0)
    expect(page.locator(".readout")).to_contain_text("verified")


@pytest.mark.long
def test_on_a_phone_the_room_that_is_left_belongs_to_the_text(deep: Callable[[str], str], open_page: OpenPage) -> None:
    watched = open_page(deep("transformer20"), width=390, height=844)
    page = watched.page
    height = {name: (page.locator(name).bounding_box() or {})["height"] for name in (".top", ".panel", ".drawer")}
    assert max(height[".top"], height[".drawer"]) < 50, "one line each"
    assert height[".panel"] > 150
    show_tab(page, "Search")
    tabs, close = page.get_by_role("tab", name="Log").bounding_box(), page.get_by_role("button", name="Close the drawer").bounding_box()
    assert tabs
    assert close
    assert abs(tabs["y"] - close["y"]) < 10, "the tabs and the button that closes them are one line"
    assert page.evaluate(FITS)


def test_each_question_has_a_room_that_remembers_its_view_and_a_legend_says_what_the_marks_are(
    explorer: Explorer, open_page: OpenPage
) -> None:
    watched = open_page(f"{explorer.address}?sample=mini_mnist")
    page = watched.page
    tabs = page.get_by_role("tablist", name="Run").get_by_role("tab")
    assert tabs.all_inner_texts() == ["What runs where", "What if", "How it went"]
    show_tab(page, "Charts")
    show_tab(page, "Costs")
    page.get_by_role("tab", name="How it went").click()
    expect(page.get_by_role("tab", name="Charts")).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="Legend").click()
    marks = page.get_by_role("dialog", name="The marks on the graph")
    for words in ("that the last decision changed", "pinned", "veto this candidate"):
        expect(marks).to_contain_text(words)
