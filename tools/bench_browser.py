"""Drive Chromium for `make bench-page`: open models in our page and in Netron's, move about, select, decide, stream.

Take a browser and the files of models, and give `Figures` of each, in milliseconds: CPU time of the page's main thread out of
traces, and wall time of the first paint. Nothing is judged here.
"""

from __future__ import annotations

import gzip
import http.server
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import netron
from bench_trace import CATEGORIES, OWN, Trace, read_trace
from playwright.sync_api import Browser, CDPSession, Error, Locator, Page, Response

from collage_server.routes.netron import shell

PAINT_LIMIT_MS = 120_000
WIDTH, HEIGHT = 1280, 800
STEPS = 24
PAINTED = f"{OWN}painted"
BEGUN, DONE = f"{OWN}begun", f"{OWN}done"

WATCH = """(() => {
  const seen = () => %s;
  const told = () => {
    const { startTime } = performance.mark('%s');
    document.documentElement.dataset.painted = startTime;
  };
  const look = () => requestAnimationFrame(() => seen() ? requestAnimationFrame(told) : look());
  look();
})()"""
"""Marks the first frame after nodes are on the page, on the timeline and in the page: Netron lets nobody evaluate anything in it."""

OURS = "performance.getEntriesByName('nodes drawn').length > 0"
NETRON = "document.body?.classList.contains('default') && document.querySelector('#origin .graph-node') !== null"

NEXT_FRAME = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
SETTLE_MS = 1000
"""Netron has no signal of its own when it is done."""

Figures = dict[str, float]


class NoPicture(Exception):
    """The page crashed, or drew nothing within the limit."""


@dataclass(frozen=True)
class Site:
    """A page that shows a model.

    Attributes:
        seen: Whether nodes are on the page, as JavaScript.
        is_ours: It has an idle signal.
        start_s: Seconds from the command that serves the model, which it has not read before, until it answers.
    """

    address: str
    seen: str
    is_ours: bool
    start_s: float = 0.0


@contextmanager
def netron_site(model: Path) -> Iterator[Site]:
    """Netron with `model`, served as files, as its own server does it; how long that takes to start is measured beside it."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path not in ("/", "/model.onnx"):
                super().do_GET()
                return
            self._send("text/html", shell().encode()) if path == "/" else self._send("application/octet-stream", model.read_bytes())

        def _send(self, kind: str, data: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    folder = str(Path(netron.__file__).parent)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/?url=model.onnx&identifier=model.onnx"
        yield Site(address, NETRON, False, netron_start_s(model))
    finally:
        server.shutdown()
        server.server_close()


def netron_start_s(model: Path) -> float:
    """Seconds that Netron's own command takes until it serves `model`."""
    command = [str(Path(sys.executable).with_name("netron")), "--host", "127.0.0.1", str(model)]
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        took = time.perf_counter() - began
        process.kill()
    if "Serving" not in line:
        raise AssertionError(f"netron printed {line!r} instead of its address")
    return took


