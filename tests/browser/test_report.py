"""A report: saved on the page, and opened from disk by a browser that has no network. Its why, its replay, and what it does not offer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from collage_core.model.samples import registry as samples
from collage_core.pipeline.record.record import RunRecord
from collage_core.results.notebook_html import Page as Frame
from collage_core.results.notebook_html import result_html

from .conftest import PATIENCE_MS, OpenPage
from .explorer import Explorer, show_tab, with_token
from .test_access import AXE, FAULTS

pytestmark = pytest.mark.long
SAMPLE = "mini_mnist"


@pytest.fixture(scope="module")
def saved(browser: Browser, explorer: Explorer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a recorded run, from the menu "Save as"."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(with_token(f"{explorer.address}?sample={SAMPLE}"))
    page.evaluate("() => window.__collage.idle()")
    page.get_by_role("button", name="Save as", exact=True).click()
    with page.expect_download(timeout=4 * PATIENCE_MS) as download:
        page.get_by_role("button", name="HTML").click()
    file = tmp_path_factory.mktemp("report") / download.value.suggested_filename
    download.value.save_as(file)
    context.close()
    return file


@pytest.fixture
def report(browser: Browser, saved: Path) -> Iterator[Page]:
    """The report, in a browser without a network; in the end nothing was asked of one, and no script failed."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    asked: list[str] = []
    faulty: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: faulty.append(str(error)))
    page.on("console", lambda message: faulty.append(message.text) if message.type in ("error", "warning") else None)
    page.goto(saved.as_uri())
    page.wait_for_function("() => window.__collage !== undefined")
    idle(page)
    yield page
    context.close()
    assert faulty == []
    assert [url for url in asked if not url.startswith("blob:")] == [saved.as_uri()]


def idle(page: Page) -> None:
    page.evaluate("() => window.__collage.idle()")


def test_it_is_named_after_the_model_and_small(saved: Path) -> None:
    assert saved.name == f"{SAMPLE}-report.html"
    assert saved.stat().st_size < 3_000_000


def test_a_node_says_why_as_on_the_page(report: Page, open_page: OpenPage, explorer: Explorer) -> None:
    """The panel of a node has the same words as on the page of the server, but for its buttons."""
    watched = open_page(f"{explorer.address}?sample={SAMPLE}")
    words = []
    for page in (report, watched.page):
        page.locator('.stage [data-name="relu1"]').click()
        idle(page)
        page.locator(".candidate").first.wait_for()
        words.append((page.locator(".panel-body > p").all_inner_texts(), page.locator(".candidate .label").all_inner_texts()))
    assert words[0] == words[1]
    assert words[0][0], "it says why in words"


def test_its_replay_is_stepped_and_scrubbed(report: Page) -> None:
    show_tab(report, "Search")
    idle(report)
    position = report.locator(".replay-position")
    expect(position).to_have_text("step 1 of 59")
    first = report.locator(".replay-words").inner_text()
    for _ in range(3):
        report.get_by_role("button", name="One step on").click()
    expect(position).to_have_text("step 4 of 59")
    idle(report)
    assert report.locator(".replay-words").inner_text() != first
    report.get_by_role("button", name="What is undecided?").click()
    expect(report.locator(".toss-ups [role=status]").first).to_be_visible()
    report.get_by_role("slider", name="Step").fill("58")
    expect(position).to_have_text("step 59 of 59")
    expect(report.get_by_role("button", name="Delete the trace")).to_have_count(0)


