"""Ranges and sets of sizes: as text and as Python values, and the sizes that are taken of a range."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.base.sizes import Sizes, is_fixed, shape_from, shape_text
from collage_core.errors import CollageError


@pytest.mark.parametrize(
    ("said", "shape"),
    [
        ("1,3,224,224", (1, 3, 224, 224)),
        ("1..8,3", (Sizes((1, 8), True), 3)),
        ("1,{64,16,64}", (1, Sizes((16, 64)))),
        ("{16,64},2..4", (Sizes((16, 64)), Sizes((2, 4), True))),
        ("{5},7..7", (5, 7)),
        ((1, "{16,64}"), (1, Sizes((16, 64)))),
        ((range(1, 9), {4, 2}), (Sizes((1, 8), True), Sizes((2, 4)))),
        ((range(16, 65, 16),), (Sizes((16, 32, 48, 64)),)),
    ],
)
def test_a_shape_is_read_from_text_and_from_values(said: Any, shape: tuple[int | Sizes, ...]) -> None:
    assert shape_from(said, "x") == shape


@given(st.lists(st.integers(1, 999) | st.tuples(st.integers(1, 99), st.integers(100, 999)) | st.sets(st.integers(1, 99), min_size=2)))
def test_a_shape_reads_as_it_was_written(parts: list[Any]) -> None:
    shape = tuple(
        part if isinstance(part, int) else Sizes(part, True) if isinstance(part, tuple) else Sizes(tuple(sorted(part))) for part in parts
    )
    if shape:
        assert shape_from(shape_text(shape), "x") == shape
    assert is_fixed({"x": shape}) == all(isinstance(part, int) for part in parts)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("1,a", "--shape x is 'a', it must be whole numbers, ranges (1..8) and sets ({16,64}) with commas between"),
        ("1,,2", "--shape x is '1,,2', it must be"),
        ("{1,2", "--shape x is '{1,2', it must be"),
        ("8..1", "--shape x has '8..1': a range goes from a size of 1 or more up to a larger one"),
        ("{0,4}", "--shape x has '{0,4}': a set holds sizes of 1 or more"),
        ((1.5,), "--shape x is '1.5', it must be"),
        ((set(),), "--shape x has 'set()': a set holds sizes of 1 or more"),
        ((set(range(1, 99)),), "--shape x has a set of 98 sizes, at most 64 are read"),
    ],
)
def test_a_malformed_shape_is_one_line(said: Any, words: str) -> None:
    with pytest.raises(CollageError) as error:
        shape_from(said, "x")
    assert words in error.value.message


def test_a_range_is_sampled_at_its_ends_and_in_equal_ratios() -> None:
    assert Sizes((1, 8), True).sampled(4) == (1, 2, 4, 8)
    assert Sizes((16, 512), True).sampled(3) == (16, 91, 512)
    assert Sizes((3, 4), True).sampled(4) == (3, 4)
    assert Sizes((2, 9, 11)).sampled(2) == (2, 9, 11)
    assert 5 in Sizes((1, 8), True)
    assert 5 not in Sizes((1, 8))
