"""The HTML of a result in a notebook: whole, well-formed, with scripts in a frame alone, without an address or a name that is markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from collage_core.base.counted import counted
from collage_core.results import notebook_html
from collage_core.results.notebook_html import Page
from collage_core.results.result import open_run
from tests.collage_core.results.conftest import HOSTILE, Kept

VOID = {"br", "img", "meta"}


class Reader(HTMLParser):
    """Reads elements that must all be closed, and keeps their names, attributes and texts."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


NO_PAGE = Page(reason="it is not <b>built</b>")


def read(text: str, frames: int = 0) -> Reader:
    found = Reader(text)
    assert not {"script", "link", "img", "b/"} & set(found.tags)
    assert found.tags.count("iframe") == frames
    assert not [name for name, _ in found.attributes if name.startswith("on") or name in ("src", "href")]
    assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)", text)
    return found


def test_the_page_is_in_a_frame_of_its_own_origin(kept: Kept) -> None:
    report = f"<!doctype html><script>let a = '{HOSTILE}' && 1;</script>"
    found = read(notebook_html.result_html(kept.record, Page(report)), frames=1)
    attributes = dict(found.attributes)
    assert attributes["srcdoc"] == report
    assert attributes["sandbox"] == "allow-scripts allow-downloads", "with its own origin it would be the notebook's"
    assert found.tags.count("details") == 1 + len(kept.record.plan.partitions), "the drawing is behind it"


def test_a_result_without_the_page_shows_its_plan_and_runs_nothing(kept: Kept) -> None:
    found = read(notebook_html.result_html(kept.record, NO_PAGE))
    plan = kept.record.plan
    assert "without the interactive graph: it is not <b>built</b>" in found.text
    assert found.tags.count("svg") == 1
    assert found.tags.count("tr") == 1 + len(plan.partitions)
    assert f"predicted {plan.total_s * 1e3:.4g} ms; {counted(len(plan.partitions), 'partition')}" in found.text
    assert HOSTILE.replace("\x1b", "\\x1b") in found.text


def test_an_explanation_shows_every_candidate(kept: Kept) -> None:
    result = open_run(kept.folder)
    why = result.why(HOSTILE)
    found = read(why._repr_html_())
    assert found.tags.count("tr") == 1 + len(why.nodes[0].candidates)
    assert found.text.count("✓") == 1


def test_a_large_graph_is_drawn_by_its_partitions_or_not_at_all(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = len(kept.record.plan.partitions)
    monkeypatch.setattr(notebook_html, "MOST_BOXES", parts)
    assert len(re.findall(r"\d nodes?: ", read(notebook_html.result_html(kept.record, NO_PAGE)).text)) == parts
    monkeypatch.setattr(notebook_html, "MOST_BOXES", parts - 1)
    monkeypatch.setattr(notebook_html, "MOST_ROWS", 1)
    found = read(notebook_html.result_html(kept.record, NO_PAGE))
    assert "svg" not in found.tags
    assert f"and {parts - 1} more" in found.text
