"""The command-line options that `collage partition` and `collage candidates` share, and their conversion to `Options`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..base.sizes import ShapeOf, is_fixed, shape_from, shape_text
from ..errors import CollageError
from .constraints_file import read_constraints
from .say import say

if TYPE_CHECKING:
    from ..options import Options

TARGETS_HELP = (
    "Toolchains, the preferred one first: a,b,…  The default is each one that is usable here and computes in the model's precision."
)
FORMS = ("module", "pieces", "native", "auto")

F = TypeVar("F", bound=Callable[..., Any])

SEARCHERS_HELP = (
    "Searcher (docs/search.md). Exact: astar, dijkstra, milp. Heuristic: op_dp, evolutionary, greedy, "
    "random. Settings follow a colon: evolutionary:population=100,plans=50000."
)
COSTS_HELP = "Source of costs (docs/costs.md): measure, roofline, mock:FILE, replay:DB or http://HOST:PORT."
BUDGET_HELP = (
    "Time to the answer, with building and timing whole plans: 60, 60s or 2m. The default is 15 s and 0.5 s for each node (at most "
    "45 s), plus the time of 75 runs of the model (at most 45 s). The next run continues from the stored costs. Several regions share it."
)
TUNE_HELP = (
    "Time for tuning kernels, in addition to the budget: 60s or 2m. Kernels that could gain most come first; the "
    "schedules are stored. Several regions share it."
)
_SECONDS_OF = {"s": 1.0, "m": 60.0}
SHAPE_HELP = "Shape of an input. A dimension can have several sizes, each of which is planned for: 1,{16,64} or 1..8,3. Repeatable."
SHAPES_FROM_HELP = "Files of real inputs, such as inputs/*.npz. Their shapes are planned for, weighted by the number of files. Repeatable."
OTHER_SHAPES_HELP = "What the artifact does with a shape that was not planned for: an error, or the whole model on ONNX Runtime."
ONE_BUILD_HELP = (
    "Let shapes with the same plan share one build if the toolchain takes any shape: less memory and disk space, usually slower."
)
FORM_HELP = (
    "Form of the artifact: module (compiled by TVM), pieces (a file for each partition, without TVM), native (the whole model in the files "
    "of its only toolchain, with a loader), auto (native if possible, else pieces, else module)."
)
RUN_MODEL_HELP = "The model's file, for a run in a folder. By default the same model that was opened before, or a sample."
VALUE_HELP = "Fix a small input's value (a sample rate): it becomes a constant and is folded. Repeatable."
REGION_HELP = (
    "Plan only this region of a Relax module: main.0 is the first one of its function main. By default each region has a separate run."
)
OBJECTIVE_HELP = (
    "What the plan minimises: time, bytes, partitions, memory; one after another (bytes,time) or as a weighted sum (time+2e-10*bytes)."
)

VALUES_HELP = (
    "Values that must be right. finite: those that are finite in the reference. any: NaN and infinities too; "
    "no toolchain gets calls that change them."
)
FLEET_HELP = "Measure on the workers of this scheduler (`collage worker`); local:N starts N workers on this machine."
KEYS_HELP = "Folder of the fleet's keys (`collage fleet keys`); by default fleet-keys in your data folder."


def values_option(command: F) -> F:
    """Add the option that says what must be right of NaN and infinities."""
    choice = click.Choice(["finite", "any"])
    return click.option("--values", "value_policy", type=choice, default="finite", show_default=True, help=VALUES_HELP)(command)


def run_options(command: F) -> F:
    """Add the options that `partition` and `candidates` share to `command`."""
    options = [
        click.option("--targets", help=TARGETS_HELP),
        click.option(
            "--constraints", "constraints_file", type=click.Path(path_type=Path), help="JSON file of pins, vetoes and cuts (docs/files.md)."
        ),
        click.option(
            "--toolchain",
            "toolchain_files",
            multiple=True,
            type=click.Path(path_type=Path),
            help="TOML file that describes a toolchain (docs/files.md). Repeatable.",
        ),
        click.option("--shape", "shapes", multiple=True, metavar="INPUT=1,3,224,224", help=SHAPE_HELP),
        click.option("--value", "values", multiple=True, metavar="INPUT=16000", help=VALUE_HELP),
        values_option,
        click.option("--inputs", type=click.Path(path_type=Path), help="An .npz with your own inputs, one array for each."),
        click.option(
            "--max-depth", "depths", multiple=True, metavar="[TARGET=]N", help="Largest depth of a candidate (nodes on its longest path)."
        ),
        click.option(
            "--max-exits",
            "exits",
            multiple=True,
            metavar="[TARGET=]N",
            help="Largest number of exits (nodes that are read outside) of a combined candidate; by default 1.",
        ),
        click.option("--allow-taps", is_flag=True, help="Allow taps: exits that are also read inside the candidate."),
        click.option("--allow-taps-of", "taps", multiple=True, metavar="TARGET", help="Allow taps for one target only. Repeatable."),
        click.option(
            "--fusion",
            "fusions",
            multiple=True,
            metavar="TARGET=none|tvm|arbitrary",
            help="How single calls combine into candidates: not at all, as in TVM's FuseOps, or in all ways.",
        ),
        click.option("--threads", type=int, help="Threads of every kernel; by default the number of usable cores."),
        click.option("--ir", type=click.Choice(["onnx", "relax"]), help="Model format; by default inferred from the extension."),
        click.option("--region", metavar="NAME", help=REGION_HELP),
        click.option("--no-fold", is_flag=True, help="Keep the nodes exactly as in the file."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def tracker_option(instead: str) -> Callable[[F], F]:
    """Return a decorator that refuses ``--tracker``, which versions before had, and names the option `instead`."""

    def refuse(context: click.Context, parameter: click.Parameter, given: str | None) -> None:
        if given is not None:
            said = f"there is no --tracker {given!r} any more: workers and runs meet at a scheduler of Dask"
            raise CollageError(said, f"start one with `collage fleet scheduler`, and name it with {instead} ADDRESS", "bad_option")

    return click.option("--tracker", hidden=True, expose_value=False, callback=refuse)


def fleet_options(command: F) -> F:
    """Add the options that say who measures."""
    options = [
        click.option("--fleet", metavar="ADDRESS", help=FLEET_HELP),
        click.option("--keys", type=click.Path(path_type=Path), metavar="DIR", help=KEYS_HELP),
        tracker_option("--fleet"),
        click.option("--machine", help="Kind of machine to measure on, or a pattern: *EPYC*. By default the kind of most workers."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def options_of(given: dict[str, Any]) -> Options:
    """Return `Options` from the values that click parsed."""
    from ..options import Options

    if given.get("fleet") is not None:  # The run finds it out, too, but only once the candidates are there.
        from ..cost.fleet.connection import check_fleet

        check_fleet(given["fleet"], given["keys"])
    return Options(
        targets=_targets(given["targets"]),
        costs=given["costs"],
        search=given.get("search", "astar"),
        objective=given.get("objective", "time"),
        constraints=read_constraints(given["constraints_file"]),
        shapes=shapes_of(given["shapes"]),
        shapes_from=tuple(given.get("shapes_from", ())),
        other_shapes=given.get("other_shapes", "error"),
        one_build=given.get("one_build", False),
        values=dict(value(text) for text in given["values"]),
        max_depth=dict(_bound(text, "--max-depth") for text in given["depths"]),
        max_exits=dict(_bound(text, "--max-exits") for text in given["exits"]),
        taps=frozenset(given["taps"]) | (frozenset({""}) if given["allow_taps"] else frozenset()),
        fusion=dict(_keyed(text, "--fusion", "TARGET=none|tvm|arbitrary") for text in given["fusions"]),
        measure_all=given.get("measure_all", False),
        percentile=given.get("percentile", 50.0),
        costs_db=given.get("costs_db"),
        fleet=given.get("fleet"),
        fleet_keys=given.get("keys"),
        machine=given.get("machine"),
        threads=given["threads"],
        accuracy=given.get("accuracy"),
        value_policy=given.get("value_policy", "finite"),
        budget_s=None if given.get("budget") is None else seconds(given["budget"], "--budget"),
        tune_s=None if given.get("tune") is None else seconds(given["tune"], "--tune"),
        time_limit_s=given.get("time_limit"),
        fold=not given["no_fold"],
        ir=given.get("ir"),
        region=given.get("region"),
        toolchain_files=given["toolchain_files"],
        inputs=given.get("inputs"),
        out=given.get("out"),
    )


def _targets(text: str | None) -> tuple[str, ...]:
    """Return the names in the text of ``--targets``; without one the default, which standard error names."""
    if text is not None:
        return tuple(filter(None, (name.strip() for name in text.split(","))))
    from ..toolchains.registry import default_targets

    names = default_targets()
    say(
        f"targets: {', '.join(names)}, usable here and in the precision of the model; --targets names others",
        err=True,
    )
    return names


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


def shapes_of(texts: Iterable[str]) -> dict[str, ShapeOf]:
    """Return the shapes of inputs from the texts of all ``--shape``.

    A shell that expands braces makes two options of ``ids=1,{16,64}``: those of one input are put together again.

    Raises:
        CollageError: a text is malformed, or several shapes of one input are no set of sizes.
    """
    given: dict[str, list[ShapeOf]] = {}
    for name, dims in map(shape, texts):
        if dims not in given.setdefault(name, []):
            given[name].append(dims)
    return {name: dims[0] if len(dims) == 1 else _joined(name, dims) for name, dims in given.items()}


def _joined(name: str, shapes: Sequence[ShapeOf]) -> ShapeOf:
    """Return the shape of which these are all combinations of sizes."""
    sizes = [list(dict.fromkeys(column)) for column in zip(*shapes, strict=False)]
    is_set = len({len(dims) for dims in shapes}) == 1 and all(is_fixed({name: dims}) for dims in shapes)
    if not is_set or math.prod(map(len, sizes)) != len(shapes):
        said = f"--shape {name} is {shape_text(shapes[0])!r} and {shape_text(shapes[1])!r}"
        raise CollageError(said, f"give it once; a set in quotes: --shape '{name}=1,{{16,64}}'", "bad_option")
    return shape_from([set(column) if len(column) > 1 else column[0] for column in sizes], name)


def plain_shapes(texts: Iterable[str]) -> dict[str, ShapeOf | str]:
    """Return as `shapes_of` does, with shapes of several sizes as text. Raises as `shapes_of`."""
    return {name: dims if is_fixed({name: dims}) else shape_text(dims) for name, dims in shapes_of(texts).items()}


class ShapesCommand(click.Command):
    """A command that takes what a shell makes of ``--shapes-from inputs/*.npz`` and ``--shape ids=1,{16,64}``: several words after each."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        files = _each_with_option(args, "--shapes-from", lambda text: text.endswith(".npz"))
        return super().parse_args(ctx, _each_with_option(files, "--shape", lambda text: "=" in text))


def _each_with_option(args: Sequence[str], option: str, belongs: Callable[[str], bool]) -> list[str]:
    """Return `args` with `option` before each word after its value that belongs to it, up to the first that does not."""
    made: list[str] = []
    is_after, is_value = False, False
    for text in args:
        is_after = is_value or text == option or (is_after and belongs(text) and not text.startswith("-"))
        if is_after and not is_value and text != option:
            made.append(option)
        made.append(text)
        is_value = text == option
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
