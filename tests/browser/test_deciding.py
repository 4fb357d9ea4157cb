"""Deciding on the page: what if before anything is kept, several nodes at once, the context menu, names, cuts; by mouse and by keys."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from .conftest import OpenPage
from .explorer import Explorer, Watched, expect_overlay, show_overlay, show_tab
from .test_page import target_of


@pytest.fixture
def sample(explorer: Explorer, open_page: OpenPage) -> Watched:
    """mini-MNIST with its recorded run."""
    return open_page(f"{explorer.address}?sample=mini_mnist")


def pins(watched: Watched) -> Locator:
    """The list of what was decided."""
    show_tab(watched.page, "Pins")
    watched.idle()
    return watched.page.locator(".pins li")


def elsewhere(watched: Watched, node: str) -> str:
    """A target on which the node is not."""
    return "tvm" if target_of(watched, node) != "tvm" else "openvino"


def choose(watched: Watched, *labels: str) -> None:
    """Items of the open menu, one inside the other."""
    for label in labels:
        watched.page.get_by_role("menuitem", name=label, exact=True).last.click()
        watched.idle()


def open_menu(watched: Watched, node: str) -> Locator:
    watched.node(node).click(button="right")
    watched.idle()
    menu = watched.page.get_by_role("menu").first
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    return menu


def test_a_plan_is_tried_before_it_is_kept(sample: Watched) -> None:
    page, target, before = sample.page, elsewhere(sample, "relu1"), target_of(sample, "relu1")
    count = "async () => (await (await fetch('api/v1/runs')).json()).runs.length"
    runs, recorded = page.evaluate(count), page.url
    open_menu(sample, "relu1")
    choose(sample, "Pin to", target)
    assert target_of(sample, "relu1") == target
    expect(page.locator(".decision")).to_contain_text(
        re.compile(r"What if: [+-].* predicted, against the kept plan; \d+ partitions? change")
    )
    expect(page.get_by_role("button", name="Export")).to_be_disabled()
    page.locator(".decision").get_by_role("button", name="show").click()
    sample.idle()
    expect_overlay(page, "Difference")
    expect(page.get_by_role("combobox", name="Compared with").first.locator("option:checked")).to_have_text("the kept plan")
    show_overlay(page, "Target")
    assert page.evaluate(count) == runs
    page.get_by_role("button", name="Discard").click()
    sample.idle()
    assert target_of(sample, "relu1") == before
    sample.press("U")
    assert target_of(sample, "relu1") == target, "what was discarded can be had again"
    page.get_by_role("button", name="Keep").click()
    sample.idle()
    assert target_of(sample, "relu1") == target
    assert "run=" in page.url
    assert page.url != recorded
    expect(page.get_by_role("button", name="Keep")).to_have_count(0)
    sample.press("u")
    assert target_of(sample, "relu1") == before


@pytest.mark.long
def test_each_decision_says_what_it_costs_or_that_it_does_nothing(sample: Watched) -> None:
    target, other = elsewhere(sample, "relu1"), target_of(sample, "relu1")
    open_menu(sample, "relu1")
    choose(sample, "Pin to", target)
    expect(pins(sample)).to_contain_text(re.compile(r"costs [\d.]+ (µs|ms)"))
    open_menu(sample, "relu1")
    choose(sample, "Veto", other)
    listed = pins(sample)
    expect(listed).to_have_count(2)
    expect(listed.nth(0)).to_contain_text(re.compile(r"costs [\d.]+ (µs|ms) predicted alone; taking it back saves (nothing|[\d.]+)"))
    expect(listed.nth(1)).to_contain_text(re.compile(r"costs [\d.]+ (µs|ms) predicted alone; taking it back saves nothing"))
    sample.page.get_by_role("button", name="Discard").click()
    sample.idle()
    open_menu(sample, "relu1")
    choose(sample, "Pin to", other)
    expect(pins(sample)).to_contain_text("no effect: the best plan holds it anyway")


@pytest.mark.long
def test_what_cannot_hold_says_with_what_it_collides(sample: Watched) -> None:
    target = elsewhere(sample, "relu1")
    open_menu(sample, "relu1")
    choose(sample, "Pin to", target)
    open_menu(sample, "relu1")
    choose(sample, "Veto", target)
    alert = sample.page.get_by_role("alert")
    expect(alert).to_contain_text("these cannot hold together")
    for words in (f"pin relu1 to {target}", f"veto {target} for relu1"):
        expect(alert).to_contain_text(words)
    assert target_of(sample, "relu1") == target
    alert.get_by_role("button", name=f"Remove: pin relu1 to {target}").click()
    sample.idle()
    expect(pins(sample)).to_have_text(re.compile(f"veto {target} for relu1"))


@pytest.mark.long
def test_a_target_is_switched_off_and_the_accuracy_changed_on_trial(sample: Watched) -> None:
    page, target = sample.page, target_of(sample, "relu1")
    chip = page.get_by_role("group", name="Targets").get_by_role("button", name=target)
    chip.click()
    sample.idle()
    expect(chip).to_have_attribute("aria-pressed", "false")
    assert target_of(sample, "relu1") != target
    expect(pins(sample)).to_contain_text(re.compile(rf"{target} switched off.*costs", re.DOTALL))
    sample.press("k")
    page.reload()
    sample.idle()
    expect(chip).to_have_attribute("aria-pressed", "false")
    chip.click()
    sample.idle()
    assert target_of(sample, "relu1") == target
    accuracy = page.get_by_role("textbox", name="accuracy")
    accuracy.fill("1e-5")
    sample.press("Tab")
    expect(pins(sample)).to_contain_text(re.compile(r"accuracy 1e-5.*no effect: it forbids nothing", re.DOTALL))
    accuracy.fill("1e-9")
    sample.press("Tab")
    expect(pins(sample)).to_contain_text(re.compile(r"accuracy 1e-9.*costs", re.DOTALL))
    accuracy.fill("little")
    sample.press("Tab")
    expect(accuracy).to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Remove: accuracy 1e-9").click()
    sample.idle()
    expect(accuracy).to_have_value("")


def test_several_nodes_are_selected_and_pinned_by_mouse(sample: Watched, open_page: OpenPage) -> None:
    page = sample.page
    sample.node("relu1").click()
    sample.node("pool1").click(modifiers=["Control"])
    sample.node("add1").click(modifiers=["Shift"])
    sample.idle()
    chosen = page.locator('.stage [aria-pressed="true"]')
    expect(chosen).to_have_count(3)
    expect(page.get_by_role("heading", name="3 nodes selected")).to_be_visible()
    other = open_page(page.url)
    expect(other.page.locator('.stage [aria-pressed="true"]')).to_have_count(3)
    sample.node("pool1").click(modifiers=["Control"])
    expect(chosen).to_have_count(2)
    open_menu(sample, "relu1")
    expect(chosen).to_have_count(2)
    target = elsewhere(sample, "relu1")
    choose(sample, "Exactly these as one, on", target)
    assert {target_of(sample, "relu1"), target_of(sample, "add1")} == {target}
    expect(pins(sample)).to_contain_text(f"pin exactly relu1 + add1 to {target}")
    sample.press("Escape")
    expect(chosen).to_have_count(0)


@pytest.mark.long
def test_a_rubber_band_adds_what_it_touches_and_a_plain_drag_pans(sample: Watched) -> None:
    page = sample.page
    first, last = sample.node("relu1").bounding_box(), sample.node("pool1").bounding_box()
    assert first
    assert last
    page.keyboard.down("Shift")
    page.mouse.move(first["x"] - 30, first["y"] + 2)
    page.mouse.down()
    page.mouse.move(last["x"], last["y"] + 4)
    expect(page.locator(".band")).to_be_visible()
    page.mouse.move(last["x"] + last["width"] / 2, last["y"] + 8)
    page.mouse.up()
    page.keyboard.up("Shift")
    sample.idle()
    expect(page.locator(".band")).to_have_count(0)
    expect(page.locator('.stage [aria-pressed="true"]')).to_have_count(2)
    assert sample.node("relu1").bounding_box() == first
    page.mouse.move(first["x"] - 60, first["y"])
    page.mouse.down()
    page.mouse.move(first["x"] - 40, first["y"] + 30)
    page.mouse.up()
    sample.idle()
    moved = sample.node("relu1").bounding_box()
    assert moved
    assert moved["y"] > first["y"] + 20


@pytest.mark.long
def test_an_edge_is_cut_by_mouse_and_a_hull_has_a_menu(sample: Watched) -> None:
    page = sample.page
    upper, lower = sample.node("relu1").bounding_box(), sample.node("pool1").bounding_box()
    assert upper
    assert lower
    middle = upper["x"] + upper["width"] / 2
    page.mouse.click(middle, (upper["y"] + upper["height"] + lower["y"]) / 2, button="right")
    sample.idle()
    expect(page.get_by_role("menu", name=re.compile("relu1 → .*pool1"))).to_be_visible()
    choose(sample, "Cut here")
    expect(pins(sample)).to_contain_text("cut between relu1 and pool1")
    lower = sample.node("pool1").bounding_box()  # above the drawer
    assert lower
    page.mouse.click(lower["x"] - 5, lower["y"] + 5, button="right")
    sample.idle()
    expect(page.get_by_role("menu", name=re.compile(r"^\d+ nodes? on|^\w+ pool1"))).to_be_visible()


def test_everything_by_keyboard(sample: Watched) -> None:
    page = sample.page
    sample.press("/")
    page.keyboard.type("relu1")
    sample.press("Enter", "Shift+ArrowDown")
    expect(page.get_by_role("heading", name="2 nodes selected")).to_be_visible()
    sample.press("x")
    expect(page.get_by_role("tab", name="What if 1")).to_be_visible()
    sample.press("u", "Shift+F10")
    menu = page.get_by_role("menu", name="2 nodes")
    expect(menu.get_by_role("menuitem", name="Pin to")).to_be_focused()
    sample.press("End")
    expect(menu.get_by_role("menuitem", name="By name…")).to_be_focused()
    sample.press("Home", "c")
    expect(menu.get_by_role("menuitem", name="Cut")).to_be_focused()
    sample.press("ArrowRight", "ArrowLeft")
    expect(menu.get_by_role("menuitem", name="Cut")).to_be_focused()
    sample.press("Home", "ArrowRight")
    expect(page.get_by_role("menu", name="Pin to").get_by_role("menuitem").first).to_be_focused()
    sample.press("Escape", "Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    expect(page.locator(".stage :focus")).to_have_attribute("data-name", "pool1")
    sample.press("ContextMenu", "k", "Enter")
    sample.press("k")
    expect(page.get_by_role("button", name="Keep")).to_have_count(0)
    expect(pins(sample)).to_contain_text("keep relu1 + pool1 together")


@pytest.mark.long
def test_an_operator_is_found_and_decided_for_all_its_nodes(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=squeezenet")
    page = watched.page
    watched.press("/")
    page.keyboard.type("conv")
    every = page.get_by_role("option", name=re.compile(r"^all Conv"))
    expect(every).to_contain_text("26")
    watched.press("ArrowUp")
    expect(every).to_have_attribute("aria-selected", "true")
    watched.press("Shift+F10")
    choose(watched, "Veto openvino")
    expect(pins(watched)).to_contain_text("veto openvino for every Conv")
    page.get_by_role("combobox", name="Find nodes").click()
    every.click(button="right")
    watched.idle()
    choose(watched, "Select them")
    expect(page.get_by_role("heading", name="26 nodes selected")).to_be_visible()


@pytest.mark.long
def test_what_repeats_is_decided_everywhere_and_a_pattern_counts_as_one_types(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=bert")
    page = watched.page
    watched.press("/")
    page.keyboard.type("softmax")
    watched.press("Enter", "Shift+F10")
    like = page.get_by_role("menuitem", name=re.compile(r"^All like this \(\d+\)$"))
    count = int(re.sub(r"\D", "", like.inner_text()))
    assert count > 1
    watched.press("Escape", "Shift+F10", "End", "Enter")
    dialog = page.get_by_role("dialog", name="Decide by name")
    expect(dialog.get_by_role("status")).to_contain_text(f"{count} nodes")
    dialog.get_by_role("textbox", name="Pattern").fill("no such*")
    expect(dialog.get_by_role("status")).to_contain_text("no node")
    expect(dialog.get_by_role("button", name="Try it")).to_be_disabled()
    dialog.get_by_role("textbox", name="Pattern").fill("*oftmax*")
    dialog.get_by_role("radio", name="Veto").click()
    watched.press("Tab")
    dialog.get_by_role("button", name="Try it").click()
    watched.idle()
    expect(page.get_by_role("tab", name="What if 1")).to_be_visible()


@pytest.mark.long
def test_single_keys_can_be_switched_off_for_good(sample: Watched) -> None:
    page = sample.page
    sample.press("?")
    page.get_by_role("checkbox", name=re.compile("Single-key shortcuts")).uncheck()
    sample.press("Escape")
    page.reload()
    sample.idle()
    sample.node("relu1").click()
    sample.press("v", "x", "?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("tab", name="What if", exact=True)).to_be_visible()
    sample.press("ArrowDown")
    expect(page.locator('.stage [aria-pressed="true"]')).to_have_attribute("data-name", "pool1")
    page.get_by_role("button", name="Keyboard shortcuts").focus()
    sample.press("Enter", "Space", "Escape", "?")
    expect(page.get_by_role("checkbox", name=re.compile("Single-key shortcuts"))).to_be_checked()


def test_a_cost_is_typed_in_and_tried_kept_and_taken_back(sample: Watched) -> None:
    page, target = sample.page, target_of(sample, "relu1")
    sample.node("relu1").click()
    sample.idle()
    field = page.get_by_role("textbox", name=re.compile("^What if this partition on .* took"))
    field.fill("2")
    sample.press("Enter")
    expect(page.locator(".typed-cost .bad")).to_have_text('"2" has no unit: write it like 800 us, 1.2 ms or 0.5 s')
    field.fill("2 s")
    sample.press("Enter")
    expect(page.locator(".decision")).to_contain_text(re.compile(r"What if: \+.* predicted, against the kept plan; \d+ partitions? change"))
    listed = pins(sample)
    expect(listed).to_have_text(re.compile(r"takes 2\.00 s, typed in.*measured before", re.DOTALL))
    expect(listed).to_contain_text("best total +")
    expect(page.get_by_role("region", name="What these terms bring")).to_be_visible()
    sample.press("k")
    page.reload()
    sample.idle()
    expect(pins(sample)).to_have_text(re.compile(r"takes 2\.00 s, typed in"))
    page.get_by_role("button", name=re.compile("^Remove: .*typed in")).click()
    sample.idle()
    expect(pins(sample)).to_have_count(0)
    assert target_of(sample, "relu1") == target


@pytest.mark.long
def test_a_cost_that_was_typed_in_is_marked_wherever_it_is_shown(sample: Watched) -> None:
    page, target = sample.page, target_of(sample, "relu1")
    sample.node("relu1").click()
    sample.idle()
    page.locator(".candidate.chosen button.row").click()
    page.get_by_role("textbox", name=re.compile(f"^What if this .* on {target} took")).fill("1 ns")
    sample.press("Enter")
    expect(page.locator(".readout .tag", has_text="typed")).to_be_visible()
    show_tab(page, "Partitions")
    expect(page.locator(".partitions")).to_contain_text("typed")
    pins(sample)
    expect(page.get_by_role("region", name="What these terms bring")).to_contain_text(re.compile(f"{target} .*brings"))
    sample.press("k")
    page.get_by_role("tab", name="Why").click()
    expect(page.locator(".candidate.chosen .numbers")).to_have_text(re.compile("typed"))


@pytest.mark.long
def test_another_accuracy_is_typed_beside_the_other_terms(sample: Watched) -> None:
    page = sample.page
    pins(sample)
    field = page.get_by_role("textbox", name="What if a partition may err by")
    field.fill("much")
    expect(page.get_by_text('"much" is no error between 0 and 1: write it like 1e-2')).to_be_visible()
    field.fill("1e-2")
    sample.press("Tab")
    expect(pins(sample)).to_contain_text("accuracy 1e-2")
    expect(page.get_by_role("region", name="What these terms bring")).to_contain_text(re.compile("has|comes in|No target"))
    sample.press("u")
    expect(pins(sample)).to_have_count(0)


def test_a_pin_to_where_a_node_runs_already_changes_nothing(explorer: Explorer, open_page: OpenPage) -> None:
    """Of a run that was decided by measuring whole plans: another plan has the least sum."""
    watched = open_page(f"{explorer.address}?sample=crnn")
    page = watched.page
    header, why = page.locator(".readout").inner_text(), page.locator("#panel-body")
    assert "measured" in header
    watched.node("/cnn/conv0/Conv").click()
    watched.idle()
    target, before = target_of(watched, "/cnn/conv0/Conv"), why.inner_text()
    watched.press("p")
    decision = page.locator(".decision")
    expect(decision).to_contain_text("What if: nothing changes, since the plan has this already")
    assert (page.locator(".readout").inner_text(), why.inner_text()) == (header, before)
    expect(pins(watched)).to_contain_text("no effect: the best plan holds it anyway")
    watched.press("k")
    expect(decision).not_to_contain_text("What if")
    assert page.locator(".readout").inner_text() == header
    assert target_of(watched, "/cnn/conv0/Conv") == target
    expect(page.get_by_role("tab", name="What if 1")).to_be_visible()
