"""The other side of `echo`, run as ``python echo_partner.py MEMORY PIPE CORE``: answers each number as soon as it sees it.

It imports nothing of the package, so that it starts at once, and ends with its pipe.
"""

from __future__ import annotations

import mmap
import os
import sys
from itertools import repeat

QUESTION, ANSWER, READY = 0, 256, 512
"""Places in the memory, far enough apart that no two share a cache line."""
BYTES = 4096
COUNT = 200
"""Numbers in a row, of a byte each."""
_LOOKS = 2_000_000


def main() -> None:
    """Answer one row of numbers for each byte from the pipe."""
    memory, pipe, core = (int(argument) for argument in sys.argv[1:])
    os.sched_setaffinity(0, {core})
    shared = mmap.mmap(memory, BYTES)
    while os.read(pipe, 1):
        shared[READY] = 1
        if not _answer(shared):
            return


def _answer(shared: mmap.mmap) -> bool:
    """Whether all numbers came; one who asks no more leaves nobody waiting at full speed."""
    for number in range(1, COUNT + 1):
        for _ in repeat(None, _LOOKS):
            if shared[QUESTION] == number:
                break
        else:
            return False
        shared[ANSWER] = number
    return True


if __name__ == "__main__":
    main()
