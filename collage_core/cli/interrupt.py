"""`end_after_interrupt`: ends the command soon after Ctrl-C, also where it is inside of a library that hears nothing of it.

Python raises KeyboardInterrupt only between two of its own steps, and what follows may wait for a thread, a process or a server. A thread
learns of the signal from C, gives the command a moment to end by itself, and then ends the process.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from .say import say

LEAVE_S = 1.5
"""How long a command may take to end by itself: what was measured is kept already, and files are written whole or not at all."""
STOPPED = "stopped; what was measured is stored"


def end_after_interrupt() -> None:
    """Watch for Ctrl-C from now on; only the main thread of a process that is the command may ask for that."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(read,), name="interrupt", daemon=True).start()


def _watch(read: int) -> None:
    while signal.SIGINT not in os.read(read, 64):
        pass
    time.sleep(LEAVE_S)
    say(STOPPED, err=True)
    sys.stdout.flush()
    os._exit(130)