@contextmanager
def opened(browser: Browser, site: Site) -> Iterator[Page]:
    """An empty page of a fresh context: nothing is cached."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    context.set_default_timeout(PAINT_LIMIT_MS)
    context.add_cookies([{"name": "consent", "value": "1", "url": site.address}])
    try:
        page = context.new_page()
        page.add_init_script(WATCH % (site.seen, PAINTED))
        yield page
    finally:
        context.close()


def traced(browser: Browser, page: Page, act: Callable[[], object]) -> Trace:
    """The main thread while `act` goes on."""
    browser.start_tracing(page=page, categories=list(CATEGORIES))
    try:
        act()
    finally:
        data = browser.stop_tracing()
    return read_trace(data)


def paint(browser: Browser, page: Page, site: Site) -> Figures:
    """From navigation to the first frame that shows nodes.

    Raises:
        NoPicture: there was none.
    """
    crashed: list[Page] = []
    page.on("crash", lambda gone: crashed.append(gone))

    def act() -> None:
        page.goto(site.address, wait_until="commit")
        page.locator("html[data-painted], body.alert").first.wait_for(state="attached")

    try:
        trace = traced(browser, page, act)
        wall = page.locator("html").get_attribute("data-painted")
    except (Error, ValueError) as error:
        why = "crashed" if crashed else f"drew nothing within {PAINT_LIMIT_MS // 1000} s" if "Timeout" in str(error) else str(error)
        raise NoPicture(why) from error
    if wall is None:
        raise NoPicture("gave up with a message")
    started = site.start_s * 1000 + float(wall)
    return {"wall": float(wall), "start": started, "cpu": trace.cpu_ms(until=PAINTED), "frame": trace.longest_frame_ms(until=PAINTED)}


def move(browser: Browser, page: Page, site: Site) -> Figures:
    """Pan, and zoom out and in again, by the wheel in the middle of the graph: the dearest frame of each."""
    session = page.context.new_cdp_session(page)
    settle(page, site)
    box = page.locator(".stage" if site.is_ours else "#target").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    pan = traced(browser, page, lambda: _wheel(page, session, [90] * STEPS))
    page.keyboard.down("Control")
    zoom = traced(browser, page, lambda: _wheel(page, session, [60] * STEPS + [-60] * STEPS))
    page.keyboard.up("Control")
    return {
        "pan": pan.longest_frame_ms(),
        "pan frames": pan.count_frames(),
        "zoom": zoom.longest_frame_ms(),
        "zoom frames": zoom.count_frames(),
    }


def _wheel(page: Page, session: CDPSession, steps: list[int]) -> None:
    """One turn of the wheel a frame."""
    session.send("Runtime.evaluate", {"expression": f"performance.mark('{OWN}moving')"})
    for by in steps:
        page.mouse.wheel(0, by)
        session.send("Runtime.evaluate", {"expression": NEXT_FRAME, "awaitPromise": True})


def settle(page: Page, site: Site) -> None:
    """Wait until the page does nothing more."""
    if site.is_ours:
        page.evaluate("() => window.__collage.idle()")
    else:
        page.wait_for_timeout(SETTLE_MS)


def acted(browser: Browser, page: Page, act: Callable[[], object]) -> Figures:
    """Do something, and wait until all that follows from it is on the page: CPU of the main thread, and wall time."""

    def whole() -> None:
        page.evaluate(f"performance.mark('{BEGUN}')")
        act()
        page.evaluate(f"() => window.__collage.idle().then(() => {NEXT_FRAME}).then(() => {{ performance.mark('{DONE}'); }})")

    page.evaluate("performance.clearMarks()")
    trace = traced(browser, page, whole)
    wall = (trace.marks[DONE] - trace.marks[BEGUN]) / 1000
    return {"cpu": trace.cpu_ms(BEGUN, DONE), "frame": trace.longest_frame_ms(BEGUN, DONE), "wall": wall}


def clicking(what: Locator) -> Callable[[], None]:
    """A click in the middle of an element that is found beforehand: what Playwright's own scripts take to find it is not the page's."""
    box = what.bounding_box()
    assert box is not None
    return partial(what.page.mouse.click, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def heap_bytes(session: CDPSession) -> int:
    """Return the bytes of the page's heap after garbage collection."""
    for _ in range(2):
        session.send("HeapProfiler.collectGarbage")
    return int(session.send("Runtime.getHeapUsage")["usedSize"])


def first_bytes(browser: Browser, site: Site) -> dict[str, int]:
    """Script and style that the page loads before its first paint of nodes: address → bytes, gzipped."""
    found: dict[str, int] = {}
    with opened(browser, site) as page:
        responses: list[Response] = []
        page.on("response", lambda response: responses.append(response))
        page.goto(site.address)
        page.locator("html[data-painted]").wait_for(state="attached")
        for response in list(responses):
            if response.request.resource_type in ("script", "stylesheet") or response.url.endswith((".js", ".css")):
                found[response.url.rpartition("/")[2]] = len(gzip.compress(response.body(), 6))
    return found
