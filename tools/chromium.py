"""Sees to it that the browser tests have their Chromium (``make test``): installs Debian's where that needs no question.

It may as root or with a sudo that asks for no password; otherwise it stops with the one command to type, since browser
tests are never skipped in silence.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

COMMAND = "sudo apt-get install chromium"


def prefix() -> list[str] | None:
    """What to put before ``apt-get``; None where it may not be called."""
    if not shutil.which("apt-get"):
        return None
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        return ["sudo", "-n"]
    return None


def install(before: list[str]) -> bool:
    """Installs it, after a fresh package list where the machine has none; whether it worked."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    get = [*before, "apt-get", "-qq"]
    command = [*get, "install", "-y", "--no-install-recommends", "chromium"]
    if subprocess.run(command, env=quiet).returncode == 0:
        return True
    return subprocess.run([*get, "update"], env=quiet).returncode == 0 and subprocess.run(command, env=quiet).returncode == 0


def main() -> None:
    if shutil.which("chromium"):
        return
    before = prefix()
    if before is None:
        sys.exit(f"test: the browser tests need Chromium, which is not here; install it: {COMMAND}")
    print("test: installing Debian's chromium for the browser tests", flush=True)
    if not install(before) or not shutil.which("chromium"):
        sys.exit(f"test: Chromium could not be installed; the browser tests need it, try by hand: {COMMAND}")


if __name__ == "__main__":
    main()
