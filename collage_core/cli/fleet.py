"""`collage worker`, `collage fleet keys` and `collage fleet scheduler`: the machines that measure for the runs of others, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from types import FrameType

import click

from ..errors import CollageError
from .run_options import KEYS_HELP, tracker_option
from .say import say

_keys = click.option("--keys", type=click.Path(path_type=Path), metavar="DIR", help=KEYS_HELP)


@click.command()
@tracker_option("--scheduler")
@click.option("--scheduler", required=True, metavar="ADDRESS", help="Address of the scheduler, such as tls://rack-7:8786.")
@_keys
@click.option("--name", default="", help="Name of the worker in records; by default the host's name and a number.")
@click.option("--host", help="Address to listen on; by default the one by which the scheduler is reached.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; by default any free one.")
def worker(scheduler: str, keys: Path | None, name: str, host: str | None, port: int) -> None:
    """Measure for the runs of other machines: join a scheduler and run trials until Ctrl-C."""
    from ..cost.fleet.connection import check_installed, connection, is_loopback
    from ..cost.fleet.nodes import run_worker

    check_installed()
    to = connection(scheduler, "--scheduler", keys)
    if to.scheme == "tcp" and host is not None and not is_loopback(host):
        said = f"--host is {host!r}: without TLS, everyone who reaches it could run any code here"
        raise CollageError(said, "make keys with `collage fleet keys`, or listen on loopback", "bad_option")
    if len(name) > 60 or not name.isprintable():
        raise CollageError(f"--name is {name!r}, it must be at most 60 characters that can be shown", "such as rack-7", "bad_option")
    name = name or f"{socket.gethostname()}-{os.getpid()}"
    signal.signal(signal.SIGTERM, _stop)
    say(f"worker {name}; Ctrl-C ends it", err=True)
    run_worker(to, name, host or ("127.0.0.1" if is_loopback(to.host) else None), port, lambda line: say(line, err=True))


@click.group()
def fleet() -> None:
    """Set up a fleet of machines that measure for runs: its keys and its scheduler."""


@fleet.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
def keys(folder: Path | None) -> None:
    """Make the keys of a fleet in DIR, by default in your data folder. Everyone with a key can run any code on its machines."""
    from ..cost.fleet.connection import check_installed, own_keys
    from ..cost.fleet.keys import make_keys

    check_installed()
    make_keys(folder or own_keys())
    say(f"made the keys of a fleet in {folder or own_keys()}")
    say("copy the folder to each of its machines, over ssh, and nowhere else; --keys names it there")


@fleet.command()
@_keys
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8786, show_default=True, help="Port to listen on; 0 for any free one.")
@click.option("--dashboard", metavar="HOST:PORT", help="Serve Dask's dashboard at this address, without a password. Off by default.")
def scheduler(keys: Path | None, host: str, port: int, dashboard: str | None) -> None:
    """Run the scheduler that connects runs and workers, until Ctrl-C."""
    import importlib.util

    from ..cost.fleet.connection import check_installed, connection
    from ..cost.fleet.nodes import run_scheduler

    check_installed()
    if dashboard is not None and importlib.util.find_spec("bokeh") is None:
        raise CollageError("the dashboard needs bokeh, which is not installed", "pip install bokeh", "not_installed")
    signal.signal(signal.SIGTERM, _stop)
    at = connection(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", "--host", keys)
    run_scheduler(at, dashboard, lambda address: say(f"scheduler at {address}; Ctrl-C ends it", err=True))


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
