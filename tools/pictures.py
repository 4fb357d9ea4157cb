"""`make pictures`: takes the pictures of the page for the README and the docs, in both themes (``docs/images/*.png``).

It starts an explorer with an empty data folder, opens a sample with its recorded run, and takes the screens in `SCREENS`. It needs
Chromium and the built page, and measures nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from tests.browser.explorer import Watched, launch, running, show_tab  # noqa: E402

FOLDER = ROOT / "docs" / "images"
WIDTH, HEIGHT = 1440, 900
PINNED = re.compile("^Pin exactly .* to onnxruntime$")


def graph(watched: Watched) -> None:
    """Show the model with its partitions, whole where it is small."""


def why(watched: Watched) -> None:
    """Show the first node of the most expensive partition, and all its candidates."""
    show_tab(watched.page, "Partitions")
    watched.page.get_by_role("row").nth(1).get_by_role("button").click()
    watched.idle()
    watched.page.locator(".members button").first.click()
    watched.idle()


def cost(watched: Watched) -> None:
    """Show the cost overlay, and the totals side by side."""
    watched.page.get_by_role("radio", name="Cost").click()
    show_tab(watched.page, "Totals")


def what_if(watched: Watched) -> None:
    """Pin the first nodes to another target, and show what that costs before it is kept."""
    why(watched)
    watched.page.get_by_role("button", name=PINNED).last.click()
    watched.page.get_by_role("tab", name="Pins").click()


def tab(name: str) -> Callable[[Watched], None]:
    """Return an action that shows a tab of the drawer."""

    def act(watched: Watched) -> None:
        show_tab(watched.page, name)

    return act


SCREENS: dict[str, Callable[[Watched], None]] = {
    "graph": graph,
    "why": why,
    "cost": cost,
    "what-if": what_if,
    "costs": tab("Costs"),
    "rules": tab("Toolchains"),
    "compare": tab("Compare"),
    "charts": tab("Charts"),
    "netron": tab("Netron"),
}
FOLDED = "resnet50"
"""A sample of repeated blocks, for the screen in which they are folded."""


def folded(watched: Watched) -> None:
    """Show each repeated block as one box."""
    watched.page.get_by_label("Group by").select_option("repeats")
    watched.idle()
    watched.press("f")


def picture(browser: Browser, address: str, name: str, scheme: str, act: Callable[[Watched], None] | None) -> None:
    """Take one picture."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="dark" if scheme == "dark" else "light")
    watched = Watched(context.new_page())
    watched.open(address)
    if act is not None:
        act(watched)
    watched.idle()
    path = FOLDER / f"{name}-{scheme}.png"
    watched.page.screenshot(path=path)
    context.close()
    watched.check()
    print(path.relative_to(ROOT))


def main() -> int:
    """Take all pictures of the sample in the arguments."""
    parser = argparse.ArgumentParser(description="The pictures of the page in the README and the docs.")
    parser.add_argument("sample", nargs="?", default="crnn", help="a sample that has a recorded run")
    sample = parser.parse_args().sample
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as explorer, sync_playwright() as playwright:
        browser = launch(playwright)
        for scheme in ("light", "dark"):
            picture(browser, explorer.address, "samples", scheme, None)
            for name, act in SCREENS.items():
                picture(browser, f"{explorer.address}?sample={sample}", name, scheme, act)
            picture(browser, f"{explorer.address}?sample={FOLDED}", "folded", scheme, folded)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
