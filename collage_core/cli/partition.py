"""`collage partition` and `collage candidates`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base.counted import counted
from ..base.durations import duration
from ..documents.candidate_set import CandidateSetInfo
from ..documents.dry_run import DryRun
from ..documents.json_form import to_json
from ..documents.verdict import verdict
from ..documents.verify import Verify
from ..errors import CollageError
from ..events import Emit, Event, Note
from ..pipeline.whole.errors_by_set import error_text
from .constraints_file import mistakes_located
from .each_text import wrong_told
from .json_output import print_json, prints_to_stderr, write_json
from .run_options import (
    BUDGET_HELP,
    COSTS_HELP,
    FORM_HELP,
    FORMS,
    OBJECTIVE_HELP,
    ONE_BUILD_HELP,
    OTHER_SHAPES_HELP,
    SEARCHERS_HELP,
    SHAPES_FROM_HELP,
    TUNE_HELP,
    ShapesCommand,
    fleet_options,
    options_of,
    run_options,
)
from .say import say
from .trust import asks_trust
from .watched import waited_s, watched

if TYPE_CHECKING:
    from ..pipeline.record.record import RunRecord


@click.command(cls=ShapesCommand)
@click.argument("model")
@run_options
@click.option("--shapes-from", "shapes_from", multiple=True, type=click.Path(path_type=Path), metavar="FILES", help=SHAPES_FROM_HELP)
@click.option("--other-shapes", type=click.Choice(["error", "onnxruntime"]), default="error", show_default=True, help=OTHER_SHAPES_HELP)
@click.option("--one-build", is_flag=True, help=ONE_BUILD_HELP)
@click.option("--costs", default="measure", show_default=True, help=COSTS_HELP)
@click.option("--measure-all", is_flag=True, help="Measure every candidate, not only those that can change the plan.")
@click.option("--percentile", type=float, default=50.0, show_default=True, help="The cost is this percentile of the measured samples.")
@click.option("--costs-db", metavar="PATH|URL", help="The cost database, instead of the one in COLLAGE_COSTS or your data folder.")
@fleet_options
@click.option("--search", default="astar", show_default=True, help=SEARCHERS_HELP)
@click.option("--objective", default="time", show_default=True, help=OBJECTIVE_HELP)
@click.option(
    "--accuracy", type=float, help="Largest relative error of an output. The default depends on the model's types: 1e-3 in float32."
)
@click.option("--budget", metavar="TIME", help=BUDGET_HELP)
@click.option("--tune", metavar="TIME", help=TUNE_HELP)
@click.option("--time-limit", type=float, help="Seconds after which each search returns its best plan so far.")
@click.option("--dry-run", is_flag=True, help="Print what would be measured, and about how long it takes, without measuring.")
@click.option(
    "--save-problem",
    type=click.Path(path_type=Path),
    help="Write the search problem with its constraints to this file, for `collage search`.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the plan, the record of the run and the artifact.")
@click.option("--form", type=click.Choice(FORMS), default="module", show_default=True, help=FORM_HELP)
@click.option("--fallback", is_flag=True, help="Build the plan for the host, too, for machines without a device of the plan.")
@asks_trust("model")
@watched
def partition(model: str, as_json: bool, save_problem: Path | None, dry_run: bool, form: str, fallback: bool, **given: Any) -> None:
    """Find the fastest way to run MODEL (a file or the name of a sample) over several toolchains."""
    from ..pipeline.partition import partition as run_pipeline
    from ..pipeline.partition import region_document
    from .shapes_text import shapes_lines
    from .terminal import Progress, show_plan

    if form != "module" and given["out"] is None:
        raise CollageError(f"--form {form} is the form of an artifact, and there is none without --out", "give --out DIR", "bad_option")

    if fallback and given["out"] is None:
        raise CollageError("--fallback builds a second artifact, and there is none without --out", "give --out DIR", "bad_option")
    if dry_run:
        _dry_run(model, as_json, given)
        return
    progress_shown = Progress(quiet=as_json and not sys.stderr.isatty())
    with wrong_told(as_json=as_json), progress_shown as progress, mistakes_located(given["constraints_file"]), prints_to_stderr():
        record = run_pipeline(model, options_of(given), progress, waited_s=waited_s())
        verified = {} if form == "module" else _build_in_form(record, model, form, given, progress)
        verified |= _build_fallback(record, model, form, given, progress) if fallback else {}
    if save_problem is not None:
        write_json(save_problem, record.problem_json())
    if as_json:
        document = replace(region_document(record), artifacts=verified or None)
        print_json({**to_json(document), "verdict": to_json(verdict(document))})
        return
    for one in (record, *record.regions.values()):
        if record.regions:
            say(f"region {one.plan.options['region']}")
        show_plan(one.document)
        for line in shapes_lines(one.document):
            say(line)
    for folder, verify in verified.items():
        took = f", {duration(verify.measured_s)}" if verify.measured_s is not None else ""
        say(f"{folder}: {error_text(verify.max_rel_error, verify.sets)}{took}")


def _build_in_form(record: RunRecord, model: str, form: str, given: dict[str, Any], progress: Emit) -> dict[str, Verify]:
    """Build the artifact of each region once more, in this form, since whole plans are compared as modules; folder → `verify`."""
    from ..pipeline.shapes.apply_shapes import apply

    folders = {given["out"] / name: one.plan for name, one in {"": record, **record.regions}.items()}
    return {str(folder): apply(plan, model, folder, progress, given["inputs"], form) for folder, plan in folders.items()}


def _build_fallback(record: RunRecord, model: str, form: str, given: dict[str, Any], progress: Emit) -> dict[str, Verify]:
    """Build the best plan of known costs without a device beside each artifact that needs one; folder → `verify`."""
    from ..pipeline.shapes.apply_shapes import apply
    from ..rewrite.runtime.manifest import FALLBACK
    from ..toolchains.registry import runs_on_processor
    from ..what_if.terms import Terms
    from ..what_if.what_if import replanned

    verified = {}
    for name, one in {"": record, **record.regions}.items():
        devices = [target.name for target in one.plan.targets if not runs_on_processor(target.name)]
        if {*devices} & {*one.plan.used_targets}:
            plan = replanned(one, Terms(one.plan.constraints, switched_off=devices)).plan
            folder = given["out"] / name / FALLBACK
            verified[str(folder)] = apply(plan, model, folder, progress, given["inputs"], form)
    return verified


def _dry_run(model: str, as_json: bool, given: dict[str, Any]) -> None:
    from ..pipeline.each_shape import dry_run_at_shapes

    with mistakes_located(given["constraints_file"]), prints_to_stderr():
        document = dry_run_at_shapes(model, options_of(given), _tell_note)
    if as_json:
        print_json(to_json(document))
        return
    shapes, others = document.shapes or {}, document.regions or {}
    for shape, of_shape in shapes.items():
        say(f"shape {shape}")
        _show_dry_run(of_shape)
    if shapes:
        say(f"all {counted(len(shapes), 'shape')} at most, since what they have in common is measured once:")
    for name, of_region in [(document.region, document), *others.items()]:
        if others:
            say(f"region {name}")
        _show_dry_run(of_region)


def _show_dry_run(document: DryRun) -> None:
    for target in document.targets:
        say(
            f"{target.name:<14} {counted(target.candidates, 'candidate')} ({target.unique} different), {target.known} known, "
            f"{target.to_measure} to measure at most"
        )
    if document.busy:
        say(f"note: {document.busy}: what is measured now may be too high, and unsteady", err=True)
    say(f"builds: about {document.builds_expected}, at most {document.builds_at_most}")
    say(f"measuring: about {duration(document.seconds_expected, 2)}, at most {duration(document.seconds_at_most, 2)}")
    if document.tuning_s:
        say(f"tuning, on top of that: at most {duration(document.tuning_s, 2)}")
    after = f"about {duration(document.after_expected_s, 2)}, at most {duration(document.after_at_most_s, 2)}"
    say(f"building and timing whole plans, after that: {after} ({document.basis})")


@click.command()
@click.argument("model")
@run_options
@asks_trust("model")
@watched
def candidates(model: str, as_json: bool, **given: Any) -> None:
    """List the nodes of MODEL, every candidate, and what was rejected with the reason."""
    from ..pipeline.each_shape import find_at_shapes

    with mistakes_located(given["constraints_file"]), prints_to_stderr():
        document = find_at_shapes(model, options_of({**given, "costs": "none"}), _tell_note)
    if as_json:
        print_json(to_json(document))
        return
    for name, one in (document.shapes or {"": document}).items():
        if name:
            say(f"shape {name}")
        _show_candidates(one)


def _show_candidates(document: CandidateSetInfo) -> None:
    for item in document.candidates:
        say(f"{item.id}  {item.target:<14} {item.kind} depth {item.depth}  {item.label}  {list(item.nodes)}")
    for group in document.rejected_counts:
        say(f"rejected {group.count:>6}  {group.target} {group.stage} {group.check} ({group.rule})")


def _tell_note(event: Event) -> None:
    """Print `event` on standard error if it is a note."""
    if isinstance(event, Note):
        say(f"note: {event.text}", err=True)
