"""`make docs`: the site is built without a warning, asks nothing of another host, and has an entry for all that users call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import click
import docs_formats
import docs_python
import docs_site
import docs_sources
import pytest
from playwright.sync_api import sync_playwright

from collage_core.cli.main import collage
from tests.browser.explorer import launch
from tests.helpers.paths import DOCS

ASKED_FOR = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data", "use": "href"}
"""Elements that a browser asks for when it shows a page → the attribute that says where."""
OUTSIDE = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
STYLE_URL = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]+)", re.IGNORECASE)


class Asked(HTMLParser):
    """Collects what a page asks other hosts for, and the ids of its elements."""

    def __init__(self, text: str):
        super().__init__()
        self.outside: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)
        self.outside += STYLE_URL.findall(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        where = given.get(ASKED_FOR.get(tag, ""))
        if where and OUTSIDE.match(where):
            self.outside.append(where)
        if given.get("id"):
            self.ids.add(str(given["id"]))


@pytest.mark.parametrize(
    ("text", "outside"),
    [
        ('<script src="https://cdn.example/x.js"></script>', ["https://cdn.example/x.js"]),
        ('<link rel="stylesheet" href="//fonts.example/css">', ["//fonts.example/css"]),
        ("<style>@import 'https://fonts.example/a.css'; b { background: url(http://c.example/d.png) }</style>",
         ["https://fonts.example/a.css", "http://c.example/d.png"]),
        ('<a href="https://example.org">read on</a> <img src="_images/a.png">', []),
    ],
)  # fmt: skip
def test_what_a_page_asks_of_other_hosts_is_found(text: str, outside: list[str]) -> None:
    assert Asked(text).outside == outside


def every_command(group: click.Group, path: str = "collage") -> Iterator[str]:
    for name, command in group.commands.items():
        yield f"{path}-{name}"
        if isinstance(command, click.Group):
            yield from every_command(command, f"{path}-{name}")


def test_a_hand_written_page_is_in_one_section() -> None:
    listed = [name for _, names in docs_sources.SECTIONS.values() for name in names]
    assert len(listed) == len(set(listed))
    written = {docs_sources.NAMES.get(f"docs/{path.name}", path.stem) for path in DOCS.glob("*.md")}
    assert written <= set(listed)


def test_links_are_made_to_fit_the_site() -> None:
    pages = {"docs/rules.md": "rules.md", "docs/images/a.png": "images/a.png", "server/gone": None}
    text = "[a](docs/rules.md#x) ![b](docs/images/a.png) [c](#d) [e](https://f.example) `[g](docs/rules.md)` [h](server/gone)\n"
    made = "[a](rules.md#x) ![b](images/a.png) [c](#d) [e](https://f.example) `[g](docs/rules.md)` [h](server/gone)\n"
    fenced = "```\n[a](docs/rules.md)\n```\n"
    assert docs_sources.relinked(text + fenced, "README.md", "index", pages.get) == made + fenced
    assert docs_sources.relinked("[a](../docs/rules.md)", "examples/README.md", "below/examples", pages.get) == "[a](../rules.md)"


@pytest.mark.long
def test_the_site_is_built_without_a_warning_and_asks_nothing_of_other_hosts(tmp_path: Path) -> None:
    if not docs_site.is_installed():
        pytest.skip("the generator of the documentation site is not installed: `make docs` installs it")
    site = tmp_path / "site"
    done = docs_site.build(site)
    assert (done.returncode, done.stderr) == (0, "")
    pages = {path.relative_to(site).as_posix(): Asked(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert {f"{name}.html" for name in ("index", "tutorial", "searching", "search", *docs_sources.SECTIONS)} <= pages.keys()
    assert {name: page.outside for name, page in pages.items() if page.outside} == {}
    assert [path.name for path in site.rglob("*.css") if STYLE_URL.search(path.read_text(encoding="utf-8"))] == []
    assert set(every_command(collage)) <= pages["command-line.html"].ids
    assert [name for names in docs_python.entries().values() for name in names if not has_entry(pages["python.html"], name)] == []
    shown = (*docs_formats.PLAN, *docs_formats.RUN, *docs_formats.ARTIFACT)
    assert {docs_formats.anchor(cls) for cls in shown} <= pages["file-formats.html"].ids
    with ThreadPoolExecutor(1) as threads:
        threads.submit(assert_a_browser_finds_pages_without_a_network, site).result()


def assert_a_browser_finds_pages_without_a_network(site: Path) -> None:
    """Open the search from disk, as a reader does, and look for a word of docs/search.md.

    It runs in a thread of its own: where other tests of this process hold a browser, this thread has an event loop already.
    """
    asked: list[str] = []
    with sync_playwright() as playwright, launch(playwright) as browser:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{(site / 'search.html').as_uri()}?q=decomposition")
        page.wait_for_selector("#search-results a[href*='searching']")
    assert len(asked) > 5
    assert [url for url in asked if not url.startswith("file:")] == []


def has_entry(page: Asked, name: str) -> bool:
    """Return whether a public name of Python has an entry, whose id is its whole path."""
    return any(one.startswith("collage_core.") and one.rpartition(".")[2] == name for one in page.ids)
