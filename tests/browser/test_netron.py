"""The drawer's Netron: every form of the model, the selection carried over both ways, offline and after its date; and what of its
insides the page relies on (`frontend/src/data/netron/frame.ts`), so that another version fails here first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import netron
import pytest
from playwright.sync_api import FrameLocator, Locator, expect

from .conftest import OpenPage
from .explorer import Explorer, Watched, show_tab

VERSION = "9.3.3"

CONTRACT = """() => {
  const { contentWindow: window, contentDocument: document } = globalThis.document.querySelector('iframe.netron');
  const { Element } = window;
  const view = window.__view__;
  const nodes = view?.activeTarget?.nodes;
  const one = nodes?.find((node) => node.name === 'relu1');
  const drawn = view?.target?.select?.([one]);
  return {
    'window.__view__': typeof view,
    '__view__.activeTarget.nodes[].name': typeof one?.name,
    'node.outputs[].value[].name': typeof one?.outputs?.[0]?.value?.[0]?.name,
    '__view__.target.select([node]) gives elements': drawn?.[0] instanceof Element,
    '__view__.target.selection[].value': [...(view?.target?.selection ?? [])][0]?.value === one,
    '__view__.target.scrollTo': typeof view?.target?.scrollTo,
    '__view__.host.openURL': typeof view?.host?.openURL,
    'id of a node': document.getElementById('node-name-relu1') !== null,
    'body says that a model is shown': document.body.className,
    'window.eval is replaced': (() => { try { window.eval('1'); return false; } catch { return true; } })(),
  };
}"""

CUT_OFF = b"\x08\x08\x3a\x7f"
"""The begin of an ONNX file: Netron knows at once who has to read it, and need not try all that it can read."""

EXPECTED = {
    "window.__view__": "object",
    "__view__.activeTarget.nodes[].name": "string",
    "node.outputs[].value[].name": "string",
    "__view__.target.select([node]) gives elements": True,
    "__view__.target.selection[].value": True,
    "__view__.target.scrollTo": "function",
    "__view__.host.openURL": "function",
    "id of a node": True,
    "body says that a model is shown": "default",
    "window.eval is replaced": True,
}


def inside(watched: Watched) -> FrameLocator:
    """Netron's own document, with a model in it."""
    show_tab(watched.page, "Netron")
    watched.idle()
    return watched.page.frame_locator("iframe.netron")


def choose(watched: Watched, label: str) -> None:
    watched.page.get_by_role("combobox", name="Model in Netron").select_option(label=label)
    watched.idle()


def ask(watched: Watched, expression: str) -> Any:
    """Evaluate an expression about the frame's window `inner`: Netron lets nobody evaluate anything in the frame itself."""
    return watched.page.evaluate(f"() => {{ const inner = document.querySelector('iframe.netron').contentWindow; return {expression}; }}")


def drawn(frame: FrameLocator, name: str) -> Locator:
    """A node as Netron draws it."""
    return frame.locator(f'[id="node-name-{name}"]')


def picked(watched: Watched) -> list[str]:
    return ask(watched, "[...inner.__view__.target.selection].map((one) => one.value.name)")


def test_what_the_page_relies_on_is_there(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=mini_mnist")
    inside(watched)
    found: dict[str, Any] = watched.page.evaluate(CONTRACT)
    wrong = [f"{what}: {found[what]!r}, and should be {value!r}" for what, value in EXPECTED.items() if found[what] != value]
    assert not wrong, f"Netron {netron.__version__} is not as frontend/src/data/netron/frame.ts has it:\n" + "\n".join(wrong)
    assert netron.__version__ == VERSION, "another Netron: look at the tab by hand, then change VERSION"


@pytest.mark.long
def test_the_selection_is_carried_over_both_ways(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=mini_mnist")
    frame = inside(watched)
    expect(watched.page.get_by_role("combobox", name="Model in Netron")).to_have_value("partitioned")
    watched.page.get_by_role("button", name="Columns").click()  # Above the drawer there is little room for a graph that runs straight down.
    watched.node("relu1").click()
    watched.idle()
    assert picked(watched) == ["relu1"]
    expect(drawn(frame, "relu1")).to_be_in_viewport()
    drawn(frame, "add1").locator(".node-item-type").click()
    watched.idle()
    expect(watched.page.get_by_role("complementary", name="Details").get_by_role("heading").first).to_contain_text("add1")
    expect(frame.get_by_title("collage target")).to_be_visible()
    assert picked(watched) == ["add1"]


@pytest.mark.long
@pytest.mark.parametrize("sample", ["mnist", "resnet50"])
def test_every_form_of_the_model_in_the_dark(explorer: Explorer, open_page: OpenPage, sample: str) -> None:
    """The second is a file of 100 MB."""
    watched = open_page(f"{explorer.address}?sample={sample}", scheme="dark")
    nodes = inside(watched).locator(".graph-node")
    assert ask(watched, "inner.matchMedia('(prefers-color-scheme: dark)').matches")
    folded = nodes.count()
    choose(watched, "Original")
    assert nodes.count() > folded
    label = watched.page.get_by_role("combobox", name="Model in Netron").locator("optgroup option").first.inner_text()
    choose(watched, label)
    assert f"{nodes.count()} node" in label


@pytest.mark.long
def test_it_works_offline_and_after_its_date(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(explorer.address)
    later = datetime.now(UTC) + timedelta(days=800)
    watched.page.clock.set_fixed_time(later)
    watched.page.context.route(lambda url: not url.startswith(explorer.address), lambda route: route.abort())
    watched.open(f"{explorer.address}?sample=mini_mnist")
    frame = inside(watched)
    assert ask(watched, "new inner.Date().getFullYear()") == later.year
    expect(drawn(frame, "relu1")).to_be_visible()
    expect(frame.get_by_text("cookies")).not_to_be_visible()


@pytest.mark.long
def test_what_netron_cannot_read_is_said(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(explorer.address)
    watched.page.route("**/api/v1/models/*/onnx", lambda route: route.fulfill(body=CUT_OFF, content_type="application/octet-stream"))
    watched.open(f"{explorer.address}?sample=mini_mnist")
    inside(watched)
    choose(watched, "Original")
    expect(watched.page.get_by_role("alert")).to_contain_text("Netron cannot show mini_mnist.onnx")
    choose(watched, "Partitioned")
    expect(drawn(watched.page.frame_locator("iframe.netron"), "relu1")).to_be_visible()


@pytest.mark.long
def test_a_tab_of_its_own(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=mini_mnist")
    inside(watched)
    with watched.page.context.expect_page() as opened:
        watched.page.get_by_role("link", name="Open in a tab of its own").click()
    expect(opened.value.locator('[id="node-name-relu1"]')).to_be_visible()
