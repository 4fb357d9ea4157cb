"""The token in a browser: a page says how to get in, the address loses the token, and the page works with the cookie alone."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.helpers.live import TOKEN

from .conftest import PATIENCE_MS, OpenPage
from .explorer import Explorer, Watched


def test_a_browser_without_the_token_is_told_how_to_get_in(explorer: Explorer, browser: Browser) -> None:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(f"{explorer.address}?sample=mini_mnist")
    expect(page.get_by_role("heading", name="This explorer asks for its token")).to_be_visible()
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("alert")).to_contain_text("The token is not that of this explorer")
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    watched = Watched(page)
    expect(watched.node("relu1")).to_be_visible()
    assert TOKEN not in page.url
    assert page.evaluate("() => document.cookie") == ""
    context.close()
    watched.check()


def test_a_link_works_for_who_has_the_cookie(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(explorer.address)
    assert watched.page.url == explorer.address
    watched.open(f"{explorer.address}?sample=mini_mnist")
    expect(watched.node("relu1")).to_be_visible()


ASK = """async (address) => {
    const status = (url, options) => fetch(url, options).then((answer) => answer.status, () => "refused");
    const upload = new FormData();
    upload.append("file", new Blob(["open('ran', 'w')"]), "x.py");
    return [
        await status(address + "api/v1/models", { credentials: "include" }),
        await status(address + "api/v1/models", { method: "POST", body: upload, credentials: "include", mode: "no-cors" }),
        await new Promise((ended) => {
            const socket = new WebSocket(address.replace("http", "ws") + "socket.io/?EIO=4&transport=websocket");
            socket.onopen = () => ended("open");
            socket.onerror = () => ended("refused");
        }),
    ];
}"""
"""Reads, uploads a program, and opens a socket."""


def test_a_tab_of_another_site_reads_and_runs_nothing(explorer: Explorer, open_page: OpenPage) -> None:
    """Another port of this machine is the same site: the browser sends the cookie there and from there."""
    watched = open_page(explorer.address)
    page = watched.page
    own, _, socket = page.evaluate(ASK, explorer.address)
    assert (own, socket) == (200, "open")
    page.route("http://127.0.0.1:8999/*", lambda route: route.fulfill(body="<title>other</title>", content_type="text/html"))
    page.goto("http://127.0.0.1:8999/")
    assert page.evaluate(ASK, explorer.address) == ["refused"] * 3


def test_a_program_is_opened_after_a_question(explorer: Explorer, open_page: OpenPage, tmp_path: Path) -> None:
    """The dialog names the file and what may happen; until it is answered nothing of the file has run."""
    program, ran = tmp_path / "net.py", tmp_path / "ran"
    program.write_text(f"open({str(ran)!r}, 'w')\n")
    page = open_page(explorer.address).page
    expect(page.locator(".file-picker")).to_contain_text(".py and .pt2, which are programs and run when they are opened")
    dialog = page.get_by_role("dialog", name="Open a program?")
    page.locator("input[type=file]").set_input_files([program])
    expect(dialog).to_contain_text("'net.py' is a program: opening it runs what is in it, which can do whatever you can on this machine")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    expect(page.locator(".file-picker")).to_be_visible()
    page.get_by_label("or a file on this machine").fill(str(program))
    page.get_by_role("button", name="Open", exact=True).click()
    expect(dialog).to_contain_text("'net.py' is a program")
    assert not ran.exists()
    dialog.get_by_role("button", name="Open it").click()
    expect(page.get_by_role("alert")).to_contain_text("must define one module, and defines none")
    assert ran.exists()
