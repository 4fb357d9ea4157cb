"""`collage check`: whether a plan still holds, for a job that runs at each change of a model or of what is installed."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import click

from ..base.durations import duration
from ..errors import CollageError
from ..events import Emit
from ..pipeline.record.record import FILE_NAME, RunRecord
from .json_output import print_json
from .say import say
from .trust import asks_trust
from .watched import watched


@click.command()
@click.argument("model")
@click.option("--against", "plan", type=click.Path(path_type=Path), required=True, help="The plan, or the folder of its run.")
@click.option("--slower-than", metavar="5%", help="Fail if the plan takes so much longer than in its run on this machine.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@asks_trust("model")
@watched
def check(model: str, plan: Path, slower_than: str | None, as_json: bool) -> None:
    """Check that a plan is still valid for MODEL and this installation, still right, and still as fast.

    The command builds the plan again and opens the artifact beside it. It names versions that have changed since. Where the run lies beside
    the plan, its last line says how the plan does today beside the best single toolchain.
    """
    from ..pipeline.check_plan import check_plan
    from ..pipeline.whole.errors_by_set import error_text
    from .terminal import Progress

    allowed = None if slower_than is None else share(slower_than)
    run = plan if plan.is_dir() else plan.parent
    with Progress(quiet=as_json and not sys.stderr.isatty()) as progress:
        found = check_plan(plan, model, allowed, progress)
        leads = _verdict(run, model, progress) if (run / FILE_NAME).is_file() else None
    if as_json:
        print_json({**found.to_json(), "verdict": leads})
        return
    took = f", {duration(found.measured_s)}" if found.measured_s is not None else ""
    before = f" ({duration(found.expected_s)} {found.basis} when it was made)" if found.expected_s is not None else ""
    say(f"the plan holds: {error_text(found.max_rel_error, found.sets)}{took}{before}")
    if found.shipped is not None:
        shipped = found.shipped
        say(f"the artifact in {shipped.folder} opens: {error_text(shipped.max_rel_error, found.sets)}, {duration(shipped.measured_s)}")
    if leads is not None:
        say(leads)


def _verdict(run: Path, model: str, emit: Emit) -> str:
    """Return the verdict on the plan of `run` by times of now; why there is none where it cannot be timed beside another one."""
    from ..what_if.verdict_now import verdict_now

    try:
        return verdict_now(RunRecord.load(run), model, emit).text
    except CollageError as error:
        return f"not compared with a single toolchain: {error.message}"


def share(text: str) -> float:
    """Return the share that a text such as ``5%`` or ``0.05`` says.

    Raises:
        CollageError: it says none.
    """
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise CollageError(f"--slower-than is {text!r}, it must be a share", "such as 5% or 0.05", "bad_option")
    return found
