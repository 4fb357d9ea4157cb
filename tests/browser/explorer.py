"""The tools of the browser tests and the pictures: a running explorer, and Debian's Chromium with a page that is watched."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import requests
from playwright.sync_api import Browser, FrameLocator, Locator, Page, Playwright, Request, expect

from tests.helpers.live import TOKEN, bearer
from tests.helpers.paths import PLUGINS

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
http = requests.Session()
"""Asks the explorers of the tests as a program that has their token."""
http.headers.update(bearer(TOKEN))

LOCAL = {"127.0.0.1", "localhost"}
START_S = 60.0


@dataclass
class Explorer:
    """A running `collage explore`. `address` ends with a slash, and lacks the token."""

    address: str
    process: subprocess.Popen[str]

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def with_token(address: str) -> str:
    """The address as an explorer prints it, which a browser needs once."""
    parts = urlsplit(address)
    return parts._replace(query="&".join(filter(None, (parts.query, urlencode({"token": TOKEN}))))).geturl()


@contextmanager
def running(home: Path, *arguments: str, is_brief: bool = False, **more: str) -> Iterator[Explorer]:
    """`collage explore` with these arguments on a free port, which keeps its things in `home`; `more` goes into its environment.

    Args:
        is_brief: Its runs measure briefly (`brief_runs`).
    """
    program = [sys.executable, str(PLUGINS / "brief_explorer.py")] if is_brief else [str(Path(sys.executable).with_name("collage"))]
    command = [*program, "explore", *arguments, "--no-browser"]
    path = os.pathsep.join(filter(None, (str(PLUGINS), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "COLLAGE_HOME": str(home), "COLLAGE_TOKEN": TOKEN, **({"PYTHONPATH": path} if is_brief else {}), **more}
    with (home / "explore.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        found = re.search(r"(http://\S+/)\?token=", line)
        if found:
            explorer = Explorer(found[1], process)
            try:
                yield explorer
            finally:
                explorer.stop()
            return
    raise AssertionError(f"collage explore said {''.join(lines)!r} and ended: {(home / 'explore.log').read_text()}")


def launch(playwright: Playwright) -> Browser:
    """Debian's Chromium, which asks nobody for anything."""
    return playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)


ROOMS = {
    "What runs where": ("Partitions", "Time", "Costs", "Toolchains"),
    "What if": ("Pins", "Totals", "Compare"),
    "How it went": ("Search", "Charts", "Runs", "Log"),
}
"""The views of the drawer, by their rooms."""


def show_tab(page: Page | FrameLocator, name: str) -> None:
    """Show a tab of the panel, a room of the drawer or a view in one; Netron by the model's menu."""
    if name == "Netron":
        page.locator(".top .model").click()
        page.get_by_role("button", name="Show in Netron").click()
        return
    for room in (page.get_by_role("tab", name=room) for room, views in ROOMS.items() if name in views):
        if room.get_attribute("aria-selected") != "true":
            room.click()
    page.get_by_role("tab", name=re.compile(rf"^{name}( [\d,]+)?$")).click()


def show_overlay(page: Page, name: str) -> None:
    """Colour the graph by an overlay, as the page names it."""
    if name in ("Target", "Cost"):
        page.get_by_role("radio", name=name, exact=True).click()
    else:
        page.get_by_label("More colours").select_option(name.lower())


def expect_overlay(page: Page, name: str) -> None:
    """The graph is coloured by this overlay, and the page says so."""
    expect(page.get_by_label("More colours")).to_have_value("" if name in ("Target", "Cost") else name.lower())
    for first in ("Target", "Cost"):
        expect(page.get_by_role("radio", name=first, exact=True)).to_be_checked(checked=first == name)


def download(page: Page, form: str = "") -> Path:
    """Export the plan in `form`, or in the one that is chosen, and return the zip."""
    page.get_by_role("button", name="Export", exact=True).click()
    dialog = page.get_by_role("dialog", name="Export the plan of")
    if form:
        dialog.get_by_role("radio", name=form).check()
    with page.expect_download(timeout=300_000) as download:
        dialog.get_by_role("button", name=re.compile("^(Build and download|Download)$")).click()
    dialog.get_by_role("button", name="Close").click()
    return Path(download.value.path())


@dataclass
class Watched:
    """A page, with everything that it must not do."""

    page: Page
    foreign: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", self._request)
        self.page.on("websocket", lambda socket: self._address(socket.url))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def _request(self, request: Request) -> None:
        self._address(request.url)

    def _address(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.hostname not in LOCAL:
            self.foreign.append(url)

    def check(self) -> None:
        """No request left the machine, and no script failed."""
        assert self.foreign == []
        assert self.faults == []

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.idle()

    def idle(self) -> None:
        """Wait for the page's own signal: no request, layout, frame or animation is pending."""
        self.page.evaluate("() => window.__collage.idle()")

    def node(self, name: str) -> Locator:
        """The element of a node of the graph, by the model's name for it."""
        return self.page.locator(f'.stage [data-name="{name}"]')

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, each when the page is idle."""
        for key in keys:
            self.page.keyboard.press(key)
            self.idle()
