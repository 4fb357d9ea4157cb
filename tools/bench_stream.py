"""A run that streams a hundred thousand search states and does nothing else, for `make bench-page`.

`flooding` takes a folder for files and gives a server whose engine is the tests' fake one, which makes such a run of whatever
the page asks for; `run` starts one from the page and waits until the page shows its end.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from playwright.sync_api import Page, Route

from collage_core.model.samples.registry import resolve
from collage_server.app import create_app
from collage_server.config import ServerConfig

ROOT = Path(__file__).resolve().parent.parent
for folder in (ROOT, ROOT / "tests" / "plugins"):
    sys.path.insert(0, str(folder))

from fake_engine import FakeEngine  # noqa: E402

from tests.helpers.live import TOKEN, serve  # noqa: E402

FLOOD = "flood"
RUN_LIMIT_MS = 300_000


@contextmanager
def flooding(folder: Path) -> Iterator[str]:
    """The address at which the page shows a small model without a run."""
    with patch.dict(os.environ, {"COLLAGE_HOME": str(folder)}):
        app, _ = create_app(ServerConfig(engine=FakeEngine(), token=TOKEN))
        try:
            for live in serve(app):
                model = live.post("models", {"path": str(resolve("mnist"))})
                yield f"{live.address}?model={model['id']}&token={TOKEN}"
        finally:
            app.extensions["collage"].close()


def prepare(page: Page) -> None:
    """Let every run that the page asks for be a flood."""

    def ask(route: Route) -> None:
        body = route.request.post_data_json if route.request.method == "POST" else None
        route.continue_(post_data=json.dumps({**body, "targets": [FLOOD]})) if body else route.continue_()

    page.route("**/api/v1/runs", ask)


def run(page: Page) -> None:
    """Start a run with the page's own button, and wait for its end."""
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Cancel").wait_for()
    page.get_by_role("button", name="Run", exact=True).wait_for(timeout=RUN_LIMIT_MS)
