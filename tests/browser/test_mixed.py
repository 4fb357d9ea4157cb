"""A sample whose best plan is a mix, from its recorded run to the export: who runs what, and why not one toolchain for all."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import OpenPage
from .explorer import Explorer, download, show_tab


@pytest.mark.parametrize("exports", [False, pytest.param(True, marks=pytest.mark.long)], ids=["shown", "exported"])
def test_a_mixed_plan_that_wins(explorer: Explorer, open_page: OpenPage, exports: bool, tmp_path: Path) -> None:
    watched = open_page(f"{explorer.address}?sample=unet_segmentation")
    page = watched.page
    faster = r"1\.\d+ times faster than \w+ alone \((1\.\d+ to 1\.\d+|at least 1\.25)\), checked"
    expect(page.locator(".readout")).to_contain_text(re.compile(r"[\d.]+ ms measured"))
    expect(page.locator(".verdict")).to_have_text(re.compile(rf"^{faster}$"))
    show_tab(page, "Partitions")
    for target in ("ncnn", "onnxruntime"):
        expect(page.locator(".drawer")).to_contain_text(re.compile(rf"{target} [\d.]+ ms"))
    expect(page.locator(".drawer")).to_contain_text(re.compile(r"transitions [\d.]+ [µm]s"))
    show_tab(page, "Totals")
    expect(page.locator(".drawer")).to_contain_text(re.compile(r"ncnn cannot take 1 of \d+ nodes \(ArgMax\): ncnn has no layer for ArgMax"))
    if not exports:
        return
    with zipfile.ZipFile(download(page)) as packed:
        packed.extractall(tmp_path)
    manifest = json.loads((tmp_path / "artifact" / "artifact.json").read_text())
    assert {entry["target"].partition("@")[0] for entry in manifest["partitions"]} == {"ncnn", "onnxruntime"}


@pytest.mark.long
@pytest.mark.parametrize("width", [1024, 1440])
def test_a_detector_opens_with_boxes_in_view(explorer: Explorer, open_page: OpenPage, width: int) -> None:
    """Its first column is wider than the screen, and the corner of that is empty."""
    watched = open_page(f"{explorer.address}?sample=retinanet", width=width, height=width * 5 // 8)
    colours = watched.page.evaluate(
        """() => { const canvas = document.querySelector('.stage canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size; }"""
    )
    assert colours > 10, "an empty canvas has one colour"
