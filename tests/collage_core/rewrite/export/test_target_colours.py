"""No two targets of a drawing have the same colour, and those of the page are the same."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from collage_core.rewrite.export.target_colours import KNOWN, SPARE, target_colours
from collage_core.toolchains.registry import all_toolchains
from tests.helpers.paths import ROOT


def test_drawings_and_the_page_give_targets_the_same_colours() -> None:
    """The page's own test reads the same file."""
    for colours in json.loads((ROOT / "frontend" / "test" / "target_colours.json").read_text()):
        assert target_colours(colours) == colours


@given(st.sets(st.text(min_size=1, max_size=6) | st.sampled_from(sorted(KNOWN)), max_size=60))
def test_no_two_targets_have_the_same_colour(names: set[str]) -> None:
    colours = target_colours(names)
    assert colours.keys() == names
    assert len(set(colours.values())) == len(names)
    outside = {colour for name, colour in colours.items() if name not in KNOWN}
    assert outside.isdisjoint(KNOWN.values()), "also where the target of that colour is not drawn"
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours.values())
    assert target_colours(sorted(names, reverse=True)) == colours


def test_every_toolchain_of_this_program_has_a_colour_and_a_letter_of_its_own() -> None:
    own = [toolchain for toolchain in all_toolchains() if type(toolchain).__module__.startswith("collage_core.")]
    assert {toolchain.name for toolchain in own} <= KNOWN.keys()
    assert len({*KNOWN.values(), *SPARE}) == len(KNOWN) + len(SPARE)
    letters = [toolchain.letter for toolchain in own]
    assert len({*letters, "H"}) == len(letters) + 1, "H is that of the host"
