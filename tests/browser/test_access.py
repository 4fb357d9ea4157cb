"""Axe finds no fault on any screen, in both themes; motion stops when it is not wanted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.helpers.paths import ROOT

from . import explorer as tools
from .conftest import OpenPage
from .explorer import Explorer, Watched
from .test_files import write_model

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
FAULTS = "async () => (await axe.run(document)).violations.map(({impact, id, nodes}) => [impact, id, nodes[0].html])"


def faults(watched: Watched) -> Any:
    watched.idle()
    return watched.page.evaluate(FAULTS)


INSIDE = """(axe) => {
    const inside = document.querySelector('iframe.netron').contentDocument;
    const script = inside.createElement('script');
    script.textContent = axe;
    inside.head.append(script);
}"""
SERIOUS = {"serious", "critical"}


@pytest.fixture(params=["light", pytest.param("dark", marks=pytest.mark.long)])
def start(request: pytest.FixtureRequest, explorer: Explorer, open_page: OpenPage) -> Watched:
    """The page without a model, with axe in it, in each theme."""
    watched = open_page(explorer.address, scheme=request.param, bypass_csp=True)
    watched.page.evaluate(AXE.read_text())
    return watched


@pytest.fixture
def sample(start: Watched) -> Watched:
    """mini-MNIST with its recorded run."""
    start.page.get_by_role("button", name="mini-MNIST").click()
    start.idle()
    return start


def show_tab(watched: Watched, name: str) -> None:
    tools.show_tab(watched.page, name)
    watched.idle()


@pytest.mark.long
def test_axe_finds_no_fault_before_and_around_a_model(start: Watched, tmp_path: Path) -> None:
    page = start.page
    assert faults(start) == [], "samples"
    for files, screen in ((write_model(tmp_path, width="width"), "shapes are asked for"), ([AXE], "a file that is no model")):
        page.locator("input[type=file]").set_input_files(files)
        if files != [AXE]:
            page.get_by_role("radio", name="As planned").click()
        expect(page.get_by_role("form", name=re.compile("^Shape of")).or_(page.get_by_role("alert"))).to_be_visible()
        assert faults(start) == [], screen
        page.get_by_role("button", name="Dismiss").click()
        page.get_by_role("button", name="Collage").click()
    page.get_by_role("button", name="mini-MNIST").click()
    assert faults(start) == [], "graph"
    start.press("?")
    assert faults(start) == [], "keyboard"
    start.press("Escape")
    page.get_by_role("button", name="mini_mnist").click()
    assert faults(start) == [], "models"
    start.press("Escape")
    page.locator(".bottom-right").get_by_role("button", name="Save as").click()
    assert faults(start) == [], "saving"


def test_axe_finds_no_fault_in_the_graph_and_the_panel(sample: Watched) -> None:
    page = sample.page
    sample.node("relu1").click()
    assert faults(sample) == [], "why"
    sample.press("Shift+F10", "ArrowRight")
    assert faults(sample) == [], "menu"
    sample.press("Escape", "End", "Enter")
    assert faults(sample) == [], "decide by name"
    sample.press("Escape", "Shift+ArrowDown")
    assert faults(sample) == [], "several nodes"
    sample.press("v")
    for tab in ("What it is", "Pins"):
        show_tab(sample, tab)
        assert faults(sample) == [], tab
    for key, overlay in (("h", "cost"), ("s", "certainty"), ("3", "coverage"), ("d", "difference")):
        sample.press(key)
        assert faults(sample) == [], overlay
    page.get_by_label("Group by").select_option("partitions")
    assert faults(sample) == [], "folded"
    sample.press("/")
    page.keyboard.type("re")
    assert faults(sample) == [], "find"


@pytest.mark.long
def test_axe_finds_no_fault_in_the_drawer(sample: Watched) -> None:
    page = sample.page
    for tab in ("Search", "Partitions", "Costs", "Totals", "Runs", "Compare", "Log"):
        show_tab(sample, tab)
        assert faults(sample) == [], tab
    show_tab(sample, "Charts")
    for chart in ("Totals", "Predicted", "Spread", "Convergence"):
        page.get_by_role("radio", name=chart).click()
        assert faults(sample) == [], chart
    page.get_by_role("radio", name="Spread").click()
    page.get_by_role("button", name="As a table").click()
    assert faults(sample) == [], "numbers of a chart"
    show_tab(sample, "Runs")
    sample.node("relu1").click()
    sample.press("v", "k")
    row = page.get_by_role("table", name="Runs").locator("tbody tr[data-row]").first
    row.get_by_role("button", name="Name and note").click()
    assert faults(sample) == [], "a run is named"
    sample.press("Escape", "Delete")
    expect(page.get_by_text("Delete for good?")).to_be_visible()
    assert faults(sample) == [], "a run is deleted"


@pytest.mark.long
def test_axe_finds_no_fault_in_toolchains_and_rules(start: Watched) -> None:
    page = start.page
    page.get_by_role("button", name="SqueezeNet").click()
    start.idle()
    show_tab(start, "Toolchains")
    page.get_by_role("button", name="rejected").first.click()
    assert faults(start) == [], "rejected"
    for part in ("Rules", "Options", "Describe one"):
        page.get_by_role("radio", name=part, exact=True).click()
        assert faults(start) == [], part
    page.get_by_role("button", name="Try", exact=True).click()
    assert faults(start) == [], "tried"
    page.get_by_role("textbox", name="Description of a toolchain, as TOML").fill("name = ")
    assert faults(start) == [], "a mistake"


@pytest.mark.long
def test_axe_finds_no_fault_around_netron_and_none_that_is_serious_in_it(sample: Watched) -> None:
    show_tab(sample, "Netron")
    assert faults(sample) == []
    sample.page.evaluate(INSIDE, AXE.read_text())
    assert [fault for fault in faults(sample) if fault[0] in SERIOUS] == []


@pytest.mark.long
def test_motion_stops_when_it_is_not_wanted(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=mini_mnist", reduced_motion="reduce")
    steps = """async () => {
        const group = document.querySelector('.stage g');
        const seen = new Set();
        new MutationObserver(() => seen.add(group.getAttribute('transform'))).observe(group, {attributes: true});
        document.querySelector('[aria-label="Zoom in"]').click();
        await window.__collage.idle();
        return seen.size;
    }"""
    assert watched.page.evaluate(steps) == 1
