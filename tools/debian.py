"""Installs a Debian package that the tests need, where no password is needed: as root, or by a sudo without a password."""

from __future__ import annotations

import os
import shutil
import subprocess


def prefix() -> list[str] | None:
    """Return the command to put before ``apt-get``; None where it cannot be called."""
    if not shutil.which("apt-get"):
        return None
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        return ["sudo", "-n"]
    return None


def install(package: str, before: list[str]) -> bool:
    """Install `package`, after updating the package list if needed, and return whether that worked."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    get = [*before, "apt-get", "-qq"]
    command = [*get, "install", "-y", "--no-install-recommends", package]
    if subprocess.run(command, env=quiet).returncode == 0:
        return True
    return subprocess.run([*get, "update"], env=quiet).returncode == 0 and subprocess.run(command, env=quiet).returncode == 0
