"""`make pictures`: the repository keeps those pictures that a page shows, and no other."""

from __future__ import annotations

import re

from pictures import DOCS, IN_DOCS, LIVE, SCHEMES, SCREENS, USUAL, WINDOWS

from tests.helpers.paths import ROOT

SHOWN = re.compile(r"!\[[^\]]*\]\((?:docs/)?images/([^)]+)\)")


def test_the_pictures_that_pages_show_are_kept_and_no_other() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {name for page in pages for name in SHOWN.findall(page.read_text())}
    assert shown == {path.name for path in DOCS.iterdir()} == {f"{name}.png" for name in IN_DOCS}
    assert {f"{screen.name}-{scheme}" for screen in SCREENS for scheme in SCHEMES} >= set(IN_DOCS)


def test_the_graph_is_taken_at_each_width_and_every_picture_has_a_name_of_its_own() -> None:
    assert {screen.width for screen in SCREENS if screen.name.startswith("graph")} == {*WINDOWS} > {USUAL}
    names = [*(screen.name for screen in SCREENS), *LIVE]
    assert len(set(names)) == len(names) >= 12
