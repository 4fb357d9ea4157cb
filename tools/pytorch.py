"""Installs PyTorch for the tests of programs of `torch.export` (``make test-long``), where that is possible.

Else it prints that these tests will be skipped. Nothing but those tests and `.pt2` files needs it.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import util

PINNED = "torch==2.13.0+cpu"
"""The build for processors; the one of PyPI brings gigabytes of CUDA."""
WHERE = ("--extra-index-url", "https://download.pytorch.org/whl/cpu", "--retries", "1", "--timeout", "20")
LONGEST_S = 900


def main() -> None:
    if util.find_spec("torch") is not None:
        return
    print(f"test: installing {PINNED} for the tests of programs of torch.export", flush=True)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", PINNED, *WHERE], timeout=LONGEST_S, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        done = 1
    if done:
        print(
            f"test: NO PyTorch: the tests of programs of torch.export will be SKIPPED; to run them: pip install {PINNED}", file=sys.stderr
        )


if __name__ == "__main__":
    main()
