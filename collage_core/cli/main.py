"""The `collage` command, its entry point and its exit statuses; `collage explore`.

The exit status is 0; 2 for a user's mistake, with at most three lines on standard error; 3 when no plan exists or it is over the
accuracy; 130 after Ctrl-C; 1, with a traceback, for a fault of ours. Each command imports the heavy modules that it needs.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import UserDict
from collections.abc import Iterator
from importlib import import_module

import click
from click.core import ParameterSource

from ..base.access_token import ENVIRONMENT
from ..base.whole_file import FULL
from ..errors import CollageError
from ..version import __version__
from .interrupt import STOPPED, end_after_interrupt
from .run_options import RUN_MODEL_HELP, SHAPE_HELP, VALUE_HELP, ShapesCommand, plain_shapes, value
from .say import say
from .trust import asks_trust
from .watched import OWN_PROCESS

MODULES = {
    "toolchains": "listings",
    "models": "listings",
    "partition": "partition",
    "survey": "survey",
    "candidates": "partition",
    "search": "plans",
    "devices": "devices",
    "explain": "explain",
    "compare": "compare",
    "export": "export",
    "apply": "plans",
    "run": "plans",
    "serve": "serve",
    "session": "session",
    "check": "check",
    "costs": "costs",
    "report": "report",
    "worker": "fleet",
    "fleet": "fleet",
}
"""Command → the module of this room that has it."""
LISTENING = {"serve", "worker"}
"""Commands that end in an order of their own after Ctrl-C."""


class Commands(UserDict[str, click.Command]):
    """The commands by name. One that is not here yet is imported when it is asked for: most import much that the others do without."""

    def __missing__(self, name: str) -> click.Command:
        if name not in MODULES:
            raise KeyError(name)
        command: click.Command = getattr(import_module(f".{MODULES[name]}", __package__), name)
        self[name] = command
        return command

    def __iter__(self) -> Iterator[str]:
        return iter({**self.data, **MODULES})

    def __len__(self) -> int:
        return len({**self.data, **MODULES})

    def __contains__(self, name: object) -> bool:
        return name in self.data or name in MODULES


@click.group(commands=Commands(), context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="collage")
@click.pass_context
def collage(context: click.Context) -> None:
    """Find, show and explain the fastest way to run a neural network over several toolchains at once."""
    name = context.invoked_subcommand
    if context.obj == OWN_PROCESS and name in MODULES.keys() - LISTENING and not hasattr(collage.commands[name].callback, "is_watched"):
        end_after_interrupt()


@collage.command(cls=ShapesCommand)
@click.argument("model", required=False)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=int, help="Port to listen on; by default a free one from 8765 on.")
@click.option("--no-browser", is_flag=True, help="Don't open a browser.")
@click.option("--shape", "shapes", multiple=True, metavar="INPUT=1,3,224,224", help=SHAPE_HELP)
@click.option("--value", "values", multiple=True, metavar="INPUT=16000", help=VALUE_HELP)
@click.option("--region", metavar="NAME", help="The region of a Relax module to open; by default the largest.")
@click.option("--model", "run_model", metavar="MODEL", help=RUN_MODEL_HELP)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Another host name of the explorer, such as a proxy's. It then opens no programs and paths. Repeatable.",
)
@click.option(
    "--behind-proxy",
    count=True,
    help="A proxy in front adds X-Forwarded headers; once for each proxy. The explorer then opens no programs and paths.",
)
@click.option("--token", envvar=ENVIRONMENT, metavar="TOKEN", help="The token that clients need; by default a new one.", show_envvar=True)
@click.option("--no-token", is_flag=True, help="Require no token: every account of this machine can then use the explorer as you.")
@click.option(
    "--trust-local",
    is_flag=True,
    help="With --no-token: let all these accounts open .py and .pt2 files, which are programs, and files by their path.",
)
@asks_trust("model", "run_model")
def explore(
    model: str | None,
    host: str,
    port: int | None,
    no_browser: bool,
    shapes: tuple[str, ...],
    values: tuple[str, ...],
    region: str | None,
    run_model: str | None,
    hosts: tuple[str, ...],
    behind_proxy: int,
    token: str | None,
    no_token: bool,
    trust_local: bool,
) -> None:
    """Start the explorer, and print its address.

    MODEL is opened first: a model or a sample, a session (FILE.collage), or a run (a folder that `collage partition --out` wrote).
    """
    if no_token and click.get_current_context().get_parameter_source("token") is ParameterSource.COMMANDLINE:
        raise click.UsageError("--token and --no-token exclude each other")
    launch = import_module("collage_server.launch")
    fixed = {"shapes": plain_shapes(shapes), "values": dict(map(value, values)), "region": region}
    shown = {"model": model, "run_model": run_model, **fixed}
    reached = {"host": host, "port": port, "hosts": hosts, "behind_proxy": behind_proxy}
    trusted = {"token": token, "asks_token": not no_token, "trust_local": trust_local}
    launch.serve(open_browser=not no_browser, **reached, **trusted, **shown)


def _complain(message: str, hint: str) -> None:
    """Print a mistake and its hint on standard error, in two lines."""
    lines = [f"error: {' '.join(message.split())}"]
    if hint:
        lines.append(f"hint: {' '.join(hint.split())}")
    say("\n".join(lines), err=True)


def main(arguments: list[str] | None = None) -> None:
    """Run the `collage` command with `arguments` (by default those of the process), and exit with its status."""
    try:
        whole = OWN_PROCESS if arguments is None else None
        collage.main(args=arguments, prog_name="collage", standalone_mode=False, obj=whole)
    except CollageError as error:
        _complain(error.message, error.hint)
        status = error.exit_status
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "collage"
        _complain(error.format_message(), f"`{where} --help` shows what there is")
        status = 2
    except (KeyboardInterrupt, click.Abort):
        say(STOPPED, err=True)
        status = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 128 + signal.SIGPIPE
    except OSError as error:
        if error.errno not in FULL:
            raise
        _complain(f"the disk is full: {error.filename or 'a file'} cannot be written", "make room; what was measured is stored")
        status = 2
    else:
        status = 0
    sys.exit(status)
