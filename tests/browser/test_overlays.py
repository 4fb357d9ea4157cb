"""The overlays of the graph and the comparison of two plans, on recorded runs: by mouse and keyboard, in the address, and told in words."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .conftest import OpenPage
from .explorer import Explorer, Watched, expect_overlay

GREY = "(colour) => (Math.max(...colour) - Math.min(...colour)) / (256 - Math.min(...colour)) < 0.35"


@pytest.fixture
def lstm(explorer: Explorer, open_page: OpenPage) -> Watched:
    """A model with one node that TVM cannot take, and its recorded run on one target."""
    watched = open_page(f"{explorer.address}?sample=lstm")
    watched.press("f")
    return watched


def pin_to_tvm(watched: Watched) -> None:
    watched.node("tags/MatMul").click()
    watched.idle()
    watched.page.get_by_role("button", name=re.compile("^Pin exactly .* to tvm$")).first.click()
    expect(watched.page.get_by_role("tab", name="What if 1")).to_be_visible()
    watched.press("k")


def colour_under(watched: Watched, node: str) -> list[int]:
    """The canvas's colour just outside the left side of a node's box: that of the overlay."""
    return _colour_beside(watched, node, -3)


def colour_in(watched: Watched, node: str) -> list[int]:
    """The canvas's colour just inside the right side of a node's box, which an overlay may fill."""
    return _colour_beside(watched, node, -3, of_right=True)


def _colour_beside(watched: Watched, node: str, off: int, *, of_right: bool = False) -> list[int]:
    box = watched.node(node).bounding_box()
    stage = watched.page.locator(".stage").bounding_box()
    assert box
    assert stage
    point = [box["x"] + of_right * box["width"] - stage["x"] + off, box["y"] - stage["y"] + box["height"] / 2]
    read = """([x, y]) => { const canvas = document.querySelector('.stage canvas'); const ratio = window.devicePixelRatio;
        return [...canvas.getContext('2d').getImageData(x * ratio, y * ratio, 1, 1).data.slice(0, 3)]; }"""
    return watched.page.evaluate(read, point)


def colour_in_strip(watched: Watched, index: int, count: int) -> list[int]:
    """The colour of a node's line in the strip."""
    read = """([index, count]) => { const canvas = document.querySelector('.strip canvas'); const ratio = window.devicePixelRatio;
        const line = Math.min(5, canvas.clientHeight / count);
        return [...canvas.getContext('2d').getImageData(9 * ratio, (index + 0.4) * line * ratio, 1, 1).data.slice(0, 3)]; }"""
    return watched.page.evaluate(read, [index, count])


def test_coverage_says_what_a_target_could_take_and_why_not_the_rest(lstm: Watched) -> None:
    page = lstm.page
    lstm.press("4")
    expect_overlay(lstm.page, "Coverage")
    expect(page.get_by_role("radiogroup", name="Coverage of").get_by_role("radio", name="tvm")).to_be_checked()
    expect(page.get_by_text("could not: 1 of 8")).to_be_visible()
    expect(lstm.node("lstm/LSTM")).to_have_attribute(
        "aria-label", re.compile("tvm cannot take it: predicate, tvm does not take operator LSTM$")
    )
    expect(lstm.node("tags/MatMul")).to_have_attribute("aria-label", re.compile("tvm could take it$"))
    lstm.node("lstm/LSTM").click()
    expect(page.locator(".overlay-says")).to_have_text("tvm cannot take it: predicate, tvm does not take operator LSTM.")
    lstm.node("tags/MatMul").hover()
    expect(page.locator(".node-tip")).to_contain_text("tvm could take it")
    lstm.press("2")
    expect(lstm.node("lstm/LSTM")).to_have_attribute("aria-label", re.compile("onnxruntime runs it$"))
    expect(page.get_by_text("could not: none")).to_be_visible()


def test_the_strip_and_the_graph_agree(lstm: Watched) -> None:
    lstm.press("4")
    for index, node, is_grey in ((2, "lstm/LSTM", True), (5, "tags/MatMul", False)):
        for colour in (colour_under(lstm, node), colour_in_strip(lstm, index, 8)):
            assert lstm.page.evaluate(GREY, colour) == is_grey, (node, colour)
    lstm.press("t")
    assert colour_in_strip(lstm, 2, 8) == colour_in_strip(lstm, 5, 8)
    assert colour_under(lstm, "lstm/LSTM") == colour_under(lstm, "tags/MatMul")


