"""`make contract-cost`: counts the candidates of the samples that the value contract takes away, and what that costs in time.

Each sample is searched with the contract and without it, on the costs that are recorded with it. A table leaves, in the form of
docs/values.md. Without the contract a candidate that was never measured has no cost, so that a total says what recorded candidates bring.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from collage_core.errors import CollageError, InfeasibleError  # noqa: E402
from collage_core.events import ignore  # noqa: E402
from collage_core.graph.value_policy import FINITE, VALUE_POLICIES  # noqa: E402
from collage_core.model.samples.registry import SAMPLES  # noqa: E402
from collage_core.options import Options  # noqa: E402
from collage_core.pipeline.discover import CandidateSet, Phases  # noqa: E402
from collage_core.pipeline.partition import partition  # noqa: E402
from collage_core.toolchains.ncnn import ncnn_operators  # noqa: E402
from collage_core.toolchains.values.exact_values import Contract  # noqa: E402

TARGETS = ("onnxruntime", "openvino", "tvm", "ncnn")
RECORDED = ROOT / "collage_core/model/samples/recorded"


@dataclass(frozen=True)
class Row:
    """A sample under one policy.

    Attributes:
        without, kept: Target → its candidates without the contract and with it.
        without_s, kept_s: Total of the plan on recorded costs; None where there are none, or no plan.
    """

    sample: str
    without: Mapping[str, int]
    kept: Mapping[str, int]
    without_s: float | None
    kept_s: float | None


@contextmanager
def no_contract() -> Iterator[None]:
    """Let the rules of all toolchains take calls whatever their values are."""
    with mock.patch.object(Contract, "refusal", return_value=""), mock.patch.object(ncnn_operators, "_near_zero", return_value=""):
        yield


def measured(sample: str, policy: str, targets: Sequence[str]) -> Row:
    """Return the row of a sample."""
    kept, kept_s = _counted(sample, policy, targets)
    with no_contract():
        without, without_s = _counted(sample, policy, targets)
    return Row(sample, without, kept, without_s, kept_s)


def _counted(sample: str, policy: str, targets: Sequence[str]) -> tuple[dict[str, int], float | None]:
    """Return target → candidates, and the total of the plan on recorded costs."""
    record = RECORDED / f"{sample}.json.gz"
    options = Options(tuple(targets), costs=f"replay:{record}" if record.is_file() else "roofline", value_policy=policy)
    found = CandidateSet(sample, options, Phases(ignore), ignore)
    counts = Counter({target: len(found.by_target[target]) for target in targets})
    if not record.is_file():
        return counts, None
    try:
        return counts, partition(sample, options).plan.total_s
    except InfeasibleError:
        return counts, None


def table(rows: Sequence[Row], targets: Sequence[str]) -> str:
    """Return the rows as a table of Markdown."""
    lines = [f"| sample | {' | '.join(targets)} | plan without, ms | with, ms |", f"|---|{'---|' * len(targets)}---|---|"]
    for row in rows:
        cells = [_change(row.without[target], row.kept[target]) for target in targets]
        lines.append(f"| {row.sample} | {' | '.join([*cells, _milliseconds(row.without_s), _milliseconds(row.kept_s)])} |")
    return "\n".join(lines)


def _change(without: int, kept: int) -> str:
    return str(kept) if kept == without else f"{without} → {kept}"


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1e3 * seconds:.3f}"


def main() -> int:
    """Print the table of the samples that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("samples", nargs="*", default=list(SAMPLES), help="all unless named")
    parser.add_argument("--values", default=FINITE, choices=VALUE_POLICIES)
    parser.add_argument("--targets", default=",".join(TARGETS))
    given = parser.parse_args()
    targets, rows = given.targets.split(","), []
    for sample in given.samples:
        try:
            rows.append(measured(sample, given.values, targets))
        except CollageError as error:
            print(f"{sample}: {error}", file=sys.stderr)
        else:
            print(table(rows[-1:], targets).splitlines()[-1], file=sys.stderr, flush=True)
    print(table(rows, targets))
    return 0


if __name__ == "__main__":
    sys.exit(main())
