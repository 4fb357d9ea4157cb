"""`make record`: measures samples on this machine, and writes the recorded runs that come with them.

They are written to ``collage_core/model/samples/recorded/<sample>.json.gz``. Run it on an idle machine; the page shows which machine it
was. Of the samples on which one toolchain is best every candidate is measured, even those that cannot matter, since the tests of lazy
measuring replay them. The networks are measured as a user's run measures them: all of their candidates would take hours. The samples that
have no recorded run yet are recorded when they are named (``make record NAMES="crnn ssd300"``).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from suite import NETWORKS, OTHERS, TOOLCHAINS, Case, named

from collage_core.cli.terminal import Progress
from collage_core.options import Options
from collage_core.pipeline.record import write_record
from collage_core.pipeline.run import partition

FOLDER = Path(__file__).resolve().parent.parent / "collage_core" / "model" / "samples" / "recorded"


def options_of(case: Case, threads: int | None = None) -> Options:
    """Return the options of the recorded run of `case`."""
    if case.by_hand is None:
        return Options(targets=("onnxruntime", "openvino", "tvm"), accuracy=case.accuracy, threads=threads, measure_all=True)
    return Options(targets=TOOLCHAINS, accuracy=case.accuracy, threads=threads)


def main() -> int:
    """Record the samples in the arguments, or those that have a recorded run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="only these samples")
    parser.add_argument("--threads", type=int, help="threads of every kernel; the usable cores unless given")
    given = parser.parse_args()
    samples = (*NETWORKS, *OTHERS)
    try:
        cases = named(samples, given.names or [case.name for case in samples if (FOLDER / f"{case.name}.json.gz").exists()])
    except ValueError as error:
        parser.error(str(error))
    FOLDER.mkdir(exist_ok=True)
    for case in cases:
        with Progress() as progress:
            record = partition(case.source, options_of(case, given.threads), progress)
        path = FOLDER / f"{case.name}.json.gz"
        write_record(record, path)
        print(
            f"{path}: {path.stat().st_size / 1024:.0f} KiB, {record.plan.total_s * 1e3:.3g} ms in {len(record.plan.partitions)} partitions"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
