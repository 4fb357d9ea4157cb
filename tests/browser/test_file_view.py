"""A model as its file has it on the page: bodies open in place, what cannot be run is drawn all the same, and a weight has values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from onnx import ModelProto, save
from playwright.sync_api import expect

from tests.helpers import viewed_models as odd

from .conftest import OpenPage
from .explorer import Explorer, Watched, http


def opened(explorer: Explorer, open_page: OpenPage, folder: Path, model: ModelProto, query: str = "") -> Watched:
    path = folder / "odd.onnx"
    save(model, path)
    info = http.post(f"{explorer.address}api/v1/models", json={"path": str(path)}, timeout=60).json()
    return open_page(f"{explorer.address}?model={info['id']}{query}")


def test_bodies_open_in_place_and_a_path_leads_back(explorer: Explorer, open_page: OpenPage, tmp_path: Path) -> None:
    watched = opened(explorer, open_page, tmp_path, odd.nested_branches())
    page = watched.page
    page.get_by_role("radio", name="As in the file").click()
    watched.node("gate").dblclick()
    path = page.get_by_role("navigation", name="Graphs around this one")
    expect(path).to_contain_text("gate · else_branch")
    watched.press("Backspace")
    expect(path).to_have_count(0)
    watched.node("gate").click()
    page.locator(".facts div", has_text="then_branch").get_by_role("button", name="Open").click()
    watched.node("inner").focus()
    watched.press("Enter", "Enter")
    expect(path).to_contain_text("odd › gate · then_branch › inner · else_branch")
    page.reload()
    expect(path.locator("[aria-current=page]")).to_have_text("inner · else_branch")
    path.get_by_role("button", name="odd").click()
    expect(watched.node("gate")).to_be_visible()
    page.get_by_role("radio", name="As planned").click()
    expect(path).to_have_count(0)


@pytest.mark.parametrize(("make", "says"), [(odd.cycle, "the graph has a cycle"), (odd.missing_weights, "absent.bin")])
def test_a_model_that_cannot_be_run_is_drawn_and_says_why(
    explorer: Explorer, open_page: OpenPage, tmp_path: Path, make: Callable[[], ModelProto], says: str
) -> None:
    watched = opened(explorer, open_page, tmp_path, make())
    expect(watched.page.locator(".notices")).to_contain_text(says)
    expect(watched.node("x")).to_be_visible()
    watched.page.get_by_role("button", name="Run", exact=True).click()
    expect(watched.page.get_by_role("alert")).to_contain_text(says)


def test_a_node_says_what_its_operator_does_and_what_its_weights_are_like(explorer: Explorer, open_page: OpenPage, tmp_path: Path) -> None:
    query = "&as=file&scope=0.then_branch/0.then_branch"
    watched = opened(explorer, open_page, tmp_path, odd.nested_branches(), query)
    page = watched.page
    card = page.locator(".panel")
    expect(card).to_contain_text("1, and 5 in bodies and functions")
    watched.node("MatMul:t").click()
    page.get_by_text("What MatMul does").click()
    expect(card).to_contain_text("Matrix product that behaves like")
    card.locator(".weight summary").click()
    expect(card).to_contain_text("9 values, 36 bytes; 0 to 3, mean 1.125")
    expect(card).to_contain_text("1 NaN or infinite")
    expect(card.get_by_role("img", name="Histogram from 0 to 3")).to_be_visible()
