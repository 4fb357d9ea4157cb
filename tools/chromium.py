"""Installs Debian's Chromium for the browser tests (``make test``), where that is possible without a password.

Else it stops and prints the command to type, since browser tests are never skipped silently.
"""

from __future__ import annotations

import shutil
import sys

import debian

COMMAND = "sudo apt-get install chromium"


def main() -> None:
    if shutil.which("chromium"):
        return
    before = debian.prefix()
    if before is None:
        sys.exit(f"test: the browser tests need Chromium, which is not here; install it: {COMMAND}")
    print("test: installing Debian's chromium for the browser tests", flush=True)
    if not debian.install("chromium", before) or not shutil.which("chromium"):
        sys.exit(f"test: Chromium could not be installed; the browser tests need it, try by hand: {COMMAND}")


if __name__ == "__main__":
    main()
