"""Folding: repeated blocks, name scopes and partitions as one box each; large models that open folded; by mouse and by keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import bench_models
import pytest
from playwright.sync_api import Locator, expect

from .conftest import OpenPage
from .explorer import Explorer, Watched, http, show_overlay, show_tab

LAYERS = 12
LARGE = "transformer4000"

Address = Callable[[str], str]


@pytest.fixture(scope="session")
def address_of(explorer: Explorer, tmp_path_factory: pytest.TempPathFactory) -> Address:
    """The page of a model that is built by code, opened once."""
    known: dict[str, str] = {}
    folder = tmp_path_factory.mktemp("models")

    def open_model(name: str) -> str:
        if name not in known:
            path: Path = folder / f"{name}.onnx"
            path.write_bytes(bench_models.build(name).SerializeToString())
            answer = http.post(f"{explorer.address}api/v1/models", json={"path": str(path)}, timeout=60)
            known[name] = f"{explorer.address}?model={answer.json()['id']}"
        return known[name]

    return open_model


@pytest.fixture
def layers(address_of: Address, open_page: OpenPage) -> Watched:
    """GPT-2 with its twelve layers folded into one box."""
    watched = open_page(address_of("gpt2"))
    group_by(watched, "repeats")
    return watched


def group_by(watched: Watched, by: str) -> None:
    watched.page.get_by_label("Group by").select_option(by)
    watched.idle()


def handle(watched: Watched, name: str) -> Locator:
    """In the graph: what unfolds or folds a group."""
    return watched.page.locator(".stage").get_by_role("button", name=name, exact=True)


def position(locator: Locator) -> tuple[float, float]:
    box = locator.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"]


def assert_near(one: tuple[float, float], other: tuple[float, float]) -> None:
    assert max(abs(a - b) for a, b in zip(one, other, strict=True)) < 2, f"{one} and {other}"


def test_twelve_layers_are_one_box_that_unfolds_where_it_is(layers: Watched) -> None:
    page = layers.page
    whole = page.locator('.stage [data-name="h"]')
    expect(whole).to_have_attribute("aria-expanded", "false")
    expect(whole).to_have_attribute("aria-label", re.compile(rf"^h ×{LAYERS}, 444 nodes, folded"))
    expect(page.get_by_role("scrollbar", name="Whole model")).to_have_attribute("aria-valuemax", "447")
    before, above = position(whole), position(layers.node("wte/Gather"))
    handle(layers, f"Unfold h ×{LAYERS}").click()
    layers.idle()
    expect(handle(layers, f"Fold h ×{LAYERS}")).to_have_attribute("aria-expanded", "true")
    first = layers.node("h 1")
    assert_near(position(first), before)
    assert_near(position(layers.node("wte/Gather")), above)
    second = position(layers.node("h 2"))
    handle(layers, "Unfold h 2").click()
    layers.idle()
    assert abs(position(layers.node("h.1/ln_1/Add"))[1] - second[1]) < 30
    assert "open=2.444" in page.url
    handle(layers, "Fold h 2").click()
    layers.idle()
    assert_near(position(layers.node("h 2")), second)
    assert "open=2.444" in page.url
    assert "." in page.url.partition("open=")[2]


@pytest.mark.long
def test_a_group_is_selected_as_its_nodes_and_unfolds_from_the_panel_and_the_menu(layers: Watched) -> None:
    page = layers.page
    layers.node("h").click()
    layers.idle()
    assert "nodes=2-445" in page.url
    details = page.get_by_role("complementary", name="Details")
    expect(details).to_contain_text("444 nodes")
    details.get_by_role("button", name=f"Unfold h ×{LAYERS}").click()
    layers.idle()
    expect(layers.page.locator(".stage :focus")).to_have_attribute("data-name", "h 1")
    layers.node("h 3").click()
    layers.idle()
    layers.node("h 3").click(button="right")
    layers.idle()
    page.get_by_role("menuitem", name="Unfold h 3").click()
    layers.idle()
    expect(layers.node("h.2/ln_1/Add")).to_be_visible()
    layers.node("h 2").click()
    layers.idle()
    layers.node("h 2").focus()
    layers.press("Enter")
    expect(page.locator(".stage :focus")).to_have_attribute("data-name", "h.1/ln_1/Add")


@pytest.mark.long
def test_a_link_shows_the_same_fold_and_unfolds_what_hides_its_node(layers: Watched, open_page: OpenPage) -> None:
    handle(layers, f"Unfold h ×{LAYERS}").click()
    layers.idle()
    other = open_page(layers.page.url)
    expect(handle(other, f"Fold h ×{LAYERS}")).to_be_visible()
    hidden = open_page(re.sub(r"&open=[^&]*", "&node=60", layers.page.url))
    assert "39.37" in hidden.page.url
    selected = hidden.page.locator('.stage [aria-pressed="true"]')
    expect(selected).to_have_attribute("data-id", "60")


@pytest.mark.long
def test_find_the_strip_and_keys_reach_what_is_hidden(layers: Watched) -> None:
    page = layers.page
    layers.press("/")
    page.keyboard.type("h.7/mlp/residual")
    layers.press("Enter")
    expect(page.locator(".stage :focus")).to_have_attribute("data-name", "h.7/mlp/residual/Add")
    layers.press("o")
    expect(page.locator(".stage :focus")).to_have_attribute("data-name", "h 8")
    layers.press("ArrowUp")
    expect(page.locator(".stage :focus")).to_have_attribute("data-name", "h 7")
    layers.press("O")
    expect(page.get_by_role("button", name="Fold all")).to_be_visible()
    layers.press("O")
    expect(handle(layers, f"Unfold h ×{LAYERS}")).to_be_visible()
    strip = page.get_by_role("scrollbar", name="Whole model").bounding_box()
    assert strip
    page.mouse.click(strip["x"] + 20, strip["y"] + strip["height"] / 2)
    layers.idle()
    expect(handle(layers, "Fold h 6").or_(handle(layers, "Fold h 7"))).to_have_count(1)


@pytest.mark.long
def test_every_way_to_group_and_the_shares_of_what_a_group_holds(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=mini_mnist", height=1600)
    page = watched.page
    boxes = page.locator(".stage [data-id]")
    everything = boxes.count()
    group_by(watched, "partitions")
    show_tab(page, "Partitions")
    partitions = int(re.findall(r"\d+", page.get_by_role("tab", name="Partitions").inner_text())[0])
    expect(boxes).to_have_count(partitions + 2)
    group = page.locator('.stage [data-id][aria-expanded="false"]').first
    expect(group).to_have_attribute("aria-label", re.compile(r"nodes? on \w+.*1 partition: [\d.]+ (µs|ms)"))
    show_overlay(page, "Cost")
    watched.idle()
    expect(group).to_be_visible()
    watched.press("g")
    expect(boxes).to_have_count(everything)
    expect(page.get_by_label("Group by")).to_have_value("nothing")
    assert "group=" not in page.url


def test_a_large_model_opens_folded(address_of: Address, open_page: OpenPage) -> None:
    watched = open_page(address_of(LARGE))
    page = watched.page
    unfold = page.get_by_role("button", name=re.compile(r"^Unfold h ×7\d$"))
    expect(unfold).to_be_visible()
    assert page.locator(".stage [data-id]").count() < 12
    unfold.click()
    watched.idle()
    handle(watched, "Unfold h 1").click()
    watched.idle()
    expect(watched.node("h.0/ln_1/Add")).to_be_visible()
    group_by(watched, "sections")
    expect(page.get_by_role("button", name=re.compile("^Unfold nodes 0 to"))).to_have_count(1)
    page.get_by_role("button", name="Fit").click()
    watched.idle()
    assert page.locator(".stage [data-id]").count() <= 600
