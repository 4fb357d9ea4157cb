"""`collage search`, `apply` and `run`: find and build a plan, and run its artifact."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..base.counted import counted
from ..base.durations import duration, milliseconds, signed
from ..documents.json_form import from_json, to_json
from ..documents.placement_text import placement_lines
from ..documents.plan import PlanCopy, PlanMemory, PlanParallel
from ..documents.verify import ShapeVerify
from ..pipeline.whole.errors_by_set import error_text
from .each_text import each_told, show_each
from .json_output import print_json
from .run_options import FORM_HELP, FORMS, OBJECTIVE_HELP, SEARCHERS_HELP
from .say import say
from .trust import asks_trust
from .watched import watched

FALLBACK_HELP = "Where a device of the artifact is missing, take its plan for the host (collage partition --fallback)."
OTHER_VERSIONS_HELP = "Run it even if a toolchain has another version than at build."
MODULE_S = 600.0
"""Longest that writing a partitioned module may take."""


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option("--search", default="astar", show_default=True, help=SEARCHERS_HELP)
@click.option("--objective", default="time", show_default=True, help=OBJECTIVE_HELP)
@click.option("--regret", is_flag=True, help="Compute the regret of each candidate: what a plan with it costs more than the best one.")
@click.option("--best", type=int, default=0, metavar="K", help="List the K best plans.")
@click.option("--pareto", is_flag=True, help="List the Pareto-optimal plans of time and bytes moved between targets.")
@click.option("--prune", is_flag=True, help="Search only the candidates that TVM's heuristic keeps, and compute the loss.")
@click.option("--time-limit", "time_limit_s", type=float, help="Seconds after which the search returns its best plan so far.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the searchers evolutionary and random.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def search(problem: Path, as_json: bool, **given: Any) -> None:
    """Find the best plan of PROBLEM, a JSON file of nodes, candidates and costs (docs/files.md)."""
    from .problem_search import SearchRequest, solve_file

    document = solve_file(problem, SearchRequest(**given))
    if as_json:
        print_json(document)
    else:
        _show_search(document)
    if document["plan"] is None:
        say(f"error: no plan exists: {document['error']}", err=True)
        sys.exit(3)


def _show_search(document: dict[str, Any]) -> None:
    if document["plan"] is None:
        return
    has = document["measures"]
    unknown = set(document["unknown"])
    say(f"total {_total_text(document['plan'], unknown)}, candidates {document['plan']['chosen']}")
    say(f"{counted(has['partitions'], 'partition')}, {has['bytes']} bytes moved, {has['memory_bytes']} bytes held at most")
    _show_locations(document["plan"])
    if document["prune"] is not None:
        pruning = document["prune"]
        loss = "it leaves no plan" if pruning["loss_s"] is None else f"it loses {duration(pruning['loss_s'])}"
        say(f"pruned to {pruning['kept']} of {counted(pruning['candidates'], 'candidate')}: {loss}")
    for index, (least, most) in enumerate(zip(document["regret_at_least"], document["regret_at_most"], strict=True)):
        bounds = f"at least {duration(least)}" + ("" if most is None else f", at most {duration(most)}")
        say(f"regret of candidate {index}: {'in no plan' if least is None else duration(least) if least == most else bounds}")
    listed = [("best", document["plans"]), ("pareto", document["pareto"]["plans"] if document["pareto"] else [])]
    for title, plans in listed:
        for number, plan in enumerate(plans, 1):
            say(f"{title} {number}: {_total_text(plan, unknown)}, {plan['measures']['bytes']} bytes, candidates {plan['chosen']}")


def _total_text(plan: dict[str, Any], unknown: set[int]) -> str:
    """Return the sum of the known costs of a plan, and of how many of its candidates, among the `unknown`, it has none."""
    known, missing = duration(plan["total_s"]), len(unknown.intersection(plan["chosen"]))
    return f"at least {known} ({counted(missing, 'cost')} not known)" if missing else known


def _show_locations(plan: dict[str, Any]) -> None:
    """Print the copies and the memory of a plan over several locations, if the problem has any."""
    if "parallel" not in plan:
        return
    memory = [from_json(PlanMemory, held) for held in plan["memory"].values()]
    copies = [from_json(PlanCopy, copy) for copy in plan["copies"]]
    for line in placement_lines(copies, memory, from_json(PlanParallel, plan["parallel"])):
        say(line)


@click.command()
@click.argument("plan", type=click.Path(path_type=Path))
@click.argument("model")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the artifact.")
@click.option("--inputs", type=click.Path(path_type=Path), help="An .npz with your own inputs; by default seeded random ones.")
@click.option("--form", type=click.Choice(FORMS), default="module", show_default=True, help=FORM_HELP)
@click.option(
    "--check-each", "checks_each", is_flag=True, help="Compare each partition with the reference, and name the first that is wrong."
)
@click.option(
    "--ir", "with_module", is_flag=True, help="Also write the partitioned Relax module (docs/tvm.md). MODEL must be a Relax module."
)
@click.option(
    "--keep-symbols", is_flag=True, help="With --ir: keep the symbols of the module; kernels are built at the first call of each shape."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@asks_trust("model")
@watched
def apply(
    plan: Path,
    model: str,
    out: Path,
    inputs: Path | None,
    form: str,
    checks_each: bool,
    with_module: bool,
    keep_symbols: bool,
    as_json: bool,
) -> None:
    """Build the PLAN of MODEL as an artifact, and verify it."""
    from ..pipeline.apply import check_has_module
    from ..pipeline.partition import plans_beside
    from ..pipeline.shapes.apply_shapes import apply as build
    from ..rewrite.plan import read_plan
    from .terminal import Progress

    if keep_symbols and not with_module:
        raise click.UsageError("--keep-symbols is about the module that --ir writes")
    known = read_plan(plan)
    if with_module:
        check_has_module(known, model)
    beside = plans_beside(plan, known)
    with each_told(as_json=as_json), Progress(quiet=as_json and not sys.stderr.isatty()) as progress:
        verify = build(known, model, out, progress, inputs, form, checks_each=checks_each)
        others = {
            name: build(read_plan(path), model, out / name, progress, form=form, checks_each=checks_each) for name, path in beside.items()
        }
    if with_module:
        _write_module([plan, *beside.values()], model, out, keep_symbols)
    if as_json:
        print_json(
            {
                "schema": 1,
                "out": str(out),
                "verify": to_json(verify),
                **({"regions": {name: to_json(one) for name, one in others.items()}} if others else {}),
            }
        )
        return
    for folder, found in {out: verify, **{out / name: one for name, one in others.items()}}.items():
        for row in found.shapes or (found,):
            at = f" at {row.name}" if isinstance(row, ShapeVerify) else ""
            say(f"{folder}: {error_text(row.max_rel_error, row.sets)}{at}")
            if row.each is not None:
                show_each(row.each)


def _write_module(plans: Sequence[Path], model: str, out: Path, keep_symbols: bool) -> None:
    """Write the partitioned module beside the artifact, in a worker process, since that runs TVM."""
    from ..base.isolation.worker import Worker
    from ..base.isolation.worker_errors import WorkerError
    from ..errors import CollageError

    with Worker() as worker:
        try:
            worker.call(_partitioned, str(Path(model).resolve()), list(map(str, plans)), str(out), keep_symbols, timeout_s=MODULE_S)
        except WorkerError as error:
            raise CollageError(f"the partitioned module could not be written: {error}", "", "toolchain") from error


def _partitioned(model: str, plans: Sequence[str], out: str, keep_symbols: bool) -> None:
    from ..pipeline.discover import planned_shapes
    from ..rewrite.plan import read_plan
    from ..transform.whole_module import write_partitioned

    known = [read_plan(Path(plan)) for plan in plans]
    write_partitioned(model, known, planned_shapes(known[0]), out, keep_symbols)


@click.command()
@click.argument("artifact", type=click.Path(path_type=Path))
@click.option("--inputs", type=click.Path(path_type=Path), help="An .npz with one array for each input; by default seeded random ones.")
@click.option("--outputs", type=click.Path(path_type=Path), help="Write the outputs to this .npz.")
@click.option("--bench", is_flag=True, help="Time the artifact.")
@click.option("--profile", is_flag=True, help="Time each partition while the whole artifact runs.")
@click.option("--other-versions", is_flag=True, help=OTHER_VERSIONS_HELP)
@click.option("--fallback", is_flag=True, help=FALLBACK_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def run(artifact: Path, as_json: bool, **given: Any) -> None:
    """Run an exported ARTIFACT, or time it."""
    from .artifact_run import run_folder

    document = run_folder(artifact, **given)
    if as_json:
        print_json(document)
        return
    for note in document["notes"]:
        say(f"note: {note}", err=True)
    for name, value in document["fixed"].items():
        say(f"{name} = {value}, fixed when the artifact was built")
    for name, size in document["assumed"].items():
        say(f"{name} is {size}, since it was not given when the artifact was built")
    for name, item in document["outputs"].items():
        say(f"{name}: {item['dtype']} {'x'.join(map(str, item['shape'])) or 'scalar'}{_mean(item)}")
    if document["bench"] is not None:
        time = document["bench"]
        off = "" if time["interval_s"] is None else f" ± {milliseconds(time['interval_s'])}"
        single = f"single runs {milliseconds(time['min_s'])} to {milliseconds(time['max_s'])}"
        rounds = counted(time["rounds"], "round")
        say(f"{milliseconds(time['measured_s'])}{off} over {rounds}; {single}, median {milliseconds(time['median_s'])}")
    if document["profile"] is not None:
        _print_profile(document["profile"])


def _mean(item: Mapping[str, Any]) -> str:
    return "" if item["mean"] is None else f"  mean {item['mean']:.6g}"


def _print_profile(profile: Mapping[str, Any]) -> None:
    """Print what each partition takes inside the whole, what was predicted of it, and where the two part ways most."""
    whole_s, parts = profile["whole_s"], profile["partitions"]
    has_plan = any(part["predicted_s"] is not None for part in parts)
    say(f"{'inside':>12} {'share':>6}" + (f"  {'predicted':>20}  {'difference':>10}" if has_plan else ""))
    for part in parts:
        many = f" in {counted(part['partitions'], 'partition')}" if part["partitions"] > 1 else ""
        name = f"{part['target']}, {counted(part['nodes'], 'node')}{many} from {part['first']!r}  [{part['id']}]"
        say(_profile_line(part["seconds"], whole_s, has_plan, part["predicted_s"], part["interval_s"], name))
    rest = "calls, and the time outside of kernels"
    say(_profile_line(profile["rest_s"], whole_s, has_plan, profile["predicted_between_s"], None, rest))
    say(_profile_line(whole_s, whole_s, has_plan, profile["predicted_s"], None, "the whole"))
    known = [part for part in parts if part["difference_s"] is not None]
    if known:
        most = max(known, key=lambda part: abs(part["difference_s"]))
        within = most["interval_s"] is not None and abs(most["difference_s"]) <= most["interval_s"]
        noise = ", within what its cost may be off" if within else ""
        say(f"predicted and measured differ most on {most['target']} from {most['first']!r}: {signed(most['difference_s'])}{noise}")


def _profile_line(seconds: float, whole_s: float, has_plan: bool, predicted_s: float | None, off_s: float | None, name: str) -> str:
    line = f"{duration(seconds):>12} {seconds / whole_s:>6.1%}"
    if has_plan:
        told = duration(predicted_s) + ("" if off_s is None else f" ± {duration(off_s)}")
        line += f"  {told:>20}  {signed(None if predicted_s is None else seconds - predicted_s):>10}"
    return f"{line}  {name}"
