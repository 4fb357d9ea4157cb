"""The largest model with every node drawn, and a plan of a thousand partitions over it, for `make bench-page`.

`planned` takes the model's file and gives a server that shows it; `figures_of` gives figures of everything that a person does to the whole
of it (`acts`): open it, find, fit, pan and zoom, each overlay, fold and unfold all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

from bench_browser import DONE, NEXT_FRAME, OURS, Figures, Site, acted, clicking, move, opened, settle, traced
from bench_engine import RuleOfThumbEngine
from playwright.sync_api import Browser, Page

from collage_server.app import create_app
from collage_server.config import ServerConfig

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser.explorer import show_overlay  # noqa: E402
from tests.helpers.live import TOKEN, serve  # noqa: E402

TARGETS = ("onnxruntime", "openvino")
OVERLAYS = ("Cost", "Certainty", "Coverage", "Difference", "Search", "Target")
GROUPINGS = ("repeats", "scopes", "partitions")


@contextmanager
def planned(folder: Path, model: Path) -> Iterator[Site]:
    """The page with all nodes of `model` and a plan, on a server of its own."""
    with patch.dict(os.environ, {"COLLAGE_HOME": str(folder)}):
        app, _ = create_app(ServerConfig(engine=RuleOfThumbEngine(), token=TOKEN))
        try:
            for live in serve(app):
                opened_model = live.post("models", {"path": str(model)})
                run = live.start(opened_model["id"], *TARGETS, max_depth={"": 1})
                live.ended(run["id"])
                yield Site(f"{live.address}?model={opened_model['id']}&run={run['id']}&group=nothing&token={TOKEN}", OURS, True)
        finally:
            app.extensions["collage"].close()


Act = Callable[[], object]


def figures_of(browser: Browser, site: Site) -> dict[str, Figures]:
    """Measure each act in a fresh page."""
    found: dict[str, Figures] = {}
    with opened(browser, site) as page:
        found["open"] = opening(browser, page, site)

        def measured(name: str, act: Act) -> None:
            found[name] = acted(browser, page, act)
            settle(page, site)

        acts(page, measured)
        moved = move(browser, page, site)
        found |= {name: {"frame": moved[name]} for name in ("pan", "zoom")}
    return found


def opening(browser: Browser, page: Page, site: Site) -> Figures:
    """From navigation until the page does nothing more."""

    def whole() -> None:
        page.goto(site.address)
        page.evaluate(f"() => window.__collage.idle().then(() => {NEXT_FRAME}).then(() => {{ performance.mark('{DONE}'); }})")

    trace = traced(browser, page, whole)
    return {"cpu": trace.cpu_ms(until=DONE), "frame": trace.longest_frame_ms(until=DONE)}


def acts(page: Page, measured: Callable[[str, Act], None]) -> None:
    """Everything once, in an order that leaves the page as it was: all nodes drawn."""
    press, find = page.keyboard.press, page.get_by_role("combobox", name="Find nodes")
    group_by = page.get_by_label("Group by").select_option
    for name in OVERLAYS:
        measured(f"overlay {name.lower()}", partial(show_overlay, page, name))
    measured("fit", partial(press, "f"))
    measured("fit its width", partial(press, "f"))
    find.focus()
    for key in "MatMul":
        measured(f"find, key {key}", partial(press, key))
    measured("find all of an operator", partial(press, "Enter"))
    find.focus()
    measured("leave find", partial(press, "Escape"))
    for by in GROUPINGS:
        measured(f"group by {by}", partial(group_by, by))
        measured(f"unfold all {by}", clicking(page.get_by_role("button", name="Unfold all")))
        measured(f"fold all {by}", clicking(page.get_by_role("button", name="Fold all")))
    measured("group by nothing", partial(group_by, "nothing"))
