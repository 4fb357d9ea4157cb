"""The page under a path prefix, as behind a proxy that many tools share: shell, script, worker, requests, socket and Netron find it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from collage_server.app import create_app
from collage_server.config import ServerConfig
from tests.helpers.live import TOKEN, serve

from .conftest import OpenPage
from .explorer import show_tab

PREFIX = "/tools/collage"


class Mounted:
    """WSGI: what lies under `PREFIX` goes to the app, which is told so; all else is not found."""

    def __init__(self, app: Any):
        self.app = app
        self.strays: list[str] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if not path.startswith(PREFIX + "/"):
            self.strays.append(path)
            start_response("404 NOT FOUND", [("Content-Type", "text/plain")])
            return [b"not here"]
        environ.update(SCRIPT_NAME=PREFIX, PATH_INFO=path.removeprefix(PREFIX))
        return self.app(environ, start_response)


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Mounted]]:
    """The address of an explorer under the prefix, and what stands in front of it."""
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))
    app, _ = create_app(ServerConfig(token=TOKEN))
    front = Mounted(app.wsgi_app)
    app.wsgi_app = front  # type: ignore[method-assign]
    for live in serve(app):
        yield live.address.rstrip("/") + PREFIX + "/", front
    app.extensions["collage"].close()


@pytest.mark.long
def test_everything_works_under_a_prefix(mounted: tuple[str, Mounted], open_page: OpenPage) -> None:
    address, front = mounted
    watched = open_page(f"{address}?sample=mini_mnist")
    expect(watched.node("relu1")).to_be_visible()
    show_tab(watched.page, "Netron")
    expect(watched.page.frame_locator("iframe.netron").locator('[id="node-name-relu1"]')).to_be_visible()
    show_tab(watched.page, "Charts")
    expect(watched.page.locator(".chart .main-svg").first).to_be_visible()
    show_tab(watched.page, "Toolchains")
    expect(watched.page.get_by_role("tree", name="Rule tree of onnxruntime")).to_be_visible()
    watched.page.get_by_role("radio", name="Describe one").click()
    watched.page.get_by_role("button", name="Try", exact=True).click()
    brings = watched.page.get_by_role("region", name="Gain with hook")
    expect(brings).to_contain_text("estimate")
    brings.get_by_role("button", name="Discard").click()
    watched.page.get_by_role("button", name="Run", exact=True).click()
    expect(watched.page.locator(".search-words")).to_contain_text("measuring candidates", timeout=120_000)
    watched.page.get_by_role("button", name="Cancel").click()
    expect(watched.page.locator(".search-words")).to_have_text("cancelled")
    assert front.strays == []
