"""`spawn`: starts a process of ours that serves a socket which it inherits, in a session of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

# The kernel ends a child with the thread that started it (`child.end_with_parent`), so this thread lives as long as the process.
_spawner = ThreadPoolExecutor(1, thread_name_prefix="collage-spawn")


def spawn(module: str, descriptor: int, *arguments: str, output: int, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that calls `main` of `module` with `descriptor` and `arguments`.

    Args:
        output: Descriptor of the file for its standard output and error.
        environment: All of its environment.

    Raises:
        OSError: the system cannot start it.
    """
    call = f"main({', '.join([str(descriptor), *map(repr, arguments)])})"
    return _spawner.submit(
        subprocess.Popen,
        [sys.executable, "-P", "-u", "-c", f"from {module} import main; {call}"],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=(descriptor,),
        start_new_session=True,
        env=environment,
    ).result()
