"""Times as text: in sensible units, without an exponent, and written by no other file of the package."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.base.durations import decimal, duration, milliseconds, signed
from tests.helpers.paths import ROOT


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "-"),
        (0.0, "0 µs"),
        (-0.0, "0 µs"),
        (1e-300, "0 µs"),
        (-1e-16, "0 µs"),
        (1e-15, "0.000001 ns"),
        (12.34e-12, "0.01234 ns"),
        (456.78e-9, "456.8 ns"),
        (1e-6, "1 µs"),
        (92.678e-6, "92.68 µs"),
        (999.96e-6, "1 ms"),
        (-0.09659, "-96.59 ms"),
        (-2e-6, "-2 µs"),
        (15.556000000000003, "15.56 s"),
        (75.0, "75 s"),
        (119.999, "2 min"),
        (754.0, "12.57 min"),
        (7200.0, "2 h"),
        (-36e3, "-10 h"),
        (1e10, "2777778 h"),
        (1e21, "277777777777777792 h"),
    ],
)
def test_a_time_is_in_the_unit_that_fits_it(seconds: float | None, said: str) -> None:
    assert duration(seconds) == said


def test_a_difference_has_a_sign() -> None:
    assert [signed(one) for one in (None, -0.09659, 0.0, 2e-9)] == ["not known", "-96.59 ms", "+0 µs", "+2 ns"]


def test_a_number_has_neither_exponent_nor_noise() -> None:
    numbers = (15.556000000000003, 9.2e-05, -3e-13, 1.5e20, 0.0, float("nan"))
    assert [decimal(one) for one in numbers] == ["15.556", "0.000092", "-0.0000000000003", "150000000000000000000", "0", "nan"]


@given(st.floats(-1e12, 1e12))
def test_no_time_is_printed_with_an_exponent(seconds: float) -> None:
    assert "e" not in duration(seconds) + milliseconds(seconds) + signed(seconds)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0, "0 ms"), (12.3456e-3, "12.35 ms"), (2.5e-6, "0.0025 ms"), (1e-9, "0.000001 ms"), (1.5, "1500 ms"), (12.3456, "12346 ms")],
)
def test_a_time_has_four_digits_and_its_unit(seconds: float, said: str) -> None:
    assert milliseconds(seconds) == said


def test_fewer_digits_where_there_is_little_room() -> None:
    assert milliseconds(12.3456e-3, digits=3) == "12.3 ms"
    assert milliseconds(1.234, digits=3) == "1234 ms"


def test_no_other_file_writes_it_for_itself() -> None:
    by_hand = re.compile(r"(\* 1e\d:\.\d[fg]\} (ms|µs))|(:g|:\.\d[fg]|![rs])\} (m?s|seconds)\b")
    files = [file for room in ("collage_core", "collage_server") for file in sorted((ROOT / room).rglob("*.py"))]
    assert [str(file.relative_to(ROOT)) for file in files if by_hand.search(file.read_text(encoding="utf-8"))] == []
