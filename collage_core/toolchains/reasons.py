"""A toolchain's own words in one line: what enters is what it raised, what leaves is the line that says why."""

from __future__ import annotations

import re

LONGEST = 300
_NOISE = re.compile(r"^(Traceback|File \"|Stack trace|\^+$|~+$|[-=*]{3,}$|Exception from .*:$|Error loading\b.*:$)")
_PLACE = re.compile(r"^(?:\[\d\d:\d\d:\d\d\] )?(?:\S*/)?\S+\.(?:cc|cpp|h|hpp|py):\d+:? ?")


def one_line(error: BaseException | str) -> str:
    """The first line of `error` that says something, without source paths, at most `LONGEST` characters long.

    An exception without a message gives the name of its class; a `KeyError` or a bare assertion keeps that name in front.
    """
    text = error if isinstance(error, str) else str(error)
    said = next(filter(None, map(_sense, text.splitlines())), "")
    if isinstance(error, KeyError | IndexError | AssertionError | AttributeError | TypeError):
        said = f"{type(error).__name__}: {said}" if said else type(error).__name__
    elif not said:
        said = type(error).__name__ if isinstance(error, BaseException) else "no reason given"
    return said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"


def _sense(line: str) -> str:
    """What a line says, or nothing where it only points into sources."""
    line = "".join(char if char.isprintable() else " " for char in line).strip()
    return "" if _NOISE.match(line) else _PLACE.sub("", line).strip(" :")
