"""The list of runs: opened, named, starred, noted, sorted, found, compared, deleted; by mouse and by keys, and after a reload."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from .conftest import OpenPage
from .explorer import Explorer, Watched, running, show_tab


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """An explorer whose runs nobody else makes."""
    with running(tmp_path_factory.mktemp("runs")) as started:
        yield started


def rows(watched: Watched) -> Locator:
    return watched.page.get_by_role("table", name="Runs").locator("tbody tr[data-row]")


def show_runs(watched: Watched) -> None:
    show_tab(watched.page, "Runs")
    watched.idle()


@pytest.fixture
def listed(own: Explorer, open_page: OpenPage) -> Watched:
    """The list with the recorded run and a re-planned one, which is shown."""
    watched = open_page(f"{own.address}?sample=squeezenet")
    show_tab(watched.page, "Partitions")
    watched.page.locator(".partitions button.row").first.click()
    watched.press("v", "k")
    expect(watched.page.get_by_role("tab", name="What if 1")).to_be_visible()
    show_runs(watched)
    return watched


@pytest.mark.long
def test_a_run_is_named_starred_and_noted_for_good(listed: Watched, own: Explorer, open_page: OpenPage) -> None:
    shown = rows(listed).first
    expect(shown.locator("button.row")).to_have_attribute("aria-pressed", "true")
    shown.get_by_role("button", name="Name and note").click()
    listed.page.get_by_role("textbox", name="Name").fill("without <the stem>")
    listed.page.get_by_role("textbox", name="Note").fill("=1+1, of Monday")
    listed.page.get_by_role("textbox", name="Note").press("Enter")
    listed.idle()
    shown.get_by_role("button", name="Star").click()
    listed.idle()
    again = open_page(listed.page.url)
    show_runs(again)
    named = rows(again).filter(has_text="without <the stem>")
    expect(named).to_contain_text("=1+1, of Monday")
    expect(named.get_by_role("button", name="Star")).to_have_attribute("aria-pressed", "true")
    again.page.get_by_role("group", name="Filter").get_by_label("starred").check()
    expect(rows(again)).to_have_count(1)


@pytest.mark.long
def test_a_run_is_opened_compared_and_deleted_by_keys(listed: Watched) -> None:
    mine, recorded = rows(listed).first, rows(listed).filter(has_text="recorded run")
    before = rows(listed).count()
    recorded.locator("button.row").focus()
    listed.press("Delete")
    expect(listed.page.get_by_text("Delete for good?")).to_have_count(0)
    listed.press("Enter")
    expect(listed.page).to_have_url(re.compile("run=recorded-squeezenet"))
    mine.get_by_role("button", name="Compare").click()
    expect(listed.page.get_by_role("tab", name="Compare")).to_have_attribute("aria-selected", "true")
    expect(listed.page.get_by_role("table", name="Totals")).to_be_visible()
    show_runs(listed)
    mine.locator("button.row").focus()
    listed.press("F2")
    listed.page.keyboard.type("not kept")
    listed.press("Escape", "*", "*", "Delete", "Enter")
    expect(rows(listed)).to_have_count(before - 1)
    expect(listed.page.get_by_text("not kept")).to_have_count(0)


def test_runs_of_every_model_are_found_sorted_and_opened(listed: Watched) -> None:
    listed.page.get_by_label("of every model").check()
    table = listed.page.get_by_role("table", name="Runs")
    headers = table.get_by_role("columnheader")
    for at in range(headers.count()):
        headers.nth(at).get_by_role("button").click()
        assert headers.nth(at).get_attribute("aria-sort") in ("ascending", "descending")
    listed.page.get_by_role("textbox", name="Words").fill("mini_mnist recorded")
    expect(rows(listed)).to_have_count(1)
    rows(listed).first.locator("button.row").click()
    expect(listed.page.get_by_role("heading", name="mini_mnist")).to_be_attached()
    expect(listed.page).to_have_url(re.compile("run=recorded-mini_mnist"))


@pytest.mark.long
def test_what_cannot_be_done_is_said(listed: Watched, tmp_path: Path) -> None:
    listed.page.route(
        re.compile(r"/api/v1/runs/[^/]+$"), lambda route: route.abort() if route.request.method != "GET" else route.continue_()
    )
    rows(listed).first.get_by_role("button", name="Star").click()
    expect(listed.page.get_by_role("alert")).to_contain_text("the server does not answer")


@pytest.mark.long
def test_a_narrow_window_keeps_the_names_and_scrolls_to_the_notes(own: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{own.address}?sample=mini_mnist", width=1024)
    show_runs(watched)
    watched.page.get_by_label("of every model").check()
    for name in ("name", "measured", "note"):
        box = watched.page.get_by_role("columnheader", name=name, exact=True).bounding_box()
        assert box is not None
        assert box["width"] >= 70, name
