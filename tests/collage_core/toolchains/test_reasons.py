"""A toolchain's own words, in one line."""

from __future__ import annotations

import pytest

from collage_core.toolchains.reasons import LONGEST, one_line


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("plain"), "plain"),
        (ValueError("first\nsecond"), "first"),
        (RuntimeError("failed with these errors: \n\n  and <20 x i1>\n  third"), "failed with these errors: and <20 x i1>"),
        (RuntimeError("nothing follows:"), "nothing follows"),
        (RuntimeError("\n\n   indented\n"), "indented"),
        (RuntimeError(""), "RuntimeError"),
        (KeyError("axes"), "KeyError: 'axes'"),
        (AssertionError(), "AssertionError"),
        (RuntimeError('Traceback (most recent call last):\n  File "/a/b.py", line 3\nreal cause'), "real cause"),
        (RuntimeError("[10:42:31] /project/src/relax/ir/builder.cc:67: Check failed: x"), "Check failed: x"),
        (RuntimeError("tab\tand\x1b[31mcolour"), "tab and [31mcolour"),
        ("a text", "a text"),
        ("", "no reason given"),
    ],
)
def test_the_first_line_that_says_something(error: Exception | str, said: str):
    assert one_line(error) == said


def test_long_ones_are_cut():
    said = one_line("x" * 1000)
    assert len(said) == LONGEST
    assert said.endswith("…")
