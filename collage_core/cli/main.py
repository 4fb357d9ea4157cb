"""The `collage` command: arguments in, one document or a few clear lines out (design, "Contracts").

Exit status 0; 2 for a user's mistake, with at most three lines on standard error; 3 when no plan exists or it is over the
accuracy; 130 after Ctrl-C; 1, with a traceback, for a fault of ours. Heavy modules are imported by the command that needs them.
"""

from __future__ import annotations

import os
import signal
import sys

import click

from ..errors import CollageError
from ..version import __version__
from .costs import costs
from .documents import plug_ins_aside, print_json
from .partition import candidates, partition
from .plans import apply, explain, run, search
from .run_options import shape
from .worker import worker


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="collage")
def collage() -> None:
    """Finds, shows and explains the fastest way to run a neural network over several toolchains at once."""


@collage.command()
@click.option("--rules", is_flag=True, help="Show the rule tree of each; with --json also as the data that a rule file holds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def toolchains(rules: bool, as_json: bool) -> None:
    """Which toolchains are usable here, their versions, or the reason why not."""
    from .standalone import toolchain_documents

    with plug_ins_aside():
        found = toolchain_documents()
        if rules and as_json:
            from ..rules.base import RuleOptions
            from ..toolchains.registry import get

            found = [{**item, "tree": get(item["name"]).rule(RuleOptions()).to_json()} for item in found]
    if as_json:
        print_json({"schema": 1, "toolchains": found})
        return
    for item in found:
        state = (
            f"{item['version']}  {item['device']} {item['precision']}"
            if item["usable"]
            else f"not usable: {item['reason']} ({item['hint']})"
        )
        click.echo(f"{item['name']:<14} {state}")
        if rules:
            click.echo("\n".join(f"    {line}" for line in item["rules"].splitlines()))


@collage.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def models(as_json: bool) -> None:
    """The bundled sample models; their names are accepted wherever MODEL is."""
    from ..model.samples.registry import SAMPLES

    listed = [{"name": s.name, "title": s.title, "description": s.description} for s in SAMPLES.values()]
    if as_json:
        print_json({"schema": 1, "models": listed})
        return
    for item in listed:
        click.echo(f"{item['name']:<14} {item['title']}")


@collage.command()
@click.argument("model", required=False)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=int, help="Port; a free one near 8765 unless given.")
@click.option("--no-browser", is_flag=True, help="Don't open a browser.")
@click.option("--shape", "shapes", multiple=True, metavar="INPUT=1,3,224,224", help="Fix an input's shape. Repeatable.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Another name by which the page is reached. Repeatable.")
@click.option("--behind-proxy", is_flag=True, help="Trust the forwarded headers of one proxy in front.")
def explore(
    model: str | None, host: str, port: int | None, no_browser: bool, shapes: tuple[str, ...], hosts: tuple[str, ...], behind_proxy: bool
) -> None:
    """Start the explorer, with MODEL open in it if one is given, and print its address."""
    from importlib import import_module

    serve = import_module("collage_server.launch").serve
    fixed = dict(shape(text) for text in shapes)
    serve(host=host, port=port, model=model, open_browser=not no_browser, shapes=fixed, hosts=hosts, behind_proxy=behind_proxy)


for command in (partition, candidates, search, explain, apply, run, costs, worker):
    collage.add_command(command)


def _complain(message: str, hint: str) -> None:
    """At most three lines on standard error."""
    lines = [f"error: {' '.join(message.split())}"]
    if hint:
        lines.append(f"hint: {' '.join(hint.split())}")
    click.echo("\n".join(lines), err=True)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the `collage` script."""
    try:
        collage.main(args=arguments, prog_name="collage", standalone_mode=False)
    except CollageError as error:
        _complain(error.message, error.hint)
        status = error.exit_status
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "collage"
        _complain(error.format_message(), f"`{where} --help` shows what there is")
        status = 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("stopped; what was measured is kept", err=True)
        status = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 128 + signal.SIGPIPE
    else:
        status = 0
    sys.exit(status)
