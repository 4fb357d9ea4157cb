"""The search of a run, traced on demand and replayed: played, stepped and scrubbed, on the graph and in words."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.helpers.paths import ROOT

from .conftest import OpenPage
from .explorer import Explorer, Watched, expect_overlay, show_overlay, show_tab
from .test_access import AXE, faults

NODES = ["relu1", "pool1"]
CHUNK = re.compile(r"/trace/chunks/(\d+)$")


def opened(open_page: OpenPage, explorer: Explorer, sample: str, **options: object) -> Watched:
    """A sample with its recorded run and no trace of it."""
    watched = open_page(f"{explorer.address}?sample={sample}", **options)
    show_tab(watched.page, "Search")
    watched.page.evaluate("() => document.activeElement.blur()")
    watched.idle()
    delete = watched.page.get_by_role("button", name="Delete the trace")
    if delete.is_visible():
        delete.click()
        watched.idle()
    return watched


def traced(open_page: OpenPage, explorer: Explorer, sample: str = "mini_mnist", **options: object) -> Watched:
    watched = opened(open_page, explorer, sample, **options)
    watched.page.get_by_role("button", name="Trace this search").click()
    watched.idle()
    return watched


def slider(watched: Watched) -> Locator:
    return watched.page.get_by_role("slider", name="Step")


def steps(watched: Watched) -> int:
    return int(slider(watched).get_attribute("max") or 0) + 1


def shown(watched: Watched) -> list[str | None]:
    """The picture of the step: its words, and what the graph says of some nodes."""
    watched.idle()
    words = watched.page.locator(".replay-words").inner_text()
    return [words, *(watched.node(node).get_attribute("aria-label") for node in NODES)]


def scrub(watched: Watched, step: int) -> list[str | None]:
    slider(watched).fill(str(step))
    return shown(watched)


def words_at(watched: Watched, step: int) -> str:
    slider(watched).fill(str(step))
    watched.idle()
    return watched.page.locator(".replay-words").inner_text()


def test_a_recorded_search_is_traced_on_demand_and_stepped(explorer: Explorer, open_page: OpenPage) -> None:
    watched = traced(open_page, explorer)
    page = watched.page
    expect(page.get_by_text(re.compile(r"trace of [\d.]+ [k]?B"))).to_be_visible()
    expect_overlay(page, "Search")
    expect(page.get_by_role("button", name="One step back")).to_be_disabled()
    words = []
    for _ in range(12):
        watched.press("]")
        words.append(page.locator(".replay-words").inner_text())
    assert any(re.search(r"The first search begins: \d+ candidates over 6 nodes", one) for one in words)
    assert any(re.search(r"State \d+ is expanded: .* No plan over it is below [\d.]+ (µs|ms)", one) for one in words)
    assert any(re.search(r"at \w+ \([\d.]+ µs\) is placed: state \d+ is found, \d of 6 nodes covered", one) for one in words)
    expect(page.get_by_text(f"step 13 of {steps(watched)}")).to_be_visible()
    current = page.get_by_role("list", name="Steps around").locator('[aria-current="step"]')
    expect(current).to_contain_text("13")
    watched.press("[")
    expect(current).to_contain_text("12")
    page.get_by_role("list", name="Steps around").get_by_role("button").first.click()
    watched.idle()
    expect(current).to_contain_text("10")


@pytest.mark.long
def test_the_graph_shows_what_is_covered_and_what_is_tried(explorer: Explorer, open_page: OpenPage) -> None:
    watched = traced(open_page, explorer)
    seen = set()
    for step in range(steps(watched)):
        words, *nodes = scrub(watched, step)
        assert words
        seen |= {re.sub(r"^.*; ", "", label or "") for label in nodes}
        if "is expanded: nothing is covered" in words:
            assert all((label or "").endswith("; not covered") for label in nodes)
    assert {"not covered", "the first node that is not covered"} <= seen
    assert any(re.fullmatch(r"\w+ is placed now", one) for one in seen)
    assert any(re.fullmatch(r"covered by \w+", one) for one in seen)
    assert re.search(r"; covered by \w+$", shown(watched)[1] or ""), "the search ends with everything covered"


@pytest.mark.long
def test_scrubbing_stepping_and_playing_show_the_same(explorer: Explorer, open_page: OpenPage) -> None:
    watched = traced(open_page, explorer)
    page = watched.page
    count = steps(watched)
    stepped = [shown(watched)]
    for _ in range(count - 1):
        watched.page.keyboard.press("]")
        stepped.append(shown(watched))
    expect(page.get_by_role("button", name="One step on")).to_be_disabled()
    for step in sorted(range(count), key=lambda index: index * 31 % count)[::4]:
        assert scrub(watched, step) == stepped[step]
    scrub(watched, 0)
    page.get_by_label("speed").select_option("2")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_label("speed").select_option("100")
    assert shown(watched) == stepped[-1], "it is idle when it has played to the end"
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_by_keyboard_alone(explorer: Explorer, open_page: OpenPage) -> None:
    watched = opened(open_page, explorer, "mini_mnist")
    page = watched.page
    watched.press("Space")
    expect(slider(watched)).to_be_visible()
    watched.press("]", "]")
    expect(page.get_by_text(f"step 3 of {steps(watched)}")).to_be_visible()
    slider(watched).focus()
    watched.press("ArrowRight", "]")
    expect(page.get_by_text(f"step 5 of {steps(watched)}")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Space")
    watched.idle()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


@pytest.mark.long
def test_the_step_is_in_the_address(explorer: Explorer, open_page: OpenPage) -> None:
    watched = traced(open_page, explorer)
    before = scrub(watched, 20)
    assert "overlay=search&step=20" in watched.page.url
    other = open_page(watched.page.url)
    assert shown(other) == before
    watched.page.go_back()
    watched.idle()
    assert "step=" not in watched.page.url, "steps are nothing to go back through"


@pytest.mark.long
def test_chunks_are_fetched_as_they_are_needed_and_may_come_in_any_order(explorer: Explorer, open_page: OpenPage) -> None:
    watched = traced(open_page, explorer, "inception")
    page, last = watched.page, steps(watched) - 1
    straight = {step: words_at(watched, step) for step in (3000, last, 1500)}
    held: list[Route] = []

    def second_first(route: Route) -> None:
        if len(held) == 2:
            route.continue_()  # asked for once the first two had come
            return
        held.append(route)
        if len(held) == 2:
            for one in reversed(held):
                one.continue_()

    page.route(CHUNK, second_first)
    page.reload()
    watched.idle()
    assert len(held) == 2, "the chunk of the step, and one near it"
    assert words_at(watched, 1500) == straight[1500]
    for step in (3000, 1500, last):
        slider(watched).fill(str(step))
    watched.idle()
    assert page.locator(".replay-words").inner_text() == straight[last], "the newest wins"
    assert words_at(watched, 3000) == straight[3000]


@pytest.mark.long
def test_what_cannot_be_traced_or_fetched_is_said(explorer: Explorer, open_page: OpenPage) -> None:
    watched = opened(open_page, explorer, "mini_mnist")
    page = watched.page
    body = json.dumps({"error": {"code": "busy", "message": "a run is measuring", "hint": "trace the search when it is over"}})
    page.route(re.compile(r"/trace$"), lambda route: route.fulfill(status=409, content_type="application/json", body=body))
    page.get_by_role("button", name="Trace this search").click()
    expect(page.get_by_role("alert")).to_contain_text("a run is measuring")
    page.unroute(re.compile(r"/trace$"))
    page.route(CHUNK, lambda route: route.abort())
    page.get_by_role("button", name="Trace this search").click()
    expect(page.get_by_role("alert")).to_contain_text("the server does not answer")
    page.unroute(CHUNK)
    watched.press("]")
    expect(page.get_by_role("alert")).to_have_count(0)
    assert (shown(watched)[0] or "") != "…"


@pytest.mark.long
def test_a_pin_leaves_the_replay_and_offers_that_of_the_new_search(explorer: Explorer, open_page: OpenPage) -> None:
    watched = traced(open_page, explorer)
    page = watched.page
    scrub(watched, 20)
    watched.node("relu1").click()
    watched.idle()
    page.get_by_role("button", name=re.compile(r"^Pin exactly ")).first.click()
    watched.idle()
    expect_overlay(page, "Target")
    watched.press("k")
    page.get_by_role("button", name="Trace this search").click()
    watched.idle()
    scrub(watched, 1)
    expect(page.locator(".replay-words")).to_contain_text(re.compile("The (best plan|search begins)"))


@pytest.mark.long
def test_a_trace_is_deleted(explorer: Explorer, open_page: OpenPage) -> None:
    watched = traced(open_page, explorer)
    watched.page.get_by_role("button", name="Delete the trace").click()
    watched.idle()
    expect(watched.page.get_by_role("button", name="Trace this search")).to_be_visible()
    expect_overlay(watched.page, "Target")
    show_overlay(watched.page, "Search")
    expect(watched.page.get_by_text("This search has not been traced.")).to_be_visible()


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault_in_the_replay(explorer: Explorer, open_page: OpenPage, scheme: str) -> None:
    watched = opened(open_page, explorer, "mini_mnist", scheme=scheme, bypass_csp=True)
    watched.page.evaluate(AXE.read_text())
    assert faults(watched) == [], "before it is traced"
    watched.page.get_by_role("button", name="Trace this search").click()
    watched.idle()
    for step in (0, 5, 20):
        scrub(watched, step)
        assert faults(watched) == [], step
    show_tab(watched.page, "Log")
    assert faults(watched) == [], "with the overlay alone"


@pytest.mark.long
def test_each_round_of_merging_can_be_gone_to(explorer: Explorer, open_page: OpenPage) -> None:
    """The trace is the one of the unit tests, of a run that merged."""
    watched = opened(open_page, explorer, "mini_mnist")
    page = watched.page
    made = json.loads((ROOT / "frontend" / "test" / "trace.json").read_text())
    state = {"run": "recorded-mini_mnist", "state": "ready", "steps": 0, "facts": made["facts"], "error": None}
    page.route(re.compile(r"/trace$"), lambda route: route.fulfill(json=state))
    page.route(CHUNK, lambda route: route.fulfill(json=made["chunks"][int(route.request.url.rsplit("/", 1)[1])]))
    page.get_by_role("button", name="Trace this search").click()
    watched.idle()
    choice = page.get_by_role("combobox", name="Search", exact=True)
    choice.select_option(label="fusing adjacent partitions, round 1")
    watched.idle()
    second = made["facts"]["searches"][1]["first"]
    expect(page.get_by_text(f"step {second + 1} of {made['facts']['steps']}")).to_be_visible()
    watched.press("[")
    expect(page.locator(".replay-words")).to_contain_text(
        "The first search ends with a plan of predicted 19.0 s, and it is proven that no plan is better"
    )
    expect(choice).to_have_value("0")
