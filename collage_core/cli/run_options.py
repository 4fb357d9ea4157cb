"""The command-line options that `collage partition` and `collage candidates` share, and their conversion to `Options`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..base.sizes import ShapeOf, is_fixed, shape_from, shape_text
from ..errors import CollageError
from .constraints_file import read_constraints

if TYPE_CHECKING:
    from ..options import Options

F = TypeVar("F", bound=Callable[..., Any])

SEARCHERS_HELP = "astar, dijkstra or milp (exact); op_dp, evolutionary, greedy or random."
BUDGET_HELP = (
    "Time for measuring: 60, 60s or 2m; unless given, 15 s and 0.1 s for each node, at most 45 s, and the time of 75 runs of the model, "
    "at most 45 s. A run again goes on from there."
)
TUNE_HELP = "Time for tuning kernels, on top of the budget: 60s or 2m. It goes first to what could gain most; what it finds is kept."
_SECONDS_OF = {"s": 1.0, "m": 60.0}
SHAPE_HELP = "An input's shape; a dimension may have several sizes, which are all planned for: 1,{16,64} or 1..8,3. Repeatable."
SHAPES_FROM_HELP = "Files of inputs whose shapes are planned for, each as often as it comes: inputs/*.npz. Repeatable."
OTHER_SHAPES_HELP = "What the artifact for several shapes does with another: an error, or the whole model on ONNX Runtime."
VALUE_HELP = "Fix a small input's value (a sample rate): it becomes a constant and is folded. Repeatable."
OBJECTIVE_HELP = "time, bytes, partitions, memory: one after another (bytes,time) or as a sum (time+2e-10*bytes)."


def run_options(command: F) -> F:
    """Add the options that `partition` and `candidates` share to `command`."""
    options = [
        click.option("--targets", default="", help="Toolchains, the preferred one first: a,b,…"),
        click.option("--constraints", "constraints_file", type=click.Path(path_type=Path), help="JSON file of pins, vetoes and cuts."),
        click.option(
            "--toolchain", "toolchain_files", multiple=True, type=click.Path(path_type=Path), help="TOML file that describes a toolchain."
        ),
        click.option("--shape", "shapes", multiple=True, metavar="INPUT=1,3,224,224", help=SHAPE_HELP),
        click.option("--value", "values", multiple=True, metavar="INPUT=16000", help=VALUE_HELP),
        click.option("--inputs", type=click.Path(path_type=Path), help="An .npz with your own inputs."),
        click.option("--max-depth", "depths", multiple=True, metavar="[TARGET=]N", help="Bound on the depth of every candidate."),
        click.option(
            "--max-exits", "exits", multiple=True, metavar="[TARGET=]N", help="Most exits of combined candidates; one unless given."
        ),
        click.option("--allow-taps", is_flag=True, help="Allow taps: exits of combined candidates that are also read inside."),
        click.option("--allow-taps-of", "taps", multiple=True, metavar="TARGET", help="The same, for one target alone. Repeatable."),
        click.option("--fusion", "fusions", multiple=True, metavar="TARGET=none|tvm|arbitrary", help="How a target's calls combine."),
        click.option("--threads", type=int, help="Threads of every kernel; the usable cores unless given."),
        click.option("--ir", type=click.Choice(["onnx", "relax"]), help="What the file holds; its ending says it unless given."),
        click.option("--no-fold", is_flag=True, help="Keep the nodes exactly as in the file."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def options_of(given: dict[str, Any]) -> Options:
    """Return `Options` from the values that click parsed."""
    from ..options import Options

    return Options(
        targets=tuple(filter(None, (name.strip() for name in given["targets"].split(",")))),
        costs=given["costs"],
        search=given.get("search", "astar"),
        objective=given.get("objective", "time"),
        constraints=read_constraints(given["constraints_file"]),
        shapes=dict(shape(text) for text in given["shapes"]),
        shapes_from=tuple(given.get("shapes_from", ())),
        other_shapes=given.get("other_shapes", "error"),
        values=dict(value(text) for text in given["values"]),
        max_depth=dict(_bound(text, "--max-depth") for text in given["depths"]),
        max_exits=dict(_bound(text, "--max-exits") for text in given["exits"]),
        taps=frozenset(given["taps"]) | (frozenset({""}) if given["allow_taps"] else frozenset()),
        fusion=dict(_keyed(text, "--fusion", "TARGET=none|tvm|arbitrary") for text in given["fusions"]),
        measure_all=given.get("measure_all", False),
        percentile=given.get("percentile", 50.0),
        costs_db=given.get("costs_db"),
        tracker=given.get("tracker"),
        key=given.get("key", "collage"),
        machine=given.get("machine"),
        threads=given["threads"],
        accuracy=given.get("accuracy"),
        budget_s=None if given.get("budget") is None else seconds(given["budget"], "--budget"),
        tune_s=None if given.get("tune") is None else seconds(given["tune"], "--tune"),
        time_limit_s=given.get("time_limit"),
        fold=not given["no_fold"],
        ir=given.get("ir"),
        toolchain_files=given["toolchain_files"],
        inputs=given.get("inputs"),
        out=given.get("out"),
    )


def seconds(text: str, option: str) -> float:
    """Return the seconds that `text`, the value of `option`, says: ``60``, ``60s`` or ``2m``.

    Raises:
        CollageError: it is no such text.
    """
    number, unit = (text[:-1], text[-1]) if text[-1:] in _SECONDS_OF else (text, "s")
    try:
        return float(number) * _SECONDS_OF[unit]
    except ValueError as error:
        raise CollageError(f"{option} is {text!r}, it must be a time", "such as 60, 60s or 2m", "bad_option") from error


def shape(text: str) -> tuple[str, ShapeOf]:
    """Return the name and the shape of an input from the text of ``--shape``, in which a dimension may have several sizes.

    Raises:
        CollageError: `text` is malformed.
    """
    name, dims = _keyed(text, "--shape", "INPUT=1,3,224,224")
    return name, shape_from(dims, name)


def plain_shape(text: str) -> tuple[str, ShapeOf | str]:
    """Return as `shape` does, with a shape of several sizes as text.

    Raises:
        CollageError: `text` is malformed.
    """
    name, dims = shape(text)
    return name, dims if is_fixed({name: dims}) else shape_text(dims)


class FilesCommand(click.Command):
    """A command whose option ``--shapes-from`` takes all files that follow it, as a shell writes them for ``inputs/*.npz``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _each_with_option(args, "--shapes-from", ".npz"))


def _each_with_option(args: Sequence[str], option: str, ending: str) -> list[str]:
    """Return `args` with `option` before each file of this ending that follows it."""
    made: list[str] = []
    is_after, is_first = False, False
    for text in args:
        if is_after and not is_first and text.endswith(ending) and not text.startswith("-"):
            made.append(option)
        elif not is_first:
            is_after = False
        made.append(text)
        is_after, is_first = is_after or text == option, text == option
    return made


def value(text: str) -> tuple[str, str]:
    """Return the name of an input and its value from the text of ``--value``.

    Raises:
        CollageError: `text` is malformed.
    """
    return _keyed(text, "--value", "INPUT=16000")


def _keyed(text: str, option: str, form: str) -> tuple[str, str]:
    key, equals, value = text.rpartition("=")
    if not (key and equals and value):
        raise CollageError(f"{option} is {text!r}, it must be {form}", "", "bad_option")
    return key, value


def _bound(text: str, option: str) -> tuple[str, int]:
    target, _, number = text.rpartition("=")
    try:
        return target, int(number)
    except ValueError as error:
        raise CollageError(f"{option} is {text!r}, it must be N or TARGET=N", "such as 3 or tvm=3", "bad_option") from error
