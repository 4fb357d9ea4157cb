"""`core_sets`: the sets of cores that are devices of their own, and `on_cores`, which runs a piece of code on one of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...base.processor import usable_cores
from ...errors import CollageError

CORE_SETS = "COLLAGE_CORE_SETS"
"""Environment variable that lists the sets, such as ``0-3;4-7`` for the big and the little cores of a processor."""


def core_sets() -> tuple[tuple[int, ...], ...]:
    """Return the sets of ``COLLAGE_CORE_SETS``; unless it is set, the first core and all that this process may use.

    Raises:
        CollageError: the variable does not list cores of this machine (code ``bad_option``).
    """
    allowed = sorted(os.sched_getaffinity(0))
    text = os.environ.get(CORE_SETS, "")
    if not text:
        every = tuple(allowed[: usable_cores()])
        return (every[:1], every) if len(every) > 1 else (every,)
    sets = tuple(_cores(part.strip()) for part in text.split(";"))
    if not all(sets) or not {core for cores in sets for core in cores} <= set(allowed):
        message = f"{CORE_SETS} is {text!r}, it must list cores as in 0-1;2,3, of {core_text(allowed)} here"
        raise CollageError(message, "change or unset it", "bad_option")
    return sets


def core_text(cores: Sequence[int]) -> str:
    """Return `cores` as Linux writes them, such as ``0-3,6``."""
    parts: list[list[int]] = []
    for core in sorted(cores):
        if parts and parts[-1][1] == core - 1:
            parts[-1][1] = core
        else:
            parts.append([core, core])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


@contextmanager
def on_cores(cores: Sequence[int]) -> Iterator[None]:
    """Keep this thread, and those that it starts meanwhile, on `cores`."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _cores(text: str) -> tuple[int, ...]:
    """Return the cores that `text` lists; none where it is no list."""
    if not re.fullmatch(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*", text):
        return ()
    ends = [part.partition("-") for part in text.split(",")]
    return tuple(sorted({core for first, _, last in ends for core in range(int(first), int(last or first) + 1)}))
