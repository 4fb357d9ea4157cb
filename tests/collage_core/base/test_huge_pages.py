"""Huge pages for new memory: which ranges are new, which of them fill whole pages, and that the system gives them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.base import huge_pages
from collage_core.base.huge_pages import HUGE_PAGE, NewMemory, added, anonymous_ranges, whole_pages

ENABLED = Path("/sys/kernel/mm/transparent_hugepage/enabled")

cells = st.sets(st.integers(0, 30))


def ranges_of(wanted: set[int]) -> list[tuple[int, int]]:
    """The sorted ranges that hold exactly these numbers, each as long as can be."""
    starts = sorted(one for one in wanted if one - 1 not in wanted)
    return [(start, next(end for end in range(start, 32) if end not in wanted)) for start in starts]


@given(cells, cells)
def test_what_was_added_is_what_was_not_there_before(before: set[int], now: set[int]) -> None:
    left = added(ranges_of(before), ranges_of(now))
    assert {one for first, after in left for one in range(first, after)} == now - before
    assert all(first < after for first, after in left)


def test_only_whole_huge_pages_count() -> None:
    ranges = [(1, HUGE_PAGE), (1, 2 * HUGE_PAGE), (HUGE_PAGE, 3 * HUGE_PAGE + 5), (5 * HUGE_PAGE - 1, 6 * HUGE_PAGE - 1)]
    assert whole_pages(ranges) == [(HUGE_PAGE, 2 * HUGE_PAGE), (HUGE_PAGE, 3 * HUGE_PAGE)]


def test_files_and_what_cannot_be_written_are_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    maps = tmp_path / "maps"
    maps.write_text(
        "1000-2000 rw-p 00000000 00:00 0                          [heap]\n"
        "2000-3000 rw-p 00000000 00:00 0 \n"
        "3000-4000 r--p 00000000 00:00 0 \n"
        "4000-5000 rw-p 00001000 fe:00 1234                       /usr/lib/libc.so.6\n"
        "5000-6000 rw-p 00000000 00:00 0                          [stack]\n"
        "6000-7000 rw-s 00000000 00:01 99                         /dev/zero (deleted)\n"
    )
    monkeypatch.setattr(huge_pages, "_MAPS", maps)
    assert anonymous_ranges() == [(0x1000, 0x2000), (0x2000, 0x3000)]


def test_where_the_system_tells_nothing_nothing_happens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(huge_pages, "_MAPS", tmp_path / "none")
    assert NewMemory().use_huge_pages() == 0
    monkeypatch.undo()
    monkeypatch.setattr(sys, "platform", "win32")
    assert NewMemory().use_huge_pages() == 0


SCRIPT = """
import mmap
from collage_core.base.huge_pages import NewMemory
def huge_kib():
    return int(next(line for line in open("/proc/self/smaps_rollup") if line.startswith("AnonHuge")).split()[1])
memory = NewMemory()
held = mmap.mmap(-1, 32 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
held[:] = bytes(range(256)) * (len(held) // 256)
before, asked, after = huge_kib(), memory.use_huge_pages(), huge_kib()
assert held[:] == bytes(range(256)) * (len(held) // 256)
print(before, asked, after)
"""


@pytest.mark.skipif(not ENABLED.exists() or "[never]" in ENABLED.read_text(), reason="this system has no transparent huge pages")
def test_the_system_is_asked_for_them_and_what_lies_there_stays() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    before, asked, after = map(int, done.stdout.split())
    assert asked >= 30 << 20, "all of 32 MiB but the ends"
    assert after >= before
