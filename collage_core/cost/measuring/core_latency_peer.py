"""The other process of `core_latency`, run as ``python core_latency_peer.py MEMORY PIPE CORE``: answers each number as soon as it sees it.

It imports nothing of the package, so that it starts at once. It ends when the pipe is closed.
"""

from __future__ import annotations

import mmap
import os
import sys
from itertools import repeat

QUESTION, ANSWER, READY = 0, 256, 512
"""Offsets in the memory, far enough apart that no two share a cache line."""
BYTES = 4096
COUNT = 200
"""Numbers of one probe, of a byte each."""
_MOST_LOOKS = 2_000_000


def main() -> None:
    """Answer the numbers of one probe for each byte from the pipe."""
    memory, pipe, core = (int(argument) for argument in sys.argv[1:])
    os.sched_setaffinity(0, {core})
    shared = mmap.mmap(memory, BYTES)
    while os.read(pipe, 1):
        shared[READY] = 1
        if not _answer(shared):
            return


def _answer(shared: mmap.mmap) -> bool:
    """Return whether all numbers came; if the other process asks no more, stop looking after a while."""
    for number in range(1, COUNT + 1):
        for _ in repeat(None, _MOST_LOOKS):
            if shared[QUESTION] == number:
                break
        else:
            return False
        shared[ANSWER] = number
    return True


if __name__ == "__main__":
    main()
