"""A session is saved from the page, and opened by a colleague who has none of the toolchains; dropped on the page, too."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from collage_core.base.extras import install_command
from collage_server.runs.run_store import RECORDED
from tests.helpers.paths import PLUGINS
from tests.helpers.paths import RECORDED as RECORDED_RUNS
from tests.helpers.sessions import entries_of, manifest_of, write_session

from .conftest import OpenPage
from .explorer import Explorer, Watched, running, show_tab
from .test_deciding import choose, elsewhere, open_menu
from .test_files import choose as choose_files
from .test_page import target_of

NOTE = "Monday: <b>why</b> not all in one?"


def kept_and_noted(watched: Watched) -> str:
    """Keep a what-if, write a note of it, and return the target that ``relu1`` then has."""
    target = elsewhere(watched, "relu1")
    open_menu(watched, "relu1")
    choose(watched, "Pin to", target)
    watched.press("k")
    show_tab(watched.page, "Runs")
    watched.idle()
    row = watched.page.get_by_role("table", name="Runs").locator("tbody tr[data-row]").first
    row.get_by_role("button", name="Name and note").click()
    watched.page.get_by_role("textbox", name="Note").fill(NOTE)
    watched.page.get_by_role("textbox", name="Note").press("Enter")
    watched.idle()
    return target


def save_session(watched: Watched) -> Path:
    watched.page.locator(".top .model").click()
    with watched.page.expect_download() as download:
        watched.page.get_by_role("button", name="Save session…").click()
    assert download.value.suggested_filename == "mini_mnist.collage"
    return Path(download.value.path())


def check_answers(watched: Watched, target: str) -> None:
    """Plan, note, why, what-if and replay are there."""
    page = watched.page
    assert target_of(watched, "relu1") == target
    show_tab(page, "Runs")
    watched.idle()
    expect(page.get_by_role("table", name="Runs")).to_contain_text(NOTE)
    watched.node("relu1").click()
    page.get_by_role("tab", name="Why").click()
    watched.idle()
    why = page.get_by_role("tabpanel", name="Why")
    expect(why.get_by_text(re.compile(rf"^{target} runs (it|the partition of \d+ nodes that holds it) in [\d.]+ [µm]s"))).to_be_visible()
    show_tab(page, "Search")
    page.get_by_role("button", name="Trace this search").click()
    watched.idle()
    expect(page.get_by_role("slider", name="Step")).to_be_visible()
    watched.node("pool1").click(button="right")
    watched.idle()
    choose(watched, "Pin to", elsewhere(watched, "pool1"))
    expect(page.locator(".decision")).to_contain_text("What if:")


@pytest.mark.long
def test_a_session_opens_where_no_toolchain_is_installed(explorer: Explorer, open_page: OpenPage, tmp_path: Path) -> None:
    author = open_page(f"{explorer.address}?sample=mini_mnist")
    target = kept_and_noted(author)
    session = tmp_path / "from a colleague.collage"
    session.write_bytes(save_session(author).read_bytes())
    (tmp_path / "home").mkdir()
    path = os.pathsep.join(filter(None, (str(PLUGINS / "no_toolchains"), os.environ.get("PYTHONPATH"))))
    with running(tmp_path / "home", str(session), PYTHONPATH=path) as other:
        watched = open_page(other.address)
        check_answers(watched, target)
        show_tab(watched.page, "Toolchains")
        watched.idle()
        tvm = watched.page.get_by_role("list", name="Toolchains").get_by_role("listitem").filter(has_text="apache-tvm is not installed")
        expect(tvm.first.get_by_text(install_command("tvm"), exact=True)).to_be_visible()
        log = (tmp_path / "home" / "explore.log").read_text()
        entries = entries_of(session)
        runs = [run["id"] for run in manifest_of(entries)["runs"]]
        shipped = (RECORDED_RUNS / "mini_mnist.json.gz").read_bytes()
        # The run that comes with the sample is here already, unless another test has built it: its record says so then, and is another one.
        new = [run for run in runs if not run.startswith(RECORDED) or shipped not in entries.values()]
        assert new
        assert f"opened the session of 'mini_mnist', with runs: {len(runs)}, new here: {len(new)}\n" in log


def test_a_session_is_opened_by_dropping_it_and_a_bad_one_is_refused(explorer: Explorer, open_page: OpenPage, tmp_path: Path) -> None:
    author = open_page(f"{explorer.address}?sample=mini_mnist")
    saved = entries_of(save_session(author))
    start = open_page(explorer.address)
    choose_files(start, [write_session(tmp_path / "mine.collage", saved)])
    expect(start.node("relu1")).to_be_visible()
    expect(start.page.get_by_role("tab", name="What runs where")).to_be_visible()
    start.page.get_by_role("button", name="Collage").click()
    start.idle()
    choose_files(start, [write_session(tmp_path / "bad.collage", {**saved, "model/mini_mnist.onnx": bytes(64322)})])
    alert = start.page.get_by_role("alert")
    expect(alert).to_contain_text("'model/mini_mnist.onnx' is not what its manifest says")
    expect(alert.locator(".hint")).to_contain_text("save the session again")
