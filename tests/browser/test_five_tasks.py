"""Five tasks of a new user on a recorded sample as the page opens: each answer is there after at most two clicks, which are counted."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from .conftest import OpenPage
from .explorer import Explorer, Watched

MOST_CLICKS = 2


@dataclass
class Clicks:
    """Clicks on a page, no more than a task may take."""

    watched: Watched
    count: int = 0

    def on(self, what: Locator) -> None:
        self.count += 1
        assert self.count <= MOST_CLICKS, f"click {self.count} is one too many: {what}"
        what.click()
        self.watched.idle()


@pytest.fixture
def clicks(explorer: Explorer, open_page: OpenPage) -> Clicks:
    """A sample whose plan is a mix of two toolchains, opened without any choice of tab, overlay or node."""
    return Clicks(open_page(f"{explorer.address}?sample=crnn"))


def node_on(clicks: Clicks, target: str) -> Locator:
    """A node of the graph that runs on `target`."""
    return clicks.watched.page.locator(f'.stage [aria-label*="on {target}"]').first


def test_where_does_the_time_go(clicks: Clicks) -> None:
    page = clicks.watched.page
    clicks.on(page.get_by_role("tab", name="What runs where"))
    clicks.on(page.get_by_role("tab", name="Time"))
    parts = page.get_by_role("group", name=re.compile("^Where the time of .* goes$"))
    expect(parts.get_by_role("button", name=re.compile("% of the predicted total$")).first).to_be_visible()


@pytest.mark.long
def test_why_not_the_other_toolchain_there(clicks: Clicks) -> None:
    page = clicks.watched.page
    clicks.on(node_on(clicks, "ncnn"))
    why = page.get_by_role("tabpanel", name="Why")
    expect(why.get_by_text(re.compile(r"^ncnn runs (it|the partition of \d+ nodes that holds it) in [\d.]+ ms"))).to_be_visible()
    expect(
        why.get_by_text(re.compile("^(onnxruntime|openvino|tvm) (would win here below|would not win here|is too close to call)"))
    ).to_be_visible()


def test_what_if_it_were_forced(clicks: Clicks) -> None:
    page = clicks.watched.page
    clicks.on(node_on(clicks, "ncnn"))
    clicks.on(page.get_by_role("button", name=re.compile("^Pin exactly .* to onnxruntime$")).first)
    expect(page.locator(".decision")).to_contain_text(re.compile(r"What if: \+[\d.]+ ms predicted, against the kept plan"))


@pytest.mark.long
def test_what_would_tell_two_rivals_apart(explorer: Explorer, open_page: OpenPage) -> None:
    """The sample is one of those whose record has plans that measuring could not tell apart."""
    clicks = Clicks(open_page(f"{explorer.address}?sample=unet_segmentation"))
    page = clicks.watched.page
    clicks.on(page.get_by_role("tab", name="How it went"))
    note = page.get_by_role("status").filter(has_text="undecided")
    expect(note).to_contain_text(re.compile(r" or .* for \d+ nodes? from .*: the second could be [\d.]+ [mµ]s faster"))
    expect(note).to_contain_text("To tell two of them apart, both costs must be known better than by that gain")


@pytest.mark.long
def test_take_it_away(explorer: Explorer, open_page: OpenPage) -> None:
    """The recorded run has no artifact yet: one click asks in which form, the next builds and downloads it."""
    clicks = Clicks(open_page(f"{explorer.address}?sample=mini_mnist"))
    clicks.on(clicks.watched.page.get_by_role("button", name="Export", exact=True))
    with clicks.watched.page.expect_download() as download:
        clicks.on(clicks.watched.page.get_by_role("button", name="Build and download"))
    with zipfile.ZipFile(download.value.path()) as exported:
        names = {name.split("/", 1)[-1] for name in exported.namelist()}
    assert {"plan.json", "artifact.json"} <= names, names


@pytest.mark.long
def test_take_the_figures_away(clicks: Clicks) -> None:
    page = clicks.watched.page
    clicks.on(page.get_by_role("tab", name="What if"))
    with page.expect_download() as download:
        clicks.on(page.get_by_role("button", name="Save as CSV"))
    assert Path(download.value.path()).read_text().startswith("plan,predicted_s,")
