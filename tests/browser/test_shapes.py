"""The plans of several shapes on the page: a card for each shape, with its total and who runs what, and what both answers take."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.helpers.dynamic_encoder import dynamic_encoder

from .conftest import OpenPage
from .explorer import http, running, show_tab

PATIENCE_S = 300.0
LENGTHS = (4, 32)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The page of a run that planned for two lengths; the model is shown at the longer one."""
    home, shape = tmp_path / "home", f"ids=1,{{{LENGTHS[0]},{LENGTHS[1]}}}"
    home.mkdir()
    with running(home, str(dynamic_encoder(tmp_path)), "--shape", shape, is_brief=True) as explorer:
        api = f"{explorer.address}api/v1"
        model = http.get(f"{api}/models", timeout=60).json()["models"][0]["id"]
        run = http.post(f"{api}/runs", json={"model": model, "targets": ["onnxruntime"]}, timeout=60).json()["id"]
        end = time.monotonic() + PATIENCE_S
        while (state := http.get(f"{api}/runs/{run}", timeout=60).json())["state"] not in ("done", "failed") and time.monotonic() < end:
            time.sleep(0.1)
        assert state["state"] == "done", state["error"]
        yield f"{explorer.address}?model={model}&run={run}"


@pytest.mark.long
def test_each_shape_has_a_card_with_its_total_and_who_runs_what(address: str, open_page: OpenPage) -> None:
    watched = open_page(address)
    show_tab(watched.page, "Totals")
    shapes = watched.page.get_by_role("region", name="Shapes")
    expect(shapes.get_by_role("heading", name="2 shapes")).to_be_visible()
    cards = shapes.get_by_role("listitem")
    expect(cards).to_have_count(2)
    for card, length in zip(cards.all(), LENGTHS, strict=True):
        expect(card).to_contain_text(f"seq={length}")
        expect(card).to_contain_text(re.compile(r"50\.0\s%\sof calls"))
        expect(card).to_contain_text(re.compile(r"\d\s(µs|ms)\s*(predicted|measured)"))
        expect(card.get_by_role("img", name=f"seq={length} runs on onnxruntime")).to_be_visible()
    expect(cards.filter(has_text="on the graph")).to_have_count(1)
    expect(cards.last).to_have_attribute("aria-current", "true")
    expect(shapes).to_contain_text("one plan")
