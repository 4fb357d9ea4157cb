"""A Relax module on the page, as its users bring it: opened, run on TVM's own kernels, a fusion pinned apart, exported, and run."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.helpers.command import collage

from .conftest import OpenPage
from .explorer import Explorer, Watched, download, show_tab

SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 8, 16, 16), "float32"), w: R.Tensor((8, 8, 3, 3), "float32"), b: R.Tensor((1, 8, 1, 1), "float32")):
        with R.dataflow():
            conv = R.nn.conv2d(x, w, padding=1)
            shifted = R.add(conv, b)
            relu = R.nn.relu(shifted)
            out = R.multiply(relu, relu)
            R.output(out)
        return out
"""
SHAPES = {"x": (1, 8, 16, 16), "w": (8, 8, 3, 3), "b": (1, 8, 1, 1)}


def computed(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return what the module computes, by NumPy."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.maximum(np.einsum("nchwij,ocij->nohw", windows, w) + b, 0) ** 2


def run(watched: Watched) -> None:
    """Run, and wait for the end."""
    button = watched.page.get_by_role("button", name="Run", exact=True)
    button.click()
    expect(watched.page.get_by_role("button", name="Cancel")).to_be_visible()
    expect(button).to_be_visible(timeout=300_000)
    watched.idle()


def only_fusion_mode(page: Page) -> None:
    """Let TVM in fusion mode be the only target of the next run."""
    targets = page.get_by_role("group", name="Targets")
    targets.get_by_role("button", name=re.compile("more$")).press("Enter")
    targets.get_by_role("button", name="tvm@fusion").press("Enter")
    for other in ("onnxruntime", "openvino", "ncnn", "tvm"):
        button = targets.get_by_role("button", name=other, exact=True)
        if button.count() and button.get_attribute("aria-pressed") == "true":
            button.click()


SEVERAL = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            bent = R.nn.relu(x)
            R.output(bent)
        return bent

    @R.function
    def other(y: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            risen = R.exp(y)
            flat = R.tanh(risen)
            R.output(flat)
        return flat
"""


@pytest.mark.long
def test_of_several_regions_the_user_chooses(explorer: Explorer, open_page: OpenPage, tmp_path: Path) -> None:
    script = tmp_path / "several.py"
    script.write_text(SEVERAL)
    watched = open_page(explorer.address)
    page = watched.page
    page.locator("input[type=file]").set_input_files([script])
    page.get_by_role("dialog", name="Open a program?").get_by_role("button", name="Open it").click()
    choice = page.get_by_role("region", name="Regions of the module")
    expect(choice.get_by_role("listitem")).to_have_text(
        ["other.0 function other, block 0: 2 nodes", "main.0 function main, block 0: 1 node"]
    )
    expect(choice.get_by_role("button", name="other.0")).to_be_focused()
    watched.press("Enter")
    watched.idle()
    expect(watched.node("risen")).to_be_visible()
    page.get_by_role("button", name=re.compile("several.*other.0")).click()
    page.get_by_role("button", name="Another region of the module").click()
    choice.get_by_role("button", name="main.0").click()
    watched.idle()
    expect(page.get_by_role("button", name="Relu bent")).to_be_visible()


@pytest.mark.long
def test_a_relax_module_from_opening_to_the_artifact(explorer: Explorer, open_page: OpenPage, tmp_path: Path) -> None:
    """A fusion pinned apart is apart in the next run's plan and in the artifact, which computes what the module computes."""
    script = tmp_path / "net.py"
    script.write_text(SCRIPT)
    watched = open_page(explorer.address)
    page = watched.page
    page.locator("input[type=file]").set_input_files([script])
    page.get_by_role("dialog", name="Open a program?").get_by_role("button", name="Open it").click()
    watched.idle()
    only_fusion_mode(page)
    run(watched)
    watched.node("shifted").click()
    watched.idle()
    details = page.get_by_role("complementary", name="Details")
    expect(details).to_contain_text(re.compile(r"runs (it|the partition of \d+ nodes that holds it) in [\d.]+ µs"))
    if (more := details.get_by_role("button", name=re.compile(r"^\d+ more$"))).count():  # which four come first is a matter of measuring
        more.first.click()
    page.get_by_role("button", name="Pin exactly Conv+Add to tvm@fusion").click()
    watched.idle()
    watched.press("k")
    run(watched)
    expect(page.locator(".readout")).to_contain_text("verified")
    show_tab(page, "Partitions")
    expect(page.locator(".drawer")).to_contain_text("Conv + Add ·")
    with zipfile.ZipFile(download(page)) as packed:
        packed.extractall(tmp_path)
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert ["conv", "shifted"] in [partition["names"] for partition in plan["partitions"]]
    random = np.random.default_rng(3)
    given = {name: random.standard_normal(shape, np.float32) for name, shape in SHAPES.items()}
    np.savez(tmp_path / "in.npz", **given)
    done = collage(tmp_path, "run", tmp_path / "artifact", "--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz")
    assert done.returncode == 0, done.stderr
    (found,) = np.load(tmp_path / "out.npz").values()
    np.testing.assert_allclose(found, computed(**given), rtol=1e-4, atol=1e-5)
