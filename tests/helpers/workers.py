"""`workers`: the worker processes of a process at this moment."""

from __future__ import annotations

from contextlib import suppress

import psutil


def workers() -> list[psutil.Process]:
    """Those below this process: a fork server is a child, and the workers are its children."""
    found: list[psutil.Process] = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):
            if "fork_server_process" in " ".join(child.cmdline()):
                found += [one for one in child.children() if one.status() != psutil.STATUS_ZOMBIE]
    return found
