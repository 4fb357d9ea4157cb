"""`collage worker`: measures for the runs of other machines, until Ctrl-C."""

from __future__ import annotations

import importlib.util
import signal
from types import FrameType

import click

from ..base.extras import install_command
from ..errors import CollageError
from .say import say


@click.command()
@click.option("--tracker", required=True, metavar="HOST:PORT", help="TVM's RPC tracker.")
@click.option("--key", default="collage", show_default=True, help="Label under which runs look for workers; no secret.")
@click.option("--name", default="", help="Name of the worker in records; the host's name and the port unless given.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on. Whoever reaches it can run anything here.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; any free one unless given.")
def worker(tracker: str, key: str, name: str, host: str, port: int) -> None:
    """Measure for the runs of other machines: register with TRACKER and serve trials until Ctrl-C."""
    from ..cost.fleet.tracker import check_key, parse_address
    from ..cost.fleet.worker_server import WorkerServer

    address = parse_address(tracker)
    check_key(key)
    if len(name) > 60 or not name.isprintable():
        raise CollageError(f"--name is {name!r}, it must be at most 60 characters that can be shown", "such as rack-7", "bad_option")
    if importlib.util.find_spec("tvm") is None:
        raise CollageError("a worker needs TVM, which is not installed", install_command("tvm"), "no_tvm")
    signal.signal(signal.SIGTERM, _stop)
    server = WorkerServer(address, key, name, host, port, lambda line: say(line, err=True))
    say(f"worker {server.name} listens at {host}:{server.port}; Ctrl-C ends it", err=True)
    server.run()


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