@pytest.mark.long
def test_overlays_are_chosen_by_arrow_keys_and_by_their_own(lstm: Watched) -> None:
    page = lstm.page
    page.get_by_role("radio", name="Target", exact=True).focus()
    lstm.press("ArrowRight")
    expect_overlay(page, "Cost")
    expect(page.get_by_role("radio", name="Cost", exact=True)).to_be_focused()
    lstm.press("Tab", "ArrowDown")
    expect_overlay(page, "Certainty")
    page.locator(".stage").focus()
    for key, name in (("h", "Cost"), ("s", "Certainty"), ("d", "Difference"), ("t", "Target")):
        lstm.press(key)
        expect_overlay(page, name)


@pytest.mark.long
def test_certainty_is_told_in_words(lstm: Watched) -> None:
    lstm.press("s")
    expect(lstm.node("lstm/LSTM")).to_have_attribute("aria-label", re.compile(r"; ±.* % over \d+ samples$|varied costs$"))
    expect(lstm.page.get_by_text("unsure")).to_be_visible()


@pytest.mark.long
def test_difference_from_the_plan_before_and_from_a_baseline(lstm: Watched) -> None:
    page = lstm.page
    pin_to_tvm(lstm)
    lstm.press("d")
    against = page.get_by_role("combobox", name="Compared with")
    expect(against.locator("option:checked")).to_have_text("the plan before")
    expect(page.locator(".legend")).to_contain_text(re.compile(r"\+[\d.]+ .s.*changes? (its|their) target"))
    expect(lstm.node("tags/MatMul")).to_have_attribute("aria-label", re.compile("on tvm, onnxruntime in the other plan"))
    against.select_option("baseline:openvino")
    lstm.idle()
    expect(lstm.node("lstm/LSTM")).to_have_attribute("aria-label", re.compile("on onnxruntime, openvino in the other plan"))
    expect(against.locator('option[value="baseline:tvm"]')).to_be_disabled()


@pytest.mark.long
def test_overlay_and_what_it_compares_are_in_the_address(lstm: Watched, open_page: OpenPage) -> None:
    lstm.press("4")
    assert "overlay=coverage" in lstm.page.url
    assert "of=tvm" in lstm.page.url
    other = open_page(lstm.page.url)
    expect(other.page.get_by_text("could not: 1 of 8")).to_be_visible()
    lstm.press("d")
    lstm.page.get_by_role("combobox", name="Compared with").select_option("baseline:openvino")
    lstm.idle()
    third = open_page(lstm.page.url)
    expect(third.page.get_by_role("combobox", name="Compared with")).to_have_value("baseline:openvino")
    expect(third.page.locator(".legend")).to_contain_text("change their target")


@pytest.mark.long
def test_two_plans_side_by_side(lstm: Watched) -> None:
    page = lstm.page
    pin_to_tvm(lstm)
    lstm.press("c")
    expect(page.get_by_role("tab", name="Compare")).to_have_attribute("aria-selected", "true")
    totals = page.get_by_role("table", name="Totals")
    expect(totals.get_by_role("columnheader", name="the plan before")).to_be_visible()
    expect(totals.get_by_role("row", name="predicted")).to_contain_text(re.compile(r"\+[\d.]+ .s predicted$"))
    regions = page.get_by_role("table", name="Regions of the two plans")
    expect(regions.get_by_role("row").nth(1)).to_contain_text("changes target")
    page.get_by_role("button", name="Exchange the two plans").click()
    lstm.idle()
    expect(totals.get_by_role("row", name="predicted")).to_contain_text(re.compile(r"-[\d.]+ .s predicted$"))
    page.get_by_role("button", name="Show on the graph").click()
    expect_overlay(lstm.page, "Difference")
    page.get_by_role("radio", name="Nodes").click()
    nodes = page.get_by_role("table", name="Nodes of the two plans")
    nodes.get_by_role("button", name="tags/MatMul").click()
    lstm.idle()
    expect(lstm.node("tags/MatMul")).to_have_attribute("aria-pressed", "true")
    page.get_by_label("show unchanged").check()
    expect(nodes).to_have_attribute("aria-rowcount", "9")


@pytest.mark.long
def test_a_run_that_is_gone_is_said(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=lstm&overlay=difference&against=nothing")
    expect(watched.page.locator(".legend")).to_contain_text("there is no run 'nothing'")
