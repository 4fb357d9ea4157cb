"""Reduces an exception of a toolchain to the one line of its message that says why."""

from __future__ import annotations

import re

LONGEST = 300
_NOISE = re.compile(r"^(Traceback|File \"|Stack trace|\^+$|~+$|[-=*]{3,}$|Exception from .*:$|Error loading\b.*:$)")
_SOURCE_POSITION = re.compile(r"^(?:\[\d\d:\d\d:\d\d\] )?(?:\S*/)?\S+\.(?:cc|cpp|h|hpp|py):\d+:? ?")


def one_line(error: BaseException | str) -> str:
    """Return the first line of `error` that says something, without source paths, of at most `LONGEST` characters.

    A line that ends with a colon announces the next one, which is added. An exception without a message gives the name of its class; a
    `KeyError` or a bare assertion keeps that name in front.
    """
    text = error if isinstance(error, str) else str(error)
    lines = [(said, line.rstrip().endswith(":")) for line in text.splitlines() if (said := _text_of(line))]
    said, announces = lines[0] if lines else ("", False)
    if announces and len(lines) > 1:
        said = f"{said}: {lines[1][0]}"
    if isinstance(error, KeyError | IndexError | AssertionError | AttributeError | TypeError):
        said = f"{type(error).__name__}: {said}" if said else type(error).__name__
    elif not said:
        said = type(error).__name__ if isinstance(error, BaseException) else "no reason given"
    return said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"


def _text_of(line: str) -> str:
    """Return the text of `line` without source positions; empty where nothing else is in it."""
    line = "".join(char if char.isprintable() else " " for char in line).strip()
    return "" if _NOISE.match(line) else _SOURCE_POSITION.sub("", line).strip(" :")
