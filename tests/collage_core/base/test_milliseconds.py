"""`milliseconds`: a time as text, which no other file of the package writes for itself."""

from __future__ import annotations

import re

import pytest

from collage_core.base.milliseconds import milliseconds
from tests.helpers.paths import ROOT


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.0, "0 ms"), (12.3456e-3, "12.35 ms"), (2.5e-6, "0.0025 ms"), (1.5, "1500 ms"), (12.3456, "12346 ms")]
)
def test_a_time_has_four_digits_and_its_unit(seconds: float, said: str) -> None:
    assert milliseconds(seconds) == said


def test_fewer_digits_where_there_is_little_room() -> None:
    assert milliseconds(12.3456e-3, digits=3) == "12.3 ms"
    assert milliseconds(1.234, digits=3) == "1234 ms"


def test_no_other_file_writes_it_for_itself() -> None:
    by_hand = re.compile(r"\* 1e3:\.\d[fg]\} ms")
    files = [file for room in ("collage_core", "server") for file in sorted((ROOT / room).rglob("*.py"))]
    assert [str(file.relative_to(ROOT)) for file in files if by_hand.search(file.read_text(encoding="utf-8"))] == []
