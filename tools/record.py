"""`make record`: measures samples on this machine, and writes the recorded runs that come with them.

They are written to ``collage_core/model/samples/recorded/<sample>.json.gz``. Run it on an idle machine; the page shows which machine it
was. They are measured as a user's run measures them, the samples on which one toolchain is best on TVM as well. The samples that have no
recorded run yet are recorded when they are named (``make record NAMES="crnn ssd300"``).

``--profile`` measures nothing: it profiles the plans of recorded runs, for the times inside their partitions, on the kind of machine and
with the versions of toolchains that measured them, and says in the record when that was. Where the kernels took much longer than the
cost, the machine was not idle: do it again.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from suite import NETWORKS, OTHERS, TOOLCHAINS, Case, named

from collage_core.base.isolation.worker import Worker
from collage_core.cli.terminal import Progress
from collage_core.cost.database.records import machine_id
from collage_core.errors import CollageError
from collage_core.options import Options
from collage_core.pipeline.discover import load_as_planned
from collage_core.pipeline.inside.profile_nodes import profiled_times
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.node_times import PROFILER
from collage_core.pipeline.record.record import RunRecord, read_record, write_record
from collage_core.toolchains.registry import get

FOLDER = Path(__file__).resolve().parent.parent / "collage_core" / "model" / "samples" / "recorded"


def options_of(case: Case, threads: int | None = None) -> Options:
    """Return the options of the recorded run of `case`."""
    targets = TOOLCHAINS if case.by_hand else (*TOOLCHAINS, "tvm")
    return Options(targets=targets, accuracy=case.accuracy, threads=threads)


def check_same(record: RunRecord) -> None:
    """Raise CollageError unless this is the kind of machine that measured `record`, with the same versions of its toolchains."""
    here = {target.name: get(target.name).availability().version for target in record.plan.targets}
    changed = [f"{target.name} {target.version}" for target in record.plan.targets if here[target.name] != target.version]
    if record.machine != machine_id() or changed:
        was = ", ".join([record.machine, *changed])
        raise CollageError(f"the run was measured with {was}, which this machine has not", "record it again", "other_machine")


def profile(record: RunRecord, source: str, today: date) -> None:
    """Profile the plan of `record` here, however long it takes, and fill the times of its nodes in; `source` is its model.

    Raises:
        CollageError: another machine measured it, or other versions did.
    """
    check_same(record)
    model = load_as_planned(record.plan, source)
    with Worker() as worker:
        times = profiled_times(model, record.plan, model.seeded_inputs(), worker, clock=lambda: 0.0)
    told = [replace(one, reason=f"profiled on {today}, after the run") if one.source == PROFILER else one for one in times]
    record.document = replace(record.document, node_times=tuple(told))


def main() -> int:
    """Record the samples in the arguments, or those that have a recorded run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="only these samples")
    parser.add_argument("--threads", type=int, help="threads of every kernel; the usable cores unless given")
    parser.add_argument("--profile", action="store_true", help="measure nothing, and profile the plans of the recorded runs")
    given = parser.parse_args()
    samples = (*NETWORKS, *OTHERS)
    try:
        cases = named(samples, given.names or [case.name for case in samples if (FOLDER / f"{case.name}.json.gz").exists()])
    except ValueError as error:
        parser.error(str(error))
    FOLDER.mkdir(exist_ok=True)
    for case in cases:
        path = FOLDER / f"{case.name}.json.gz"
        if given.profile:
            record = read_record(path)
            profile(record, case.source, datetime.now(UTC).date())
            for times in record.node_times:
                cost_s = next(part.cost_s or 0.0 for part in record.plan.partitions if part.id == times.partition)
                print(f"{case.name}: {times.source}, {(times.profiled_s or 0.0) * 1e3:.3g} ms, the cost is {cost_s * 1e3:.3g} ms")
        else:
            with Progress() as progress:
                record = partition(case.source, options_of(case, given.threads), progress)
        write_record(record, path)
        print(
            f"{path}: {path.stat().st_size / 1024:.0f} KiB, {record.plan.total_s * 1e3:.3g} ms in {len(record.plan.partitions)} partitions"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
