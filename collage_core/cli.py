"""The `collage` command: arguments in, one document or a few clear lines out (design, "Contracts").

Exit status 0; 2 for a user's mistake, with at most three lines on standard error; 3 when no plan exists or it is over the
accuracy; 130 after Ctrl-C; 1, with a traceback, for a fault of ours. Heavy modules are imported by the command that needs them.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, TypeVar

import click

from . import __version__
from .cost_commands import costs
from .errors import CollageError
from .events import Event, Note
from .json_file import read_json
from .worker_command import worker

F = TypeVar("F", bound=Callable[..., Any])

SEARCHERS_HELP = "astar, dijkstra or milp (exact); op_dp, evolutionary, greedy or random."
OBJECTIVE_HELP = "time, bytes, partitions, memory: one after another (bytes,time) or as a sum (time+2e-10*bytes)."


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="collage")
def collage() -> None:
    """Finds, shows and explains the fastest way to run a neural network over several toolchains at once."""


def _run_options(command: F) -> F:
    """The options that `partition` and `candidates` share."""
    options = [
        click.option("--targets", default="", help="Toolchains, the preferred one first: a,b,…"),
        click.option("--constraints", "constraints_file", type=click.Path(path_type=Path), help="JSON file of pins, vetoes and cuts."),
        click.option(
            "--toolchain", "toolchain_files", multiple=True, type=click.Path(path_type=Path), help="TOML file that describes one."
        ),
        click.option("--shape", "shapes", multiple=True, metavar="INPUT=1,3,224,224", help="Fix an input's shape. Repeatable."),
        click.option("--max-depth", "depths", multiple=True, metavar="[TARGET=]N", help="Bound every candidate of the rules."),
        click.option("--max-exits", "exits", multiple=True, metavar="[TARGET=]N", help="Exits of combined candidates; one unless given."),
        click.option("--allow-taps", is_flag=True, help="Let combined candidates be read inside and outside."),
        click.option("--allow-taps-of", "taps", multiple=True, metavar="TARGET", help="The same, for one target alone. Repeatable."),
        click.option("--fusion", "fusions", multiple=True, metavar="TARGET=none|tvm|arbitrary", help="How a target's calls combine."),
        click.option("--threads", type=int, help="Threads of every kernel; the usable cores unless given."),
        click.option("--no-fold", is_flag=True, help="Keep the nodes exactly as in the file."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@collage.command()
@click.argument("model")
@_run_options
@click.option("--costs", default="measure", show_default=True, help="measure, roofline, mock:FILE or replay:DB.")
@click.option("--measure-all", is_flag=True, help="Measure every candidate, not only those that can matter.")
@click.option("--percentile", type=float, default=50.0, show_default=True, help="Of the measured samples: what counts as the cost.")
@click.option("--costs-db", metavar="PATH|URL", help="The cost database, instead of the one in COLLAGE_COSTS or your data folder.")
@click.option("--tracker", metavar="HOST:PORT", help="Measure on the workers of this tracker (`collage worker`).")
@click.option("--key", default="collage", show_default=True, help="Label under which the workers registered.")
@click.option("--machine", help="Of the workers, those on this kind of machine; the most frequent one unless given.")
@click.option("--search", default="astar", show_default=True, help=SEARCHERS_HELP)
@click.option("--objective", default="time", show_default=True, help=OBJECTIVE_HELP)
@click.option("--inputs", type=click.Path(path_type=Path), help="An .npz with your own inputs.")
@click.option("--accuracy", type=float, help="Largest relative error; 1e-3, or 2e-2 for a quantised model, unless given.")
@click.option("--time-limit", type=float, help="Seconds after which the search gives its best.")
@click.option("--dry-run", is_flag=True, help="Say what would be measured, and about how long it takes; measure nothing.")
@click.option("--save-problem", type=click.Path(path_type=Path), help="Write what is searched to this file.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the plan, the run and the artifact.")
def partition(model: str, as_json: bool, save_problem: Path | None, dry_run: bool, **given: Any) -> None:
    """Find the fastest way to run MODEL (a file, or a sample's name) over several targets."""
    from .pipeline import partition as run
    from .terminal import Progress, show_plan

    if dry_run:
        _dry_run(model, as_json, given)
        return
    with Progress(quiet=as_json and not sys.stderr.isatty()) as progress, _naming(given["constraints_file"]), _plug_ins_aside():
        record = run(model, _options(given), progress)
    if save_problem is not None:
        _write(save_problem, record.problem.to_json())
    if as_json:
        _print_json(record.document)
    else:
        show_plan(record.document)


def _dry_run(model: str, as_json: bool, given: dict[str, Any]) -> None:
    from .dry_run import dry_run

    with _plug_ins_aside():
        document = dry_run(model, _options(given), _tell_note)
    if as_json:
        _print_json(document)
        return
    for item in document["targets"]:
        click.echo(
            f"{item['name']:<14} {item['candidates']} candidates ({item['unique']} distinct), {item['known']} known, "
            f"{item['to_measure']} to measure at most"
        )
    click.echo(f"builds: about {document['builds_expected']}, at most {document['builds_at_most']}")
    click.echo(f"time: about {document['seconds_expected']:.0f} s, at most {document['seconds_at_most']:.0f} s ({document['basis']})")


@collage.command()
@click.argument("model")
@_run_options
def candidates(model: str, as_json: bool, **given: Any) -> None:
    """Phases 1 and 2 alone: the graph of MODEL, every candidate, and everything rejected and why."""
    from .pipeline import find

    with _plug_ins_aside():
        document = find(model, _options({**given, "costs": "none"}), _tell_note)
    if as_json:
        _print_json(document)
        return
    for item in document["candidates"]:
        click.echo(f"{item['id']}  {item['target']:<14} {item['kind']} depth {item['depth']}  {item['label']}  {item['nodes']}")
    for item in document["rejected_counts"]:
        click.echo(f"rejected {item['count']:>6}  {item['target']} {item['stage']} {item['check']} ({item['rule']})")


def _tell_note(event: Event) -> None:
    """Of the events of a short command, only what the user should know."""
    if isinstance(event, Note):
        click.echo(f"note: {event.text}", err=True)


@collage.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option("--search", default="astar", show_default=True, help=SEARCHERS_HELP)
@click.option("--objective", default="time", show_default=True, help=OBJECTIVE_HELP)
@click.option("--regret", is_flag=True, help="Say what insisting on each candidate would cost.")
@click.option("--best", type=int, default=0, metavar="K", help="List the K best plans.")
@click.option("--pareto", is_flag=True, help="List the plans of which no other is both faster and moves fewer bytes.")
@click.option("--prune", is_flag=True, help="Search only what upstream's heuristic keeps, and say what that loses.")
@click.option("--time-limit", "time_limit_s", type=float, help="Seconds after which the search gives its best.")
@click.option("--seed", type=int, default=0, show_default=True, help="For the searchers that draw lots.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def search(problem: Path, as_json: bool, **given: Any) -> None:
    """Phase 3 alone, on a PROBLEM given as plain data."""
    from .standalone import SearchRequest, solve_file

    document = solve_file(problem, SearchRequest(**given))
    if as_json:
        _print_json(document)
    else:
        _show_search(document)
    if document["plan"] is None:
        click.echo(f"error: no plan exists: {document['error']}", err=True)
        sys.exit(3)


def _show_search(document: dict[str, Any]) -> None:
    if document["plan"] is None:
        return
    has = document["measures"]
    click.echo(f"total {document['plan']['total_s']!r} s, candidates {document['plan']['chosen']}")
    click.echo(f"{has['partitions']} partitions, {has['bytes']} bytes moved, {has['memory_bytes']} bytes held at most")
    if document["prune"] is not None:
        told = document["prune"]
        loss = "it leaves no plan" if told["loss_s"] is None else f"it loses {told['loss_s']!r} s"
        click.echo(f"pruned to {told['kept']} of {told['candidates']} candidates: {loss}")
    listed = [("best", document["plans"]), ("pareto", document["pareto"]["plans"] if document["pareto"] else [])]
    for title, plans in listed:
        for place, plan in enumerate(plans, 1):
            click.echo(f"{title} {place}: {plan['total_s']!r} s, {plan['measures']['bytes']} bytes, candidates {plan['chosen']}")


@collage.command()
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--node", help="A node, by name or index.")
@click.option("--candidate", help="A candidate, by its id.")
@click.option("--what-if", type=click.Path(path_type=Path), help="Constraints: the best plan under them, and what each costs.")
@click.option("--accuracy", type=float, help="With --what-if: without what errs by more than this.")
@click.option("--dot", "as_dot", is_flag=True, help="Print the graph with its partitions in Graphviz's language instead.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def explain(
    plan: Path, node: str | None, candidate: str | None, what_if: Path | None, accuracy: float | None, as_dot: bool, as_json: bool
) -> None:
    """Why the PLAN of a run is as it is: for a node or candidate, every way to decide otherwise; or what if others had to hold."""
    from .explaining import draw_run, explain_run, explain_terms, show_explanation, show_terms

    if as_dot:
        click.echo(draw_run(plan), nl=False)
        return
    if what_if is None:
        document, show = explain_run(plan, node, candidate), show_explanation
    else:
        with _naming(what_if):
            document, show = explain_terms(plan, _read_constraints(what_if), accuracy), show_terms
    if as_json:
        _print_json(document)
    else:
        show(document)


@collage.command()
@click.argument("plan", type=click.Path(path_type=Path))
@click.argument("model")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the artifact.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def apply(plan: Path, model: str, out: Path, as_json: bool) -> None:
    """Phase 4 alone: build what PLAN says of MODEL, and verify it."""
    from .pipeline import apply as build
    from .plan import read_plan
    from .terminal import Progress

    with Progress(quiet=as_json and not sys.stderr.isatty()) as progress:
        verify = build(read_plan(plan), model, out, progress)
    if as_json:
        _print_json({"schema": 1, "out": str(out), "verify": verify})
    else:
        click.echo(f"{out}: largest relative error {verify['max_rel_error']:.2g}")


@collage.command()
@click.argument("artifact", type=click.Path(path_type=Path))
@click.option("--inputs", type=click.Path(path_type=Path), help="An .npz with one array for each input; seeded ones unless given.")
@click.option("--outputs", type=click.Path(path_type=Path), help="Write the outputs to this .npz.")
@click.option("--bench", is_flag=True, help="Time it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def run(artifact: Path, inputs: Path | None, outputs: Path | None, bench: bool, as_json: bool) -> None:
    """Run an exported ARTIFACT, or time it."""
    from .standalone import run_folder

    document = run_folder(artifact, inputs, outputs, bench)
    if as_json:
        _print_json(document)
        return
    for name, item in document["outputs"].items():
        click.echo(f"{name}: {item['dtype']} {'x'.join(map(str, item['shape'])) or 'scalar'}  mean {item['mean']:.6g}")
    if document["bench"] is not None:
        click.echo(f"median {document['bench']['median_s'] * 1e3:.4g} ms over {document['bench']['samples']} runs")


@collage.command()
@click.option("--rules", is_flag=True, help="Show the rule tree of each; with --json also as the data that a rule file holds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def toolchains(rules: bool, as_json: bool) -> None:
    """Which toolchains are usable here, their versions, or the reason why not."""
    from .standalone import toolchain_documents

    with _plug_ins_aside():
        found = toolchain_documents()
        if rules and as_json:
            from .rules import RuleOptions
            from .toolchains import get

            found = [{**item, "tree": get(item["name"]).rule(RuleOptions()).to_json()} for item in found]
    if as_json:
        _print_json({"schema": 1, "toolchains": found})
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
    from .samples import SAMPLES

    listed = [{"name": s.name, "title": s.title, "description": s.description} for s in SAMPLES.values()]
    if as_json:
        _print_json({"schema": 1, "models": listed})
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
    fixed = dict(_shape(text) for text in shapes)
    serve(host=host, port=port, model=model, open_browser=not no_browser, shapes=fixed, hosts=hosts, behind_proxy=behind_proxy)


collage.add_command(costs)
collage.add_command(worker)


def _options(given: dict[str, Any]) -> Any:
    """`Options` from what click parsed."""
    from .options import Options

    return Options(
        targets=tuple(filter(None, (name.strip() for name in given["targets"].split(",")))),
        costs=given["costs"],
        search=given.get("search", "astar"),
        objective=given.get("objective", "time"),
        constraints=_read_constraints(given["constraints_file"]),
        shapes=dict(_shape(text) for text in given["shapes"]),
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
        time_limit_s=given.get("time_limit"),
        fold=not given["no_fold"],
        toolchain_files=given["toolchain_files"],
        inputs=given.get("inputs"),
        out=given.get("out"),
    )


def _keyed(text: str, option: str, form: str) -> tuple[str, str]:
    key, equals, value = text.rpartition("=")
    if not (key and equals and value):
        raise CollageError(f"{option} is {text!r}, it must be {form}", "", "bad_option")
    return key, value


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, dims = _keyed(text, "--shape", "INPUT=1,3,224,224")
    try:
        return name, tuple(int(dim) for dim in dims.split(","))
    except ValueError as error:
        raise CollageError(
            f"--shape {name} is {dims!r}, it must be whole numbers with commas between", "such as 1,3,224,224", "bad_option"
        ) from error


def _bound(text: str, option: str) -> tuple[str, int]:
    target, _, number = text.rpartition("=")
    try:
        return target, int(number)
    except ValueError as error:
        raise CollageError(f"{option} is {text!r}, it must be N or TARGET=N", "such as 3 or tvm=3", "bad_option") from error


def _read_constraints(path: Path | None) -> tuple[dict[str, Any], ...]:
    if path is None:
        return ()
    form = 'the form is {"constraints": [...]}'
    _, data = read_json(path, "bad_constraint", form)
    if not isinstance(data, dict) or not isinstance(data.get("constraints"), list):
        raise CollageError(f"{str(path)!r} holds no constraints", form, "bad_constraint")
    return tuple(data["constraints"])


@contextmanager
def _naming(path: Path | None) -> Iterator[None]:
    """What is wrong in the constraints file `path` is told with the file and the line."""
    from .search import ProblemMistake

    try:
        yield
    except ProblemMistake as error:
        raise error if path is None else error.in_file(path, path.read_text(encoding="utf-8")) from error


def _plug_ins_aside() -> AbstractContextManager[object]:
    """What a toolchain prints in this process goes to standard error: the document is alone on standard output."""
    return redirect_stdout(sys.stderr)


def _print_json(document: Any) -> None:
    click.echo(json.dumps(document, allow_nan=False))


def _write(path: Path, document: Any) -> None:
    try:
        path.write_text(json.dumps(document) + "\n")
    except OSError as error:
        raise CollageError(f"cannot write {str(path)!r}: {error.strerror}", "give another file", "unwritable") from error


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
