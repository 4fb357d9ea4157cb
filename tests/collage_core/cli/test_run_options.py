"""``--shape`` and ``--shapes-from`` as a shell hands them over; the mistakes in options are in `test_bad_input.py`."""

from __future__ import annotations

import pytest

from collage_core.base.sizes import Sizes
from collage_core.cli.run_options import _each_with_option, plain_shapes, shapes_of
from collage_core.errors import CollageError


@pytest.mark.parametrize(
    ("texts", "shape"),
    [
        (["ids=1,64"], (1, 64)),
        (["ids=1,{16,64}"], (1, Sizes((16, 64)))),
        (["ids=1,16", "ids=1,64"], (1, Sizes((16, 64)))),
        (["ids=1,16", "ids=1,64", "ids=4,16", "ids=4,64"], (Sizes((1, 4)), Sizes((16, 64)))),
        (["ids=1,64", "ids=1,64"], (1, 64)),
    ],
)
def test_a_set_that_a_shell_took_apart_is_one_again(texts: list[str], shape: tuple[int | Sizes, ...]) -> None:
    assert shapes_of([*texts, "mask=2"]) == {"ids": shape, "mask": (2,)}


@pytest.mark.parametrize("texts", [["ids=1,16", "ids=4,64"], ["ids=1,16", "ids=1"], ["ids=1,16", "ids=1,2..4"]])
def test_other_shapes_of_one_input_are_a_mistake(texts: list[str]) -> None:
    with pytest.raises(CollageError, match="--shape ids is '1,16' and '") as error:
        shapes_of(texts)
    assert error.value.hint == "give it once; a set in quotes: --shape 'ids=1,{16,64}'"


def test_the_page_gets_several_sizes_as_text() -> None:
    assert plain_shapes(["ids=1,16", "ids=1,64", "mask=2"]) == {"ids": "1,{16,64}", "mask": (2,)}


def test_words_after_an_option_belong_to_it_as_long_as_they_look_like_it() -> None:
    words = ["m.onnx", "--shape", "ids=1,16", "ids=1,64", "--threads", "1", "--shape", "mask=2", "n.onnx", "x=3"]
    made = ["m.onnx", "--shape", "ids=1,16", "--shape", "ids=1,64", "--threads", "1", "--shape", "mask=2", "n.onnx", "x=3"]
    assert _each_with_option(words, "--shape", lambda text: "=" in text) == made
    assert _each_with_option(["--shapes-from"], "--shapes-from", lambda text: True) == ["--shapes-from"]
