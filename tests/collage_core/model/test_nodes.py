"""Nodes that draw random numbers are told when a model is loaded, also those in bodies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.models import loaded

INSIDE = """g (float[2] x, bool c) => (float[2] y) { [if] y = If(c)<
    then_branch = t () => (float[2] a) { [noise] n = RandomNormalLike(x) a = Add(n, x) },
    else_branch = e () => (float[2] b) { b = Neg(x) }> }"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("g () => (float[2,3] y) { [noise] y = RandomNormal<shape = [2, 3]>() }", "node 'noise' (RandomNormal) draws random numbers"),
        (INSIDE, "node 'noise' (RandomNormalLike) draws random numbers"),
        ("g (float[2] x) => (float[2] y) { [a] y = Relu(x) }", ""),
    ],
)
def test_the_first_of_them_is_named(tmp_path: Path, text: str, said: str) -> None:
    notes = loaded(tmp_path, text).notes
    assert len(notes) == bool(said)
    assert all(note.startswith(said) for note in notes)
