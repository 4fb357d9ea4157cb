"""The bodies of a node on the page: who runs it, how often they ran, their graphs, and bodies within bodies."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.helpers.control_models import nested
from tests.helpers.models import write

from .conftest import OpenPage
from .explorer import Explorer, http, show_tab

PATIENCE_S = 300.0


@pytest.fixture
def address(explorer: Explorer, tmp_path: Path) -> str:
    """The page of a run in which the host runs a loop with an `If` in it."""
    api = f"{explorer.address}api/v1"
    model = http.post(f"{api}/models", json={"path": str(write(tmp_path, nested(), "nested.onnx"))}, timeout=60).json()["id"]
    pin = {"kind": "pin", "node": "loop", "target": "host"}
    wanted = {"model": model, "targets": ["onnxruntime"], "constraints": [pin]}
    run = http.post(f"{api}/runs", json=wanted, timeout=60).json()["id"]
    end = time.monotonic() + PATIENCE_S
    while (state := http.get(f"{api}/runs/{run}", timeout=60).json())["state"] not in ("done", "failed") and time.monotonic() < end:
        time.sleep(0.1)
    assert state["state"] == "done", state["error"]
    return f"{explorer.address}?model={model}&run={run}&node=0"


@pytest.mark.long
def test_a_loop_unfolds_into_its_body_and_the_branches_in_it(address: str, open_page: OpenPage) -> None:
    watched = open_page(address)
    bodies = watched.page.get_by_label("Bodies of loop")
    expect(bodies.get_by_text("The host runs it, body by body.")).to_be_visible()
    expect(bodies.get_by_text("ran 3 times")).to_be_visible()
    picture = bodies.get_by_label("The graph of body", exact=True)
    expect(picture.locator("rect")).to_have_count(6)
    expect(picture.locator("rect.has-bodies")).to_have_count(1)
    inner = watched.page.get_by_label("Bodies of if")
    expect(inner).to_be_hidden()
    bodies.get_by_text("If", exact=True).last.click()
    expect(inner.get_by_text("then_branch")).to_be_visible()
    inner.get_by_text("else_branch").click()
    expect(inner.get_by_label("The graph of else_branch").locator("rect")).to_have_count(1)


@pytest.mark.long
def test_a_partition_of_a_body_is_pinned_to_its_target(address: str, open_page: OpenPage) -> None:
    watched = open_page(address)
    bodies = watched.page.get_by_label("Bodies of loop")
    bodies.get_by_role("button", name=re.compile(r"^Pin .*half.* to onnxruntime$")).first.click()
    show_tab(watched.page, "Pins")
    listed = watched.page.locator(".pins li").filter(has_text="to onnxruntime")
    expect(listed).to_have_count(1)
    expect(listed).to_contain_text("no effect")
