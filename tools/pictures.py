"""`make pictures`: takes pictures of the page in both themes (``.make/pictures``), for whoever changes how it looks.

It starts an explorer with an empty data folder and opens samples with their recorded runs, and a deep model; another one, whose clock it
sets, shows a search of twenty seconds at the moments of `LIVE`. Those of `IN_DOCS`, which the README and the docs show, also go to
``docs/images``. It needs Chromium and the built page, and measures nothing.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "plugins")]

from bench_models import build  # noqa: E402
from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from tests.browser.explorer import Explorer, Watched, http, launch, running, show_overlay, show_tab, with_token  # noqa: E402
from tests.browser.held import held_explorer  # noqa: E402

FOLDER = ROOT / ".make" / "pictures"
DOCS = ROOT / "docs" / "images"
IN_DOCS = ("why-light", "what-if-light")
WINDOWS = {1024: 768, 1440: 900, 1920: 1080}
"""Width → height."""
USUAL = 1440
SCHEMES = ("light", "dark")
SAMPLE = "crnn"
PINNED = re.compile("^Pin exactly .* to onnxruntime$")

Act = Callable[[Watched], None]


@dataclass(frozen=True)
class Screen:
    """A picture to take: of a sample, of a deep model, or of the page with the samples.

    Attributes:
        name: Of the file, before the theme.
        act: Shows on the opened page what the picture is about.
        query: The address after its ``?``; empty for the page with the samples.
    """

    name: str
    act: Act
    query: str = f"sample={SAMPLE}"
    width: int = USUAL


def graph(watched: Watched) -> None:
    """Show the model with its partitions, whole where it is small."""


def why(watched: Watched) -> None:
    """Show the first node of the most expensive partition, and all its candidates, with the whole graph in columns."""
    watched.press("m")
    show_tab(watched.page, "Partitions")
    watched.page.get_by_role("row").nth(1).get_by_role("button").click()
    watched.idle()
    watched.page.locator(".members button").first.click()
    watched.idle()


def cost(watched: Watched) -> None:
    """Show the cost overlay, and the totals side by side."""
    show_overlay(watched.page, "Cost")
    show_tab(watched.page, "Totals")


def time(watched: Watched) -> None:
    """Show where the time of one partition for the whole model goes, and why its dearest node takes so long."""
    show_overlay(watched.page, "Cost")
    show_tab(watched.page, "Time")
    watched.idle()
    watched.page.get_by_role("button", name=re.compile("^LSTM · .* of the predicted total$")).click()


def what_if(watched: Watched) -> None:
    """Pin the first nodes to another target, and show what that costs before it is kept."""
    why(watched)
    watched.page.get_by_role("button", name=PINNED).last.click()
    show_tab(watched.page, "Pins")


def tab(name: str) -> Act:
    """Return an action that shows a tab of the drawer."""

    def act(watched: Watched) -> None:
        show_tab(watched.page, name)

    return act


def fit(watched: Watched) -> None:
    """Show the whole model."""
    watched.press("f")


DEEP = "transformer2148"
"""A transformer whose graph has 1,485 nodes, the layer norms folded into one node each."""
DEEP_QUERY = "model={deep}"
"""The page on which `DEEP` is open: the explorer says its id."""

SCREENS = (
    Screen("samples", graph, ""),
    *(Screen("graph" if width == USUAL else f"graph-{width}", graph, width=width) for width in WINDOWS),
    Screen("why", why),
    Screen("cost", cost),
    Screen("time", time, "sample=lstm"),
    Screen("what-if", what_if),
    *(Screen(name.lower(), tab(name)) for name in ("Costs", "Toolchains", "Compare", "Charts", "Netron")),
    Screen("folded", fit, "sample=resnet50&group=repeats"),
    Screen("deep-folded", fit, f"{DEEP_QUERY}&group=repeats"),
    Screen("deep-flat", fit, f"{DEEP_QUERY}&group=nothing"),
)


LIVE = {
    "live-1s": (1.0, "0 of 19 known"),
    "live-5s": (5.0, "7 of 19 known"),
    "live-15s": (15.0, "Timing whole plans in turns"),
    "verdict": (20.0, "1.18 times faster than ncnn alone"),
}
"""Picture of a search of twenty seconds → its second, and a text that the page shows then."""


@contextmanager
def opened(browser: Browser, address: str, scheme: str, width: int = USUAL) -> Iterator[Watched]:
    """A page of its own, which is checked when it is closed."""
    viewport = {"width": width, "height": WINDOWS[width]}
    context = browser.new_context(viewport=viewport, color_scheme="dark" if scheme == "dark" else "light")  # type: ignore[arg-type]
    watched = Watched(context.new_page())
    watched.open(address)
    yield watched
    context.close()
    watched.check()


def picture(watched: Watched, name: str, scheme: str) -> Path:
    """Take a picture of the page as it is; returns its file."""
    path = FOLDER / f"{name}-{scheme}.png"
    watched.page.screenshot(path=path)
    return path


def take(browser: Browser, address: str, screen: Screen, scheme: str) -> Path:
    """Take one picture; returns its file."""
    with opened(browser, address, scheme, screen.width) as watched:
        screen.act(watched)
        watched.idle()
        return picture(watched, screen.name, scheme)


def take_live(names: Collection[str], home: Path) -> Iterator[Path]:
    """Take the pictures of `names` of a search as it goes on; yields their files."""
    with held_explorer(home) as held, sync_playwright() as playwright:
        browser = launch(playwright)
        model = held.live.post("models", {"sample": SAMPLE})["id"]
        for scheme in SCHEMES:
            held.clock.set(0.0)
            with opened(browser, with_token(f"{held.live.address}?model={model}"), scheme) as watched:
                watched.page.get_by_role("button", name="Run", exact=True).click()
                for name, (second, text) in LIVE.items():
                    held.clock.set(second)
                    watched.page.get_by_text(text).first.wait_for()
                    if name in names:
                        yield picture(watched, name, scheme)
        browser.close()


def take_all(screens: Sequence[Screen], home: Path) -> Iterator[Path]:
    """Take the pictures of `screens` in both themes; yields their files."""
    with running(home) as explorer, sync_playwright() as playwright:
        browser = launch(playwright)
        for screen in screens:
            query = screen.query.format(deep=opened_deep(explorer, home)) if DEEP_QUERY in screen.query else screen.query
            for scheme in SCHEMES:
                yield take(browser, with_token(f"{explorer.address}{'?' if query else ''}{query}"), screen, scheme)
        browser.close()


def opened_deep(explorer: Explorer, home: Path) -> str:
    """Have the explorer open `DEEP`; returns its id."""
    path = home / f"{DEEP}.onnx"
    path.write_bytes(build(DEEP).SerializeToString())
    answer = http.post(f"{explorer.address}api/v1/models", json={"path": str(path)}, timeout=120)
    return str(answer.json()["id"])


def main() -> int:
    """Take all pictures, or those of the named screens."""
    parser = argparse.ArgumentParser(description="Pictures of the page.")
    known = [*(screen.name for screen in SCREENS), *LIVE]
    parser.add_argument("names", nargs="*", metavar="SCREEN", help=f"{', '.join(known)} (all)")
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no screen is called {unknown[0]!r}: there are {', '.join(known)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as other:
        still = [screen for screen in SCREENS if not names or screen.name in names]
        moments = [name for name in LIVE if not names or name in names]
        for path in chain(take_all(still, Path(home)) if still else (), take_live(moments, Path(other)) if moments else ()):
            print(path.relative_to(ROOT), flush=True)
            if path.stem in IN_DOCS:
                shutil.copy(path, DOCS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
