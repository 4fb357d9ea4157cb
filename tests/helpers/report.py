"""Reads a report as a browser does: its elements, and the answers that it holds."""

from __future__ import annotations

import base64
import gzip
import json
from html.parser import HTMLParser
from typing import Any

Element = tuple[str, dict[str, str | None]]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.texts: dict[str, str] = {}
        self._of = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._of = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        self._of = ""

    def handle_data(self, data: str) -> None:
        if self._of:
            self.texts[self._of] = self.texts.get(self._of, "") + data


def elements_of(text: str) -> list[Element]:
    """Every element of the document with its attributes, in order."""
    reader = _Reader()
    reader.feed(text)
    return reader.elements


def answers_in(text: str) -> dict[str, Any]:
    """The answers that the report holds, by method and path."""
    reader = _Reader()
    reader.feed(text)
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(reader.texts["report-data"])))
    return found


def config_of(text: str) -> dict[str, Any]:
    """The `PageConfig` of the report."""
    app = next(attributes for tag, attributes in elements_of(text) if attributes.get("id") == "app")
    found: dict[str, Any] = json.loads(app["data-config"] or "")
    return found
