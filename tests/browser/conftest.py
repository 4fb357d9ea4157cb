"""One explorer and one browser for all browser tests; each test has a page of its own, which is checked when it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from .explorer import Explorer, Watched, launch, running, with_token

PATIENCE_MS = 90_000
"""How long a page may take for anything but a measurement: generous, since other work may share the machine."""

expect.set_options(timeout=PATIENCE_MS)  # The patience of a context is not that of what is expected.


@pytest.fixture(scope="session")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """Its runs measure briefly."""
    with running(tmp_path_factory.mktemp("explorer"), is_brief=True) as started:
        yield started


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = launch(playwright)
        yield opened
        opened.close()


OpenPage = Callable[..., Watched]


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[OpenPage]:
    """Opens pages: ``open_page(address, width=…, height=…, scheme=…)``."""
    pages: list[Watched] = []

    def make(address: str, width: int = 1440, height: int = 900, scheme: str = "light", **options: object) -> Watched:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        watched = Watched(context.new_page())
        pages.append(watched)
        watched.open(with_token(address) if address.startswith("http") else address)
        return watched

    yield make
    for watched in pages:
        watched.page.context.close()
        watched.check()
