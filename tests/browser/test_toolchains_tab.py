"""The tab of toolchains and rules: who is here, what every rule gave and rejected, options of the next run, a described toolchain tried."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from .conftest import OpenPage
from .explorer import Explorer, Watched


@pytest.fixture
def tab(explorer: Explorer, open_page: OpenPage) -> Watched:
    watched = open_page(f"{explorer.address}?sample=squeezenet")
    show(watched)
    return watched


def show(watched: Watched) -> None:
    watched.page.get_by_role("tab", name="Toolchains & rules").click()
    watched.idle()


def tree(watched: Watched, target: str) -> Locator:
    return watched.page.get_by_role("tree", name=f"Rule tree of {target}")


def test_rules_say_what_they_gave_and_rejected(tab: Watched) -> None:
    listed = tab.page.get_by_role("list", name="Toolchains")
    expect(listed.get_by_role("button", name=re.compile("^O? *onnxruntime"))).to_have_attribute("aria-pressed", "true")
    expect(tab.page.get_by_text("One spec with openvino: their trees are equal")).to_be_visible()
    items = tree(tab, "onnxruntime").get_by_role("treeitem")
    expect(items.first).to_have_attribute("aria-expanded", "true")
    only_valid = items.filter(has_text="only_valid")
    only_valid.get_by_role("button", name="rejected").click()
    tab.idle()
    rejected = tab.page.get_by_role("region", name="Rejected by only_valid")
    expect(rejected.get_by_role("listitem").first).to_contain_text("validity exits:")
    rejected.get_by_role("listitem").first.get_by_role("button").click()
    tab.idle()
    assert "node=" in tab.page.url
    gave = only_valid.get_by_role("button", name=re.compile("gave"))
    number = gave.inner_text().removeprefix("gave ")
    gave.click()
    tab.idle()
    expect(tab.page.get_by_role("status").filter(has_text=" of ")).to_have_text(re.compile(f"^{number} of "))
    tab.page.get_by_role("button", name="rule only_valid").click()
    expect(tab.page.get_by_role("status").filter(has_text=" of ")).not_to_have_text(re.compile(f"^{number} of "))


def test_the_tree_is_walked_and_folded_by_keys(tab: Watched) -> None:
    items = tree(tab, "onnxruntime").get_by_role("treeitem")
    every = items.count()
    items.first.focus()
    tab.press("ArrowDown", "ArrowLeft")
    expect(items).to_have_count(2)
    expect(items.nth(1)).to_have_attribute("aria-expanded", "false")
    tab.press("ArrowRight")
    expect(items).to_have_count(every)
    tab.press("End")
    expect(items.last).to_be_focused()
    tab.press("ArrowLeft")
    expect(items.filter(has_text="segments")).to_be_focused()
    tab.press("Tab")
    expect(items.filter(has_text="segments").get_by_role("button")).to_be_focused()
