"""The drawer's Netron: every form of the model, the selection carried over both ways, offline and after its date; and what of its
insides the page relies on (`frontend/src/netron/inside.ts`), so that another version fails here first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import netron
import pytest
from playwright.sync_api import Frame, Locator, expect

from .conftest import OpenPage
from .explorer import Explorer, Watched

VERSION = "9.3.3"

CONTRACT = """() => {
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


def inside(watched: Watched) -> Frame:
    """Netron's own document, with a model in it."""
    watched.page.get_by_role("tab", name="Netron").click()
    watched.idle()
    frame = watched.page.frame(url=lambda url: "/netron/" in url)
    assert frame is not None
    return frame


def choose(watched: Watched, label: str) -> Frame:
    watched.page.get_by_role("combobox", name="Model in Netron").select_option(label=label)
    return inside_now(watched)


def inside_now(watched: Watched) -> Frame:
    watched.idle()
    frame = watched.page.frame(url=lambda url: "/netron/" in url)
    assert frame is not None
    return frame


def drawn(frame: Frame, name: str) -> Locator:
    """A node as Netron draws it."""
    return frame.locator(f'[id="node-name-{name}"]')


def picked(frame: Frame) -> list[str]:
    return frame.evaluate("() => [...window.__view__.target.selection].map((one) => one.value.name)")


def test_what_the_page_relies_on_is_there(explorer: Explorer, open_page: OpenPage) -> None:
    frame = inside(open_page(f"{explorer.address}?sample=mini_mnist"))
    found: dict[str, Any] = frame.evaluate(CONTRACT)
    wrong = [f"{what}: {found[what]!r}, and should be {value!r}" for what, value in EXPECTED.items() if found[what] != value]
    assert not wrong, f"Netron {netron.__version__} is not as frontend/src/netron/inside.ts has it:\n" + "\n".join(wrong)
    assert netron.__version__ == VERSION, "another Netron: look at the tab by hand, then change VERSION"


def test_the_selection_is_carried_over_both_ways(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=mini_mnist")
    frame = inside(watched)
    expect(watched.page.get_by_role("combobox", name="Model in Netron")).to_have_value("partitioned")
    watched.node("relu1").click()
    watched.idle()
    assert picked(frame) == ["relu1"]
    expect(drawn(frame, "relu1")).to_be_in_viewport()
    drawn(frame, "conv1").locator(".node-item-type").click()
    watched.idle()
    assert "node=" in watched.page.url
    expect(watched.page.get_by_role("complementary").get_by_role("heading").first).to_contain_text("conv1")
    expect(frame.get_by_text("collage target")).to_be_visible()
    assert picked(frame) == ["conv1"]


def test_every_form_of_the_model(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=resnet50", scheme="dark")
    frame = inside(watched)
    assert frame.evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches")
    folded = frame.locator(".graph-node").count()
    frame = choose(watched, "Original")
    assert frame.locator(".graph-node").count() > folded
    drawn(frame, "stem/norm").locator(".node-item-type").click() if drawn(frame, "stem/norm").count() else None
    label = watched.page.get_by_role("combobox", name="Model in Netron").locator("optgroup option").first.inner_text()
    frame = choose(watched, label)
    assert f"{frame.locator('.graph-node').count()} node" in label


def test_it_works_offline_and_after_its_date(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(explorer.address)
    later = datetime.now(UTC) + timedelta(days=800)
    watched.page.clock.set_fixed_time(later)
    watched.page.context.route(lambda url: not url.startswith(explorer.address), lambda route: route.abort())
    watched.open(f"{explorer.address}?sample=mini_mnist")
    frame = inside(watched)
    assert frame.evaluate("() => new Date().getFullYear()") == later.year
    expect(drawn(frame, "relu1")).to_be_visible()
    expect(frame.get_by_text("cookies")).not_to_be_visible()


def test_too_large_a_model_is_not_drawn_and_one_that_netron_cannot_read_is_said(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(explorer.address)
    watched.page.route("**/api/v1/models/*/onnx", lambda route: route.fulfill(body=b"no model", content_type="application/octet-stream"))
    watched.open(f"{explorer.address}?sample=mini_mnist")
    watched.page.get_by_role("tab", name="Netron").click()
    watched.idle()
    watched.page.get_by_role("combobox", name="Model in Netron").select_option(label="Original")
    watched.idle()
    expect(watched.page.get_by_role("alert")).to_contain_text("Netron cannot show mini_mnist.onnx")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_tab_of_its_own(explorer: Explorer, open_page: OpenPage, scheme: str) -> None:
    watched = open_page(f"{explorer.address}?sample=mini_mnist", scheme=scheme)
    inside(watched)
    with watched.page.context.expect_page() as opened:
        watched.page.get_by_role("link", name="Open in a tab of its own").click()
    expect(opened.value.locator('[id="node-name-relu1"]')).to_be_visible()
