"""Times how long the page takes to open a model's file, for `make bench-size`: from the click on Open until its nodes are drawn.

A model file and a running explorer enter; seconds of a real browser leave. Nothing is judged here.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser.explorer import Watched  # noqa: E402

LONGEST_MS = 120_000
OPENED = "() => performance.getEntriesByName('nodes drawn').length > 0 || document.querySelector('[role=alert]') !== null"
CLICKED = """(button) => { performance.clearMarks(); performance.mark('clicked'); button.click(); }"""
SECONDS = """() => {
  const [clicked, drawn] = ['clicked', 'nodes drawn'].map((name) => performance.getEntriesByName(name)[0]);
  return drawn === undefined ? null : (drawn.startTime - clicked.startTime) / 1000;
}"""


class NotOpened(Exception):
    """Raised where the page refuses the model; the text is what it says."""


def seconds_to_open(browser: Browser, address: str, model: Path) -> float:
    """Open `model` by its path in a new page at `address`, and return the seconds from the click until the page has drawn its nodes.

    Raises:
        NotOpened: the page shows an error in place of a graph.
    """
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        context.set_default_timeout(LONGEST_MS)
        watched = Watched(context.new_page())
        watched.open(address)
        page = watched.page
        page.get_by_label("or a file on this machine").fill(str(model))
        page.get_by_role("button", name="Open", exact=True).evaluate(CLICKED)
        page.wait_for_function(OPENED)
        seconds = page.evaluate(SECONDS)
        if seconds is None:
            raise NotOpened(page.get_by_role("alert").first.inner_text())
        return float(seconds)
