"""A run as it happens, on a real server with an engine that does what its target's name says: stages, floods, a server that dies."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_engine import FakeEngine
from playwright.sync_api import Locator, Page, Route, expect

from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.runs import run_store
from collage_server.runs.journal import Reader
from tests.helpers.live import TOKEN, Live, serve, until
from tests.helpers.paths import ROOT

from .conftest import OpenPage
from .explorer import Watched, http, show_tab
from .test_access import AXE, faults
from .test_files import write_model

NODES = ["add1", "relu1", "pool1"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("live")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLLAGE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def live(home: Path) -> Iterator[Live]:
    app, _ = create_app(ServerConfig(engine=FakeEngine(), token=TOKEN))
    yield from serve(app)
    app.extensions["collage"].close()


@pytest.fixture(scope="module")
def model(live: Live) -> str:
    return str(live.post("models", {"sample": "mini_mnist"})["id"])


@pytest.fixture
def run(live: Live, model: str) -> Iterator[str]:
    """A run that waits, stage by stage."""
    started = live.start(model, "stages")["id"]
    yield started
    live.post(f"runs/{started}/cancel")


def go(run: str, stage: str) -> None:
    (run_store.run_folder(run) / stage).touch()


def until_costed(run: str) -> None:
    """Wait until a cost of the run is in its journal."""
    until(lambda: "CandidateCosted" in [item.event["type"] for item in Reader(run_store.run_folder(run)).items()], "a cost in the journal")


def phases(page: Page) -> Locator:
    return page.get_by_role("list", name="Phases")


def row(page: Page) -> list[str]:
    """The counts of the one target: found, computations, built, measured, failed, from cache, skipped, rejected."""
    return page.get_by_role("table", name="Counts").locator("tbody td").all_inner_texts()


def aria_texts(watched: Watched) -> list[str]:
    return [watched.node(node).get_attribute("aria-label") or "" for node in NODES]


def test_a_run_as_it_happens(live: Live, model: str, run: str, open_page: OpenPage) -> None:
    watched = open_page(f"{live.address}?model={model}&run={run}&overlay=search")
    page, now = watched.page, watched.page.locator(".doing")
    expect(now).to_contain_text("Building and timing Conv + Relu for stages, 0 of 4 known")
    expect(phases(page).locator('[aria-current="step"]')).to_contain_text("costs")
    expect(phases(page)).to_contain_text(re.compile(r"candidates\s+done\s*0.3 s|candidates\s+done\s*0.2 s"))
    watched.idle()
    conv, relu, pool = aria_texts(watched)
    assert "stages is being built and timed" in conv
    assert "stages is being built and timed" in relu
    assert "stages in the plan that is considered, not measured yet" in pool
    assert row(page) == ["9", "7", "0", "0", "0", "0", "0", "2"]
    board = page.get_by_role("region", name="Leaderboard")
    expect(board.get_by_role("listitem")).to_have_text([re.compile("stages alone *not timed yet")])
    expect(board.get_by_role("list")).to_have_attribute("aria-live", "polite")
    expect(page.get_by_text("estimated bound")).to_be_visible()

    go(run, "go1")
    expect(now).to_contain_text(re.compile(r"1 of 4 known.* · about 6 min \d\d s left · a trial takes 1.9 s with stages"))
    expect(page.locator(".best")).to_contain_text(re.compile(r"0.90 ms\s*estimated bound\s*0.60 ms"))
    expect(board.get_by_role("listitem")).to_have_text([re.compile("stages alone *0.90 ms ± 10.0 µs")])
    expect(board).to_contain_text(re.compile(r"about 6 min \d\d s left"))
    show_tab(page, "Costs")
    expect(page.get_by_role("table", name="New costs").get_by_role("row")).to_have_text([re.compile("stages *Conv.Relu *0.40 ms")])
    show_tab(page, "Search")
    page.reload()
    late = open_page(page.url)
    for one in (watched, late):
        one.idle()
        expect(one.page.locator(".doing")).to_contain_text(re.compile("1 of 4 known.* · about 6 min"))
        assert row(one.page) == ["9", "7", "1", "1", "0", "0", "0", "2"]
        assert "stages in the plan that is considered" in aria_texts(one)[0]
        assert "stages is being built and timed" in aria_texts(one)[2]
        expect(one.page.locator("svg.convergence")).to_have_attribute("aria-label", re.compile(r"Best total, predicted 0.90 ms"))

    go(run, "go2")
    for one in (watched, late):
        expect(one.page.locator(".doing")).to_contain_text("Searching: 1,200 states expanded, 2 of 6 nodes covered by the newest")
        one.idle()
        assert row(one.page) == ["9", "7", "1", "1", "1", "0", "5", "2"]
        expect(phases(one.page)).to_contain_text(re.compile(r"costs\s+done\s*3.5 s"))
        conv, _, pool = aria_texts(one)
        assert "placed on stages in the newest state of the search" in conv
        assert "the first node that is not covered" in pool
    go(run, "go3")
    for one in (watched, late):
        expect(one.page.get_by_role("button", name="Run", exact=True)).to_be_visible()
        one.idle()
        expect(phases(one.page).locator('[aria-current="step"]')).to_have_count(0)
        expect(one.page.locator(".doing")).to_have_count(0)
        expect(one.page.get_by_role("region", name="Leaderboard")).to_have_count(0)


def test_the_best_plan_so_far_is_on_the_graph_and_why_says_where_costs_come(live: Live, model: str, run: str, open_page: OpenPage) -> None:
    """Without the overlay Search: what is considered and what is being built, in the colours of targets."""
    watched = open_page(f"{live.address}?model={model}&run={run}")
    expect(watched.node(NODES[2])).to_have_attribute("aria-label", re.compile("stages in the plan that is considered, not measured yet"))
    expect(watched.page.locator(".legend")).to_contain_text("highlighted: stages is being built and timed")
    watched.node(NODES[0]).click()
    expect(watched.page.locator(".overlay-says")).to_have_text("stages is being built and timed.")
    go(run, "go1")
    watched.page.get_by_role("tabpanel", name="Why").get_by_role("button", name="Costs").click()
    expect(watched.page.get_by_role("table", name="New costs").get_by_role("row")).to_have_text([re.compile("stages *Conv.Relu *0.40 ms")])


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault_while_a_run_goes_on(live: Live, model: str, run: str, open_page: OpenPage, scheme: str) -> None:
    watched = open_page(f"{live.address}?model={model}&run={run}&overlay=search", scheme=scheme, bypass_csp=True)
    watched.page.evaluate(AXE.read_text())
    go(run, "go1")
    expect(watched.page.locator(".doing")).to_contain_text("1 of 4 known")
    assert faults(watched) == [], "costs"
    go(run, "go2")
    expect(watched.page.locator(".doing")).to_contain_text("Searching")
    assert faults(watched) == [], "search"
    show_tab(watched.page, "Log")
    expect(watched.page.get_by_role("list", name="Log")).to_contain_text("no linker")
    assert faults(watched) == [], "log"
    watched.page.add_style_tag(content=".log-lines { max-height: 40px; }")
    assert faults(watched) == [], "a log longer than its place"
    show_tab(watched.page, "Search")
    watched.page.get_by_role("button", name="Cancel").click()
    expect(watched.page.get_by_role("button", name="Run again")).to_be_visible()
    assert faults(watched) == [], "cancelled"


@pytest.mark.long
def test_cancelling_keeps_what_was_measured(live: Live, model: str, run: str, open_page: OpenPage) -> None:
    go(run, "go1")
    watched = open_page(f"{live.address}?model={model}&run={run}")
    show_tab(watched.page, "Search")
    expect(watched.page.locator(".doing")).to_contain_text("1 of 4 known")
    watched.page.get_by_role("button", name="Cancel").click()
    expect(watched.page.get_by_text("Cancelled. 1 measured cost is kept: the next run goes on from there.")).to_be_visible()
    expect(watched.page.get_by_role("button", name="Run again")).to_be_visible()
    expect(phases(watched.page)).to_contain_text(re.compile(r"costs\s+was stopped"))


def test_cancelling_keeps_the_best_plan_and_one_click_goes_on(live: Live, model: str, open_page: OpenPage) -> None:
    run = live.start(model, "stoppable", accuracy=0.5)["id"]
    watched = open_page(f"{live.address}?model={model}&run={run}")
    page = watched.page
    expect(page.locator(".readout")).to_contain_text("best predicted 10.0 ms")
    page.get_by_role("button", name="Cancel").click()
    said = page.get_by_role("status").filter(has_text="Cancelled while fusing adjacent partitions")
    for _ in range(2):  # after a reload it is the same
        show_tab(page, "Search")
        expect(said).to_contain_text("The best plan so far is kept. Missing:")
        expect(said).to_contain_text("3 of 9 candidates have no known cost")
        expect(page.locator(".readout")).to_contain_text("10.0 ms")
        show_tab(page, "Partitions")
        expect(page.get_by_role("row", name=re.compile("Conv . Relu.* 10.0 ms"))).to_be_visible()
        page.reload()
        watched.idle()
    show_tab(page, "Search")
    with page.expect_request(lambda one: one.method == "POST" and one.url.endswith("/runs")) as asked:
        said.get_by_role("button", name="Go on").click()
    sent = asked.value.post_data_json
    assert (sent["model"], sent["targets"], sent["accuracy"]) == (model, ["stoppable"], 0.5)
    page.wait_for_url(lambda url: "run=" in url and run not in url)
    page.get_by_role("button", name="Cancel").click()


@pytest.mark.long
def test_a_decision_whose_search_takes_over_a_second_is_kept_with_every_cost(live: Live, model: str, open_page: OpenPage) -> None:
    run = live.ended(live.start(model, "fast", "dawdling")["id"])["id"]
    watched = open_page(f"{live.address}?model={model}&run={run}")
    page = watched.page
    watched.node("relu1").click(button="right")
    for label in ("Pin to", "dawdling"):
        page.get_by_role("menuitem", name=label, exact=True).last.click()
    page.get_by_role("button", name="Keep").click()
    page.wait_for_url(lambda url: "run=" in url and run not in url)
    for _ in range(2):  # after a reload it is the same
        expect(page.get_by_role("button", name="Export", exact=True)).to_be_enabled()
        watched.idle()
        expect(page.locator(".readout")).to_contain_text("7.00 ms predicted")
        show_tab(page, "Partitions")
        expect(page.get_by_role("row", name=re.compile(r"Conv . Relu.* 7.00 ms ±1 %"))).to_be_visible()
        show_tab(page, "Compare")
        expect(page.get_by_role("row", name=re.compile(r"^predicted 7.00 ms 1\d.0 ms"))).to_be_visible()
        expect(page.get_by_role("row", name=re.compile(r"Conv . Relu.* 7.00 ms .* 1\d.0 ms"))).to_be_visible()
        expect(page.locator("#drawer-body")).not_to_contain_text("not known")
        show_tab(page, "Search")
        assert row(page) == ["3", "2", "0", "1", "1", "0", "0", "1", "3", "2", "0", "1", "1", "0", "0", "0"]
        page.reload()
        watched.idle()


def test_why_says_the_same_at_every_reading(live: Live, model: str, open_page: OpenPage) -> None:
    run = live.ended(live.start(model, "fast")["id"])["id"]
    watched = open_page(f"{live.address}?model={model}&run={run}")
    page = watched.page
    panel = page.get_by_role("tabpanel", name="Why")
    said = []
    for read in (lambda: watched.node("relu1").click(), page.reload, page.reload):  # the address keeps the node
        read()
        expect(panel.locator(".candidate .regret").last).to_have_text("≥ 0")
        watched.idle()
        said.append(panel.inner_text())
    assert said[0] == said[1] == said[2]


@pytest.mark.long
def test_an_export_behind_a_run_says_what_it_waits_for_and_is_stopped(live: Live, model: str, open_page: OpenPage) -> None:
    kept = live.ended(live.start(model, "fast", base=live.ended(live.start(model, "fast")["id"])["id"])["id"])["id"]
    ahead = live.start(model, "wait")["id"]
    until(lambda: live.get(f"runs/{ahead}")["state"] == "running")
    watched = open_page(f"{live.address}?model={model}&run={kept}")
    page = watched.page
    page.get_by_role("button", name="Export").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Export the plan of mini_mnist")
    dialog.get_by_role("button", name="Build and download").focus()
    page.keyboard.press("Enter")
    expect(dialog.locator(".export-do")).to_contain_text("Export: waiting for the run on mini_mnist…")
    expect(dialog.get_by_role("button", name="Stop")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("button", name="Build and download")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Export", exact=True)).to_be_focused()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert live.get(f"runs/{kept}")["state"] == "done"
    live.post(f"runs/{ahead}/cancel")


@pytest.mark.long
def test_a_gap_between_predicted_and_measured_is_a_warning_and_is_measured_again(live: Live, model: str, open_page: OpenPage) -> None:
    run = live.ended(live.start(model, "gap")["id"])["id"]
    page = open_page(f"{live.address}?model={model}&run={run}").page
    readout = page.locator(".readout")
    expect(readout.locator(".warn")).to_have_text("⚠ verified, but measured 30.0 ms, predicted 10.0 ms")
    page.get_by_role("button", name="Measure again").click()
    expect(readout).to_contain_text("✓ verified")
    expect(page.get_by_role("button", name="Measure again")).to_have_count(0)
    show_tab(page, "Totals")
    expect(page.get_by_text(re.compile("measured by itself, apart from the other plans: 8.00 ms"))).to_be_visible()


@pytest.mark.long
def test_before_a_run_the_page_says_how_long_it_takes(live: Live, model: str, open_page: OpenPage) -> None:
    page = open_page(f"{live.address}?model={model}").page
    page.get_by_role("button", name=re.compile("^about 34 s$")).click()
    said = page.get_by_role("dialog", name="What a run takes")
    expect(said).to_contain_text(re.compile("About 57 builds, 228 at most; measuring takes about 22 s, 40 s at most; the budget ends it"))
    expect(said).to_contain_text("Building and timing whole plans takes about 13 s after that, 50 s at most.")
    with page.expect_request(lambda one: one.url.endswith("/dry-run")) as asked:
        page.get_by_role("textbox", name="time budget of the next run in seconds").fill("12")
    assert asked.value.post_data_json["budget_s"] == 12


@pytest.mark.long
def test_a_busy_machine_is_said_on_the_button_and_explained_behind_it(live: Live, model: str, open_page: OpenPage) -> None:
    def ask_of_busy(route: Route) -> None:
        route.continue_(post_data=json.dumps({**route.request.post_data_json, "targets": ["busy"]}))

    page = open_page(f"{live.address}?model={model}").page
    page.route("**/api/v1/dry-run", ask_of_busy)
    page.reload()
    button = page.get_by_role("button", name=re.compile("^about 34 s, busy$"))
    expect(button).to_have_class(re.compile(r"\bwarn\b"))
    button.click()
    said = page.get_by_role("dialog", name="What a run takes").locator(".warn")
    expect(said).to_have_text("Other processes keep 1.8 of the 2 cores busy: what is measured now may be too high, and unsteady.")


@pytest.mark.long
def test_what_is_undecided_is_said_and_one_click_goes_on(live: Live, model: str, open_page: OpenPage) -> None:
    done = live.ended(live.start(model, "undecided", accuracy=0.5, budget_s=20)["id"])
    watched = open_page(f"{live.address}?model={model}&run={done['id']}")
    page = watched.page
    expect(page.locator(".readout")).to_contain_text("undecided")
    show_tab(page, "Search")
    said = page.get_by_role("status").filter(has_text="undecided")
    expect(said).to_contain_text(re.compile(r"After 20 s of measuring, 1 choice is undecided:"))
    expect(said).to_contain_text(re.compile(r"fast or other for 2 nodes from .*: the second could be 0.50 ms faster \(5.00 %\)"))
    with page.expect_request(lambda one: one.method == "POST" and one.url.endswith("/runs")) as asked:
        said.get_by_role("button", name="Go on").click()
    sent = asked.value.post_data_json
    assert (sent["model"], sent["targets"], sent["accuracy"], sent["budget_s"]) == (model, ["undecided"], 0.5, 20)
    page.wait_for_url(lambda url: "run=" in url and done["id"] not in url)


@pytest.mark.long
def test_what_is_undecided_is_measured_on_by_a_click(live: Live, model: str, open_page: OpenPage) -> None:
    done = live.ended(live.start(model, "undecided")["id"])
    watched = open_page(f"{live.address}?model={model}&run={done['id']}")
    page = watched.page
    show_tab(page, "Search")
    page.get_by_role("button", name="What is undecided?").click()
    section = page.get_by_role("region", name="What is undecided")
    stays = "Conv+Relu on fast stays in the plan in 60 % of searches with costs varied within their intervals: 10.0 ms ± 1.00 ms"
    expect(section).to_contain_text(stays)
    expect(section).to_contain_text("fast or other for Conv+Relu: the second could be 0.50 ms faster, measure these two for 20 s more")
    seconds = section.get_by_role("textbox", name="seconds")
    seconds.fill("long")
    expect(section.get_by_role("button", name="Measure these two")).to_be_disabled()
    expect(section).to_contain_text('"long" is no time to measure')
    seconds.fill("30")
    with page.expect_request(lambda one: one.method == "POST" and one.url.endswith("/runs")) as asked:
        watched.press("Enter")
    sent = asked.value.post_data_json
    assert (sent["base"], sent["decide_s"], sent["targets"]) == (done["id"], 30, ["undecided"])
    page.wait_for_url(lambda url: "run=" in url and done["id"] not in url)
    expect(section).to_contain_text(re.compile("Measured on, and .*; its time against the one before: -3 ms predicted"))


@pytest.mark.long
def test_a_plan_of_the_users_own_is_measured_whole_by_a_click(live: Live, model: str, open_page: OpenPage) -> None:
    done = live.ended(live.start(model, "fast")["id"])
    page = open_page(f"{live.address}?model={model}&run={done['id']}").page
    show_tab(page, "Compare")

    def give(text: str) -> None:
        page.get_by_role("button", name="Your own…").click()
        page.get_by_role("textbox", name=re.compile("^Your own plan")).fill(text)
        page.get_by_role("form", name="Your own plan").get_by_role("button", name="Compare").click()

    note = page.locator("div.note")
    give("*=fast")
    expect(note).to_contain_text("not known: 1 node from b on other")
    note.get_by_role("button", name="Measure both whole").click()
    expect(note).to_contain_text("timed end to end in turns, this run's plan takes 10.5 ms, against yours: -2 ms measured")
    expect(note).not_to_contain_text("not known")
    expect(page.get_by_role("row", name=re.compile(r"^measured 12\.5 ms 10\.5 ms|^measured 10\.5 ms 12\.5 ms"))).to_be_visible()
    give("wrong")
    note.get_by_role("button", name="Measure both whole").click()
    expect(note.get_by_role("alert")).to_contain_text("pasted cannot be timed end to end: it errs by 0.3")
    give("slow")
    note.get_by_role("button", name="Measure both whole").click()
    expect(note).to_contain_text("Measuring both plans whole: costs …")
    note.get_by_role("button", name="Stop").click()
    expect(note.get_by_role("button", name="Measure both whole")).to_be_visible()
    show_tab(page, "Runs")
    expect(page.get_by_role("table", name="Runs")).to_contain_text("your own plan, pasted")


@pytest.mark.long
def test_partitions_are_timed_inside_the_whole_by_a_click(live: Live, model: str, open_page: OpenPage) -> None:
    done = live.ended(live.start(model, "fast")["id"])
    page = open_page(f"{live.address}?model={model}&run={done['id']}&overlay=cost").page
    show_tab(page, "Partitions")
    page.get_by_role("button", name="Time inside the whole").click()
    expect(page.get_by_role("columnheader", name="inside")).to_be_visible()
    expect(page.locator(".partitions tbody")).to_contain_text("12.0 ms (+2.00 ms)")
    expect(page.get_by_text("Timed together: 13.0 ms for the whole, of which 1.00 ms in no partition.")).to_be_visible()


@pytest.mark.long
def test_the_log_is_filtered_and_copied(live: Live, model: str, run: str, open_page: OpenPage) -> None:
    watched = open_page(f"{live.address}?model={model}&run={run}", permissions=["clipboard-read", "clipboard-write"])
    page = watched.page
    show_tab(page, "Log")
    lines = page.get_by_role("list", name="Log").get_by_role("listitem")
    expect(lines.first).to_contain_text("the run is queued")
    expect(lines.last).to_contain_text("building and measuring candidates")
    for stage in ("go1", "go2", "go3"):
        go(run, stage)
    expect(lines.last).to_contain_text("the run is done")
    said = lines.all_inner_texts()
    assert next(text for text in said if "Conv+Relu" in text).endswith("stages Conv+Relu: 0.40 ms measured, trial of 1.9 s (1 of 4)")
    page.get_by_label("Level").select_option("warnings and errors")
    page.get_by_label("Phase").select_option("costs")
    page.get_by_label("Text").fill("linker")
    expect(lines).to_have_count(1)
    expect(lines).to_contain_text("warning: stages MaxPool: build, no linker")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("status").filter(has_text="1 copied")).to_be_visible()
    copied = page.evaluate("() => navigator.clipboard.readText()").split("\t")
    assert copied[1:] == ["costs", "warning", "stages MaxPool: build, no linker, trial of 0.5 s (2 of 4)"]
    page.reload()
    watched.idle()
    show_tab(page, "Log")
    watched.idle()
    assert lines.all_inner_texts() == said, "in the same order, from the server"


GO_TO = """(run) => {
    history.pushState(null, '', location.search.replace(/run=[^&]*/, `run=${run}`));
    dispatchEvent(new PopStateEvent('popstate'));
}"""
HEAP = "HeapProfiler.collectGarbage"
WATCH = """() => { window.__longest = 0;
    new PerformanceObserver((list) => { for (const one of list.getEntries()) window.__longest = Math.max(window.__longest, one.duration); })
        .observe({ type: 'longtask' }); }"""


@pytest.mark.long
def test_a_hundred_thousand_states_leave_the_memory_as_it_was(
    live: Live, model: str, open_page: OpenPage, capsys: pytest.CaptureFixture[str]
) -> None:
    def heap_bytes() -> int:
        session.send(HEAP)
        return int(page.evaluate("() => performance.memory.usedJSHeapSize"))

    first = live.ended(live.start(model, "flood")["id"])["id"]
    watched = open_page(f"{live.address}?model={model}&run={first}&overlay=search")
    page = watched.page
    session = page.context.new_cdp_session(page)
    before = heap_bytes()
    run = live.start(model, "flood")["id"]
    page.evaluate(WATCH)
    page.evaluate(GO_TO, run)
    end = live.ended(run)
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()
    watched.idle()
    assert f"run={run}" in page.url
    expect(page.locator(".best")).to_contain_text("10.0 ms")
    assert end["seq"] > 1000
    assert heap_bytes() - before < 8 << 20
    with capsys.disabled():
        print(f"\nlongest task while 100,000 states went by: {page.evaluate('() => window.__longest'):.0f} ms", end=" ")


def server(home: Path, port: int = 0) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, str(ROOT / "tests" / "plugins" / "fake_server.py"), str(port)]
    environment = {**os.environ, "COLLAGE_HOME": str(home), "COLLAGE_TOKEN": TOKEN, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


@pytest.mark.long
def test_a_server_that_is_killed_and_comes_back(live: Live, model: str, home: Path, open_page: OpenPage) -> None:
    process, address = server(home)
    answer = http.post(f"{address}api/v1/runs", json={"model": model, "targets": ["stages"]}, timeout=30)
    run = answer.json()["id"]
    go(run, "go1")
    pages = [open_page(f"{address}?model={model}&run={run}") for _ in range(2)]
    for one in pages:
        show_tab(one.page, "Search")
        expect(one.page.locator(".doing")).to_contain_text("1 of 4 known")
    until_costed(run)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    for one in pages:
        expect(one.page.get_by_text("Disconnected.", exact=True)).to_be_visible()
        expect(one.page.locator(".doing")).to_contain_text("1 of 4 known")
    process, again = server(home, int(address.rsplit(":", 1)[1].strip("/")))
    assert again == address
    for one in pages:
        expect(one.page.get_by_role("alert")).to_contain_text("the server was stopped while the run was under way")
        expect(one.page.get_by_role("alert")).to_contain_text("1 measured cost is kept")
        expect(one.page.get_by_text("Disconnected.", exact=True)).to_have_count(0)
        expect(phases(one.page)).to_contain_text(re.compile(r"costs\s+was stopped"))
    process.kill()
    process.communicate()


def test_enter_runs_and_a_run_that_fails_says_so(live: Live, model: str, open_page: OpenPage) -> None:
    page = open_page(f"{live.address}?model={model}").page
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()
    page.locator("body").press("Enter")
    expect(page.locator(".readout")).to_contain_text("failed")
    expect(page.get_by_role("alert")).to_contain_text("KeyError")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()


@pytest.mark.long
def test_a_connection_that_breaks_off_while_it_is_made(live: Live, model: str, run: str, open_page: OpenPage) -> None:
    """Without a connection the page shows the run as it was when it was opened."""
    go(run, "go1")
    until_costed(run)
    page = open_page(live.address).page
    page.route_web_socket(re.compile("socket.io"), lambda socket: socket.close())
    page.goto(f"{live.address}?model={model}&run={run}")
    show_tab(page, "Search")
    expect(page.locator(".doing")).to_contain_text("1 of 4 known")
    expect(page.get_by_text("Disconnected.", exact=True)).to_be_visible()


@pytest.mark.long
def test_a_model_whose_file_has_changed_is_opened_anew(live: Live, tmp_path: Path, open_page: OpenPage) -> None:
    (path,) = write_model(tmp_path)
    model = live.post("models", {"path": str(path)})["id"]
    watched = open_page(f"{live.address}?model={model}")
    page = watched.page
    changed = page.get_by_text("The model's file has changed")
    page.evaluate("() => dispatchEvent(new Event('focus'))")
    watched.idle()
    expect(changed).to_have_count(0)
    write_model(tmp_path, width=64, external=False, bias=True)
    page.evaluate("() => dispatchEvent(new Event('focus'))")
    expect(changed).to_be_visible()
    page.get_by_role("button", name="Open it anew").click()
    expect(watched.node("bias")).to_be_visible()
    expect(changed).to_have_count(0)
    assert f"model={model}" not in page.url
