"""Puts memory that was taken since a moment into huge pages, so that a toolchain loses less time in looking up addresses.

The kernel's usual setting (``madvise``) gives huge pages on request only, and the allocators of most toolchains do not request them. On
a system without huge pages, or other than Linux, nothing happens. Results of computations do not change.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

Range = tuple[int, int]
"""First address, and the first one behind."""

HUGE_PAGE = 1 << 21
_MAPS = Path("/proc/self/maps")
_ANONYMOUS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0(?: +\[heap\])?\s*", re.ASCII)
_MADV_HUGEPAGE, _MADV_COLLAPSE = 14, 25


class NewMemory:
    """The memory of this process that is taken from now on.

    Free memory goes back to the system first: what is taken next would lie there, and not count as new.
    """

    def __init__(self) -> None:
        self._library = _library()
        if self._library is not None:
            self._library.malloc_trim(0)
        self._before = anonymous_ranges()

    def use_huge_pages(self) -> int:
        """Ask for huge pages wherever new memory fills some, and return how many bytes these are."""
        wanted = whole_pages(added(self._before, anonymous_ranges()))
        if self._library is None:
            return 0
        for first, after in wanted:
            for advice in (_MADV_HUGEPAGE, _MADV_COLLAPSE):  # the latter at once; before Linux 6.1 the system does it by and by
                self._library.madvise(ctypes.c_void_p(first), ctypes.c_size_t(after - first), advice)
        return sum(after - first for first, after in wanted)


def anonymous_ranges() -> list[Range]:
    """Return the ranges of this process that hold no file, and may be written; none on a system that does not tell."""
    try:
        lines = _MAPS.read_text().splitlines()
    except OSError:
        return []
    ranges = filter(None, map(_ANONYMOUS.fullmatch, lines))
    return [(int(match[1], 16), int(match[2], 16)) for match in ranges]


def added(before: Sequence[Range], now: Iterable[Range]) -> list[Range]:
    """Return the parts of `now` that are not in `before`; both are in order. One pass: a process may have thousands of ranges."""
    left: list[Range] = []
    at = 0
    for first, after in now:
        while at < len(before) and before[at][1] <= first:
            at += 1
        known = at
        while known < len(before) and before[known][0] < after:
            start, end = before[known]
            if start > first:
                left.append((first, start))
            first = end
            known += 1
        if first < after:
            left.append((first, after))
    return left


def whole_pages(ranges: Iterable[Range]) -> Sequence[Range]:
    """Return the whole huge pages in `ranges`."""
    rounded = ((-(-first // HUGE_PAGE) * HUGE_PAGE, after // HUGE_PAGE * HUGE_PAGE) for first, after in ranges)
    return [(first, after) for first, after in rounded if first < after]


def _library() -> ctypes.CDLL | None:
    """Return the C library where it has what is needed: that of GNU on Linux."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") and hasattr(library, "madvise") else None
