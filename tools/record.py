"""`make record`: measures the samples on this machine, and writes the recorded runs that come with them.

They are written to ``collage_core/model/samples/recorded/<sample>.json.gz``. Every candidate is measured, even those that cannot matter,
since the tests of lazy measuring replay them. Run it on an idle machine; the page shows which machine it was. Samples that have no
recorded run yet are recorded when they are named: the large ones take hours.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from collage_core.cli.terminal import Progress
from collage_core.model.samples.registry import SAMPLES
from collage_core.options import Options
from collage_core.pipeline.record import write_record
from collage_core.pipeline.run import partition

FOLDER = Path(__file__).resolve().parent.parent / "collage_core" / "model" / "samples" / "recorded"


def main() -> int:
    """Record the samples in the arguments, or those that have a recorded run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="only these samples")
    names = parser.parse_args().names or [name for name in SAMPLES if (FOLDER / f"{name}.json.gz").exists()]
    FOLDER.mkdir(exist_ok=True)
    for name in names:
        with Progress() as progress:
            record = partition(name, Options(targets=("onnxruntime", "openvino", "tvm"), measure_all=True), progress)
        path = FOLDER / f"{name}.json.gz"
        write_record(record, path)
        print(
            f"{path}: {path.stat().st_size / 1024:.0f} KiB, {record.plan.total_s * 1e3:.3g} ms in {len(record.plan.partitions)} partitions"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
