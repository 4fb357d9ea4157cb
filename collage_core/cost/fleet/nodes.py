"""Run a worker or a scheduler of a fleet in this process: `collage worker`, `collage fleet scheduler`, and the processes of ``local:N``.

As a program (``python -m``) it ends with its standard input, so with the process that started it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...base.durations import duration
from ...base.isolation.scratch import scratch_folder
from ...errors import CollageError
from .connection import CONNECT_S, Connection, connection, set_up_dask
from .request_handler import end_sessions
from .self_description import ABOUT, describe, resources

if TYPE_CHECKING:
    from distributed import Security, Worker

Say = Callable[[str], None]

SHORTEST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
SILENT_S = 30.0
"""A worker that gave the scheduler no sign of life for so long is gone: it gives one every second."""
_END_S = 2.0
_REACH_S = 3.0
_NAME_TAKEN = "name taken"
"""Words of Dask's scheduler."""


def run_worker(scheduler: Connection, name: str, host: str | None, port: int, say: Say) -> None:
    """Measure for the runs that meet at `scheduler`, until an exception (Ctrl-C is one) ends it; then nothing is left behind.

    Args:
        host: Address to listen on; that from which the scheduler is reached unless given.
        port: Port to listen on, 0 for any that is free.
        say: Called with each line for the terminal.

    Raises:
        CollageError: the keys cannot be used, it cannot listen there, or another worker has its name.
    """
    set_up_dask()
    security = scheduler.security("worker")
    folder = scratch_folder()
    try:
        asyncio.run(_keep_joined(scheduler, security, name, host, port, say, folder))
    finally:
        end_sessions()
        shutil.rmtree(folder, ignore_errors=True)


async def _keep_joined(scheduler: Connection, security: Security, name: str, host: str | None, port: int, say: Say, folder: Path) -> None:
    """Join the scheduler, and again with a growing pause whenever it is gone."""
    from distributed import Worker
    from distributed.comm import connect

    pause_s = SHORTEST_PAUSE_S
    while True:
        try:
            # Dask's worker would try for ever, and say nothing of it.
            comm = await connect(str(scheduler), timeout=_REACH_S, **security.get_connection_args("worker"))
            await comm.close()
            worker = Worker(
                str(scheduler), name=name, nthreads=2, resources=resources(), security=security, memory_limit=0, host=host, port=port,
                dashboard_address="127.0.0.1:0", local_directory=str(folder), death_timeout=CONNECT_S,
                startup_information=await _startup_information(name),
            )  # fmt: skip
            why = await _serve(worker, lambda: say(f"joined the scheduler at {scheduler}"))
            pause_s = SHORTEST_PAUSE_S
        except (OSError, TimeoutError) as error:
            why = str(error) or type(error).__name__
        say(f"no scheduler at {scheduler} ({' '.join(why.split())}); trying again in {duration(pause_s)}")
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


async def _startup_information(name: str) -> dict[str, Callable[[Worker], str]]:
    """Return what Dask's worker tells the scheduler of itself when it registers: our description."""
    ending = threading.Event()
    try:
        about = await asyncio.to_thread(describe, name, ending.is_set)
    finally:
        ending.set()  # The loop waits for its threads.
    return {ABOUT: lambda worker: about}


async def _serve(worker: Worker, on_joined: Callable[[], None]) -> str:
    """Serve until the scheduler is gone; return how that is said. Raises OSError where the scheduler cannot be reached."""
    try:
        await worker
        on_joined()
        await worker.finished()
        return "it closed the connection"
    except (OSError, ValueError, RuntimeError) as error:
        cause = error.__cause__ or error  # Dask wraps what fails at the start
        if isinstance(cause, OSError) and cause.errno in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
            hint = "give an address of this machine with --host, and a free port with --port"
            raise CollageError(f"the worker cannot listen: {cause.strerror}", hint, "bad_option") from error
        if isinstance(cause, OSError | TimeoutError):
            raise cause from error
        if _NAME_TAKEN in str(cause):
            said = f"the scheduler has a worker called {worker.name!r} already"
            raise CollageError(said, "give this one another --name", "bad_option") from error
        raise
    finally:
        await worker.close(timeout=_END_S, executor_wait=False)


def run_scheduler(at: Connection, dashboard: str | None, on_start: Callable[[str], None]) -> None:
    """Run the scheduler at which runs and workers meet, until an exception ends it. It listens at `at`; port 0 is any that is free.

    Args:
        dashboard: Address of Dask's pages, which have no password; None for no pages.
        on_start: Called with the address once it listens.

    Raises:
        CollageError: the keys cannot be used, or it cannot listen there.
    """
    set_up_dask(has_pages=dashboard is not None)
    asyncio.run(_schedule(at, at.security("scheduler"), dashboard, on_start))


async def _schedule(at: Connection, security: Security, dashboard: str | None, on_start: Callable[[str], None]) -> None:
    from distributed import Scheduler

    try:
        scheduler = Scheduler(
            host=at.host, port=at.port, protocol=at.scheme, security=security, dashboard=dashboard is not None,
            dashboard_address=dashboard or "127.0.0.1:0", worker_ttl=SILENT_S,
        )  # fmt: skip
        async with scheduler:
            on_start(scheduler.address)
            await scheduler.finished()
    except (OSError, RuntimeError) as error:
        cause = error.__cause__ or error
        said = f"cannot listen at {at}: {getattr(cause, 'strerror', None) or cause}"
        raise CollageError(said, "give an address of this machine with --host, and a free port with --port", "bad_option") from error


async def dask_setup(worker: Worker) -> None:
    """Make an ordinary worker of Dask one of a fleet: ``dask worker --preload collage_core.cost.fleet.nodes --nthreads 2``."""
    for name, count in resources().items():
        worker.state.total_resources.setdefault(name, count)
        worker.state.available_resources.setdefault(name, count)
    worker.startup_information |= await _startup_information(str(worker.name))


async def dask_teardown(worker: Worker) -> None:
    """End what a worker of Dask has started for runs."""
    end_sessions()


def main() -> None:
    """``scheduler KEYS``, which prints its address, or ``worker KEYS ADDRESS NAME``."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(KeyboardInterrupt):
        _run()


def _run() -> None:
    role, keys, *more = sys.argv[1:]
    to = connection(more[0] if more else "tls://127.0.0.1:0", "address", Path(keys))
    if role == "scheduler":
        run_scheduler(to, None, partial(print, flush=True))
    else:
        run_worker(to, more[1], "127.0.0.1", 0, lambda line: None)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    main()
