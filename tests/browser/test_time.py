"""The page says where the time goes: heat of single nodes, the tab Time, the words about a node, and what crosses between partitions."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .conftest import OpenPage
from .explorer import Explorer, Watched, show_tab
from .test_overlays import colour_in, pin_to_tvm

RECURRENT = "lstm/LSTM"


@pytest.fixture
def lstm(explorer: Explorer, open_page: OpenPage) -> Watched:
    """A recorded run whose plan is one partition, with the times of its toolchain's profiler."""
    watched = open_page(f"{explorer.address}?sample=lstm")
    watched.press("f")
    return watched


@pytest.mark.long
def test_one_partition_for_all_has_nodes_of_different_heat(lstm: Watched) -> None:
    lstm.press("h")
    expect(lstm.page.get_by_role("img", name=re.compile("^Cost of a node, or of nodes that one kernel computes"))).to_be_visible()
    lightness = {name: sum(colour_in(lstm, name)) for name in (RECURRENT, "embed/Gather", "join/Reshape")}
    assert lightness[RECURRENT] < lightness["embed/Gather"] - 100
    assert lightness[RECURRENT] < lightness["join/Reshape"] - 100
    name = lstm.node(RECURRENT).get_attribute("aria-label")
    assert name is not None
    assert "on onnxruntime" in name


def test_one_click_shows_where_the_time_goes_and_one_more_why(lstm: Watched) -> None:
    page = lstm.page
    show_tab(page, "Time")
    lstm.idle()
    parts = page.get_by_role("group", name=re.compile("^Where the time of .* goes$"))
    widest = parts.get_by_role("button", name=re.compile("^LSTM · lstm.LSTM, .* of the predicted total$"))
    share = float(re.findall(r"([\d.]+) % of the predicted total", widest.get_attribute("aria-label") or "")[0])
    assert share > 50
    expect(page.get_by_text(re.compile("^Times inside: 1 partition by "))).to_be_visible()
    seen = "(all) => all.map((one) => [one.parentElement.clientWidth, getComputedStyle(one).visibility])"
    words = parts.locator(".words").evaluate_all(seen)
    assert {visibility for width, visibility in words if width < 36} == {"hidden"}, "none is cut off after a letter"
    assert {visibility for width, visibility in words if width > 50} == {"visible"}
    widest.click()
    lstm.idle()
    expect(page.get_by_role("heading", name=f"LSTM {RECURRENT}")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^This LSTM takes [\d.]+ % of the partition: .* by onnxruntime's profiler"))).to_be_visible()
    parts.get_by_role("button", name=re.compile("^O onnxruntime, 8 nodes")).click()
    lstm.idle()
    inside = page.get_by_role("region", name="Where its time goes")
    expect(inside.get_by_role("listitem").first).to_contain_text("LSTM")


@pytest.mark.long
def test_an_edge_between_partitions_says_what_crosses_and_at_which_cost(lstm: Watched) -> None:
    pin_to_tvm(lstm)
    lstm.press("f")
    maker, reader = lstm.node("join/Reshape").bounding_box(), lstm.node("tags/MatMul").bounding_box()
    assert maker
    assert reader
    x = (maker["x"] + maker["width"] / 2 + reader["x"] + reader["width"] / 2) / 2
    lstm.page.mouse.move(x, (maker["y"] + maker["height"] + reader["y"]) / 2)
    expect(lstm.page.locator(".node-tip")).to_have_text(re.compile(r"^.*: 131 kB from onnxruntime to tvm, transfer [\d.]+ (µs|ms)$"))
