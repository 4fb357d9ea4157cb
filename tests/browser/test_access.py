"""Axe finds no fault on any screen, in both themes; motion stops when it is not wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import OpenPage
from .explorer import Explorer, Watched

AXE = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"
FAULTS = "async () => (await axe.run(document)).violations.map(({impact, id, nodes}) => [impact, id, nodes[0].html])"


def faults(watched: Watched) -> Any:
    watched.idle()
    return watched.page.evaluate(FAULTS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault(explorer: Explorer, open_page: OpenPage, scheme: str) -> None:
    watched = open_page(explorer.address, scheme=scheme, bypass_csp=True)
    page = watched.page
    page.evaluate(AXE.read_text())
    assert faults(watched) == [], "samples"
    page.get_by_role("button", name="mini-MNIST").click()
    assert faults(watched) == [], "graph"
    watched.node("relu1").click()
    assert faults(watched) == [], "why"
    watched.press("Shift+F10", "ArrowRight")
    assert faults(watched) == [], "menu"
    watched.press("Escape", "End", "Enter")
    assert faults(watched) == [], "decide by name"
    watched.press("Escape", "Shift+ArrowDown")
    assert faults(watched) == [], "several nodes"
    watched.press("v")
    page.get_by_role("radio", name="Cost").click()
    for tab in ("Node", "Pins", "Partitions", "Costs", "Totals", "Runs", "Compare", "Charts", "Log"):
        page.get_by_role("tab", name=tab).click()
        assert faults(watched) == [], tab
    page.get_by_role("tab", name="Toolchains & rules").click()
    for part in ("Rules", "Options", "Describe one"):
        page.get_by_role("radio", name=part, exact=True).click()
        assert faults(watched) == [], part
    page.get_by_role("button", name="Try", exact=True).click()
    assert faults(watched) == [], "tried"
    page.get_by_role("region", name="What hook would bring").get_by_role("button", name="Discard").click()
    for key, overlay in (("s", "certainty"), ("3", "coverage"), ("d", "difference")):
        watched.press(key)
        assert faults(watched) == [], overlay
    watched.press("/")
    page.keyboard.type("re")
    assert faults(watched) == [], "find"
    watched.press("Escape", "?")
    assert faults(watched) == [], "keyboard"


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