def test_costs_totals_comparison_charts_and_log_are_there(report: Page) -> None:
    show_tab(report, "Costs")
    idle(report)
    expect(report.locator(".drawer-body")).to_contain_text("Conv")
    show_tab(report, "Totals")
    expect(report.locator(".drawer-body")).to_contain_text("Largest relative error")
    report.get_by_role("button", name="Which toolchains are worth having?").click()
    expect(report.locator(".worth [role=status]")).to_be_visible()
    show_tab(report, "Compare")
    idle(report)
    expect(report.get_by_role("button", name="Your own…")).to_have_count(0)
    idle(report)
    report.get_by_label("Compared with").select_option(label=report.locator("option", has_text="onnxruntime").first.inner_text())
    idle(report)
    expect(report.locator(".drawer-body .error-card")).to_have_count(0)
    show_tab(report, "Charts")
    report.locator(".plot svg").first.wait_for()
    idle(report)
    show_tab(report, "Log")
    idle(report)
    expect(report.locator(".error-card")).to_have_count(0)


def test_the_model_is_there_as_in_its_file_with_its_card(report: Page) -> None:
    report.get_by_role("radio", name="As in the file").click()
    idle(report)
    panel = report.get_by_role("tabpanel", name="What it is")
    expect(panel).to_contain_text("opsets")
    report.locator('.stage [data-name="relu1"]').click()
    expect(panel).to_contain_text("What Relu does")
    report.get_by_role("radio", name="As planned").click()
    idle(report)
    expect(report.locator(".verdict")).to_be_visible()
    expect(report.locator(".error-card")).to_have_count(0)


def test_it_says_that_it_is_a_report_of_which_machine_and_versions(report: Page) -> None:
    expect(report.locator(".report-note")).to_contain_text("read only")
    report.get_by_role("button", name="Machine and versions").click()
    about = report.get_by_role("dialog", name="About this report")
    for word in ("recorded-mini_mnist", "AMD EPYC", "onnxruntime", "It asks no server"):
        expect(about).to_contain_text(word)


def test_nothing_that_needs_a_server_is_offered(report: Page) -> None:
    """Neither a button nor a key nor the menu of the graph decides, runs or exports."""
    node = report.locator('.stage [data-name="relu1"]')
    node.click()
    for name in ("Run", "Export", "Pin", "Veto", "Cut", "More…", "Measure", "Show in Netron", "Trace this search", "Time inside"):
        expect(report.get_by_role("button", name=re.compile(f"^{re.escape(name)}"))).to_have_count(0)
    for tab in ("Pins", "Runs", "Netron"):
        expect(report.get_by_role("tab", name=tab, exact=True)).to_have_count(0)
    expect(report.locator(".panel-body input")).to_have_count(0)
    before = report.locator(".panel-body").inner_text()
    for key in ("p", "v", "x", "k", "u", "Enter"):
        report.keyboard.press(key)
    node.click(button="right")
    idle(report)
    assert report.locator(".panel-body").inner_text() == before
    expect(report.get_by_role("menu")).to_have_count(0)
    expect(report.locator(".error-card")).to_have_count(0)


def test_a_notebook_shows_it_in_a_frame_of_its_own_origin(browser: Browser, saved: Path) -> None:
    """The graph is the real one: a node that is clicked says why, and the search is stepped; the notebook cannot be reached from there."""
    record = RunRecord.load(Path(samples.__file__).parent / "recorded" / f"{SAMPLE}.json.gz")
    context = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    faulty: list[str] = []
    page.on("pageerror", lambda error: faulty.append(str(error)))
    page.set_content(result_html(record, Frame(saved.read_text())))
    shown = page.frame_locator("iframe")
    shown.get_by_role("button", name="Columns").click()
    shown.locator('.stage [data-name="relu1"]').click()
    expect(shown.locator(".candidate").first).to_be_visible()
    show_tab(shown, "Search")
    shown.get_by_role("button", name="One step on").click()
    expect(shown.locator(".replay-position")).to_have_text("step 2 of 59")
    assert page.evaluate("() => document.querySelector('iframe').contentDocument") is None
    expect(page.get_by_role("row")).to_have_count(1 + len(record.plan.partitions))
    context.close()
    assert faulty == []


def test_it_can_be_used_by_everyone(report: Page) -> None:
    report.evaluate(AXE.read_text())
    assert report.evaluate(FAULTS) == []
