"""A person's tour: a search of twenty seconds from the click on Run to the export, on a clock that the test holds."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect
from recorded_engine import LASTS_S

from .conftest import OpenPage
from .explorer import Watched, download, show_tab
from .held import HeldExplorer, held_explorer

VERDICT = re.compile(r"^1\.18 times faster than ncnn alone \(1\.14 to 1\.22\), checked")


@pytest.fixture(scope="module")
def module_explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeldExplorer]:
    with held_explorer(tmp_path_factory.mktemp("tour")) as explorer:
        yield explorer


@pytest.fixture
def held(module_explorer: HeldExplorer) -> HeldExplorer:
    module_explorer.clock.set(0.0)
    return module_explorer


def board(page: Page) -> Locator:
    return page.get_by_role("region", name="Leaderboard")


def rows(page: Page, *texts: str) -> None:
    """Expect these rows on the leaderboard, from the fastest."""
    expect(board(page).get_by_role("listitem")).to_have_text([re.compile(text) for text in texts])


def started(held: HeldExplorer, open_page: OpenPage) -> tuple[Watched, str]:
    """Open the sample and click twice on Run, as impatient people do; returns the page and the run."""
    model = held.live.post("models", {"sample": "crnn"})["id"]
    watched = open_page(f"{held.live.address}?model={model}")
    before = {row["id"] for row in held.live.get("runs")["runs"]}
    watched.page.get_by_role("button", name="Run", exact=True).dblclick()
    expect(watched.page.get_by_role("button", name="Cancel")).to_be_visible()
    watched.page.wait_for_url(lambda url: "run=2" in url)
    (run,) = {row["id"] for row in held.live.get("runs")["runs"]} - before
    return watched, run


def test_a_search_of_twenty_seconds(held: HeldExplorer, open_page: OpenPage) -> None:
    watched, _ = started(held, open_page)
    page = watched.page
    held.clock.set(1.0)
    expect(board(page)).to_contain_text("Building and timing Conv + Relu + MaxPool and 27 more for ncnn, 0 of 19 known")
    rows(page, "ncnn alone *not timed yet", "onnxruntime alone", "openvino alone", "tvm alone *it takes no node of the model")

    held.clock.set(5.0)
    expect(board(page)).to_contain_text("Building and timing LSTM + Transpose + Reshape and 7 more for onnxruntime, 7 of 19 known")
    rows(page, "ncnn alone *28.4 ms ± 3.28 ms", "onnxruntime alone *39.7 ms ± 7.75 ms", "openvino alone *42.4 ms ± 8.42 ms", "tvm alone")
    show_tab(page, "Costs")
    expect(page.get_by_role("table", name="New costs").get_by_role("row")).to_have_count(7)
    page.reload()
    expect(board(page)).to_contain_text("7 of 19 known")
    rows(page, "ncnn alone *28.4 ms", "onnxruntime alone *39.7 ms", "openvino alone *42.4 ms", "tvm alone")

    show_tab(page, "Search")
    expect(page.locator(".doing")).to_contain_text("2 of its 3 partitions were never timed, and what it rests on is timed next.")
    held.clock.set(12.3)
    expect(page.locator(".doing")).to_contain_text("The newest state: 20 nodes by ncnn; 17.2 ms together. No plan is below 23.6 ms.")
    page.get_by_role("button", name="replay from here").click()
    expect(page.locator(".doing")).to_contain_text("the replay begins at state 29 when the run has ended")

    held.clock.set(15.0)
    expect(board(page)).to_contain_text("Timing whole plans in turns, round 1 of about 9")
    rows(
        page,
        "best mix *24.8 ms *predicted, 3 partitions on ncnn and onnxruntime",
        "ncnn alone",
        "onnxruntime alone",
        "openvino alone",
        "tvm",
    )

    held.clock.set(LASTS_S)
    expect(page.locator(".verdict")).to_contain_text(VERDICT)
    expect(board(page)).to_have_count(0)
    expect(page.get_by_role("button", name="Ship")).to_be_visible()

    expect(page.get_by_label("So far in the first search").get_by_text("29", exact=True)).to_be_visible()
    expect(page.locator(".replay-words")).to_contain_text("is expanded")
    page.get_by_role("radio", name="Target").click()

    show_tab(page, "Partitions")
    page.locator("table.partitions tbody tr").first.get_by_role("button").click()
    watched.press("v")
    expect(page.locator(".decision")).to_contain_text(re.compile(r"What if: .* ms predicted, against the kept plan"))
    expect(page.get_by_role("button", name="Export", exact=True)).to_be_disabled()
    watched.press("u")
    expect(page.locator(".decision")).not_to_contain_text("What if")
    expect(page.locator(".verdict")).to_contain_text(VERDICT)
    with zipfile.ZipFile(download(page, "One TVM module")) as packed:
        assert {"plan.json", "artifact/artifact.json"} <= set(packed.namelist())
    page.reload()
    expect(page.locator(".verdict")).to_contain_text(VERDICT)


def test_a_run_that_is_cancelled_in_the_middle_keeps_its_best_plan(held: HeldExplorer, open_page: OpenPage) -> None:
    watched, run = started(held, open_page)
    page = watched.page
    held.clock.set(9.0)
    expect(board(page)).to_contain_text("best mix")
    page.get_by_role("button", name="Cancel").dblclick()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()
    assert held.live.get(f"runs/{run}")["state"] == "cancelled"
    show_tab(page, "Search")
    expect(page.get_by_role("status").filter(has_text="The best plan so far is kept")).to_be_visible()
    expect(board(page)).to_have_count(0)
    page.reload()
    expect(page.locator(".readout")).to_contain_text("24.8 ms predicted")
    show_tab(page, "Search")
    expect(page.get_by_role("button", name="Go on")).to_be_visible()


def test_a_page_that_was_cut_off_catches_up(held: HeldExplorer, open_page: OpenPage) -> None:
    model = held.live.post("models", {"sample": "crnn"})["id"]
    watched = open_page(held.live.address)
    page, sockets = watched.page, list[WebSocketRoute]()

    def connect(socket: WebSocketRoute) -> None:
        if is_cut:
            socket.close()
            return
        socket.connect_to_server()
        sockets.append(socket)

    is_cut = False
    page.route_web_socket(re.compile("socket.io"), connect)
    watched.open(f"{held.live.address}?model={model}")
    page.get_by_role("button", name="Run", exact=True).click()
    held.clock.set(1.0)
    expect(board(page)).to_contain_text("0 of 19 known")
    is_cut = True
    for socket in sockets:
        socket.close()
    expect(page.get_by_text("Disconnected.", exact=True)).to_be_visible()
    held.clock.set(15.0)
    expect(board(page)).to_contain_text("0 of 19 known")
    is_cut = False
    expect(board(page)).to_contain_text("Timing whole plans in turns")
    expect(page.get_by_text("Disconnected.", exact=True)).to_have_count(0)
    rows(page, "best mix *24.8 ms", "ncnn alone", "onnxruntime alone", "openvino alone", "tvm alone")
    held.clock.set(LASTS_S)
    expect(page.locator(".verdict")).to_contain_text(VERDICT)
