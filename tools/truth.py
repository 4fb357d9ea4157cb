"""Prints what each surface says of recorded runs, side by side, and what of it contradicts (``make truth``).

Names of samples with a recorded run, or folders of runs, enter; lines leave. Nothing is measured. The exit status is 1 where two surfaces
contradict each other.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from collage_core.base.durations import duration  # noqa: E402
from collage_core.cli.terminal import show_plan  # noqa: E402
from collage_core.documents.run import Alternative  # noqa: E402
from collage_core.documents.statement_text import change_text, predicted_text  # noqa: E402
from collage_core.documents.statements import Statement, of_row, time_of_run, turned, under_restriction  # noqa: E402
from collage_core.documents.verdict import verdict  # noqa: E402
from collage_core.errors import CollageError, InfeasibleError, printable  # noqa: E402
from collage_core.pipeline.record.known_regret import KnownRegret  # noqa: E402
from collage_core.pipeline.record.record import RunRecord  # noqa: E402
from collage_core.pipeline.whole.differences import differences  # noqa: E402
from collage_core.results.notebook_html import Page, result_html  # noqa: E402
from collage_core.results.tables import partition_table  # noqa: E402
from collage_core.rules.spec import HOST_TARGET  # noqa: E402
from collage_core.survey.row import planned_row  # noqa: E402
from collage_core.what_if.compare import compare_sides, side_of, side_of_baseline  # noqa: E402
from collage_core.what_if.questions import WHAT_IF  # noqa: E402
from collage_core.what_if.terms import Terms  # noqa: E402
from collage_core.what_if.undecided import undecided  # noqa: E402
from collage_core.what_if.what_if import effects, what_if  # noqa: E402
from collage_core.what_if.worth import worth  # noqa: E402

RECORDED = ROOT / "collage_core" / "model" / "samples" / "recorded"
TEN = ("crnn", "gpt2", "inception", "lstm", "mini_mnist", "mnist", "quantised", "resnet50", "speech_lstm", "squeezenet")
NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Cell:
    """A text of one surface about one subject.

    Attributes:
        seconds: The number in it, or a share; None where the surface says that it is not known, or says a sentence.
    """

    subject: str
    surface: str
    text: str
    seconds: float | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="*", default=TEN, help="samples with a recorded run, or folders of runs (default: ten samples)")
    parser.add_argument("--candidates", type=int, default=4, help="how many candidates are asked about (default: %(default)s)")
    options = parser.parse_args()
    faults = 0
    for name in options.runs:
        said = list(cells(record_of(name), options.candidates))
        print("\n".join([name, *side_by_side(said)]))
        for text in contradictions(said):
            faults += 1
            print(f"  CONTRADICTION {text}")
    sys.exit(1 if faults else 0)


def record_of(name: str) -> RunRecord:
    sample = RECORDED / f"{name}.json.gz"
    return RunRecord.load(sample if sample.exists() else Path(name))


def cells(record: RunRecord, candidates: int = 4) -> Iterator[Cell]:
    """Yield what the surfaces say of a run, and of so many of its candidates."""
    yield from _of_verdict(record)
    yield from _of_plan(record)
    for row in record.document.alternatives:
        if not row.is_plan:
            yield from _beside(record, row)
    yield from _of_worth(record)
    yield from _of_stability(record)
    others = sorted(item.id for item in record.problem.candidates if item.target != HOST_TARGET)
    for candidate in others[:: max(1, len(others) // max(candidates, 1))][:candidates]:
        yield from _with_candidate(record, candidate)


def _of_verdict(record: RunRecord) -> Iterator[Cell]:
    document = record.document
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        show_plan(document)
    page = re.search(r"<b>(.*?)</b>", result_html(record, Page("", "")))
    yield Cell("verdict", "terminal", out.getvalue().splitlines()[0])
    yield Cell("verdict", "notebook", printable(unescape(page.group(1))) if page else "")
    yield Cell("verdict", "survey", printable(planned_row("m", "m", document, 1.0).verdict))
    yield Cell("verdict", "Python", printable(verdict(document).text))


def _of_plan(record: RunRecord) -> Iterator[Cell]:
    document, side = record.document, side_of(record).compared
    own, survey = time_of_run(document), planned_row("m", "m", document, 1.0).plan
    kept = what_if(record, Terms(record.plan.constraints))
    yield Cell("its predicted time", "document", predicted_text(document.plan), own.predicted_s)
    yield Cell("its predicted time", "compare", _seconds(side.total_s), side.total_s)
    yield Cell("its measured time", "document", _seconds(own.measured_s), own.measured_s)
    yield Cell("its measured time", "compare", _seconds(side.measured_s), side.measured_s)
    if survey is not None:
        yield Cell("its predicted time", "survey", _seconds(survey.predicted_s), survey.predicted_s)
        yield Cell("its measured time", "survey", _seconds(survey.measured_s), survey.measured_s)
    yield Cell("its own constraints once more", WHAT_IF.name, kept.change_text, kept.change.change_s)
    yield Cell("its own constraints once more", "the plan itself", "no change", 0.0)


def _beside(record: RunRecord, row: Alternative) -> Iterator[Cell]:
    """Yield how another plan compares with that of the run; no plan that holds more than the run's is said to be faster."""
    subject, folder = f"beside {row.name}", side_of(record)
    yield _statement(subject, "alternatives", of_row(record.document, row))
    try:
        other = side_of_baseline(row.name, record, row.name)
    except CollageError:
        return
    yield _statement(subject, "compare", turned(compare_sides(folder, other).change))
    for difference in differences(record):
        if difference.name == row.name and difference.apparent_loss_s is not None:
            seconds = -difference.apparent_loss_s
            yield Cell(
                subject, "partitionings", difference.change_text, max(0.0, seconds) if difference.is_measured or seconds >= 0 else None
            )
    pins = [{"kind": "pin", "candidate": part.id} for part in row.partitions if part.target != HOST_TARGET]
    known = {item.id for item in record.problem.candidates}
    if known.issuperset(part.id for part in row.partitions):
        with contextlib.suppress(InfeasibleError):
            answer = what_if(record, Terms([*record.plan.constraints, *pins]))
            yield Cell(subject, WHAT_IF.name, answer.change_text, answer.change.change_s)


def _of_worth(record: RunRecord) -> Iterator[Cell]:
    rows = {row.name: row for row in record.document.alternatives if row.measured_s is not None and not row.is_plan}
    for one in worth(record).sets:
        name = "+".join(one.targets)
        if one.against is not None and name in rows:
            yield _statement(f"beside {name}", "by-targets", one.against)


def _of_stability(record: RunRecord) -> Iterator[Cell]:
    header, lines = partition_table(record)
    at, named = header.index("stability"), header.index("id")
    table = {line[named]: line[at] for line in lines}
    asked = {part.id: part.stability for part in undecided(record).partitions}
    for part in record.document.plan.partitions:
        if part.target != HOST_TARGET:
            subject, in_table = f"stability of {part.id}", table[part.id]
            for surface, share in (("document", part.stability), ("partitions.csv", in_table), ("undecided", asked[part.id])):
                yield Cell(subject, surface, NOT_KNOWN if share is None else f"{share:.0%}", None if share is None else float(share))


def _with_candidate(record: RunRecord, candidate: str) -> Iterator[Cell]:
    """Yield what the best plan with a candidate costs more."""
    subject, inside = f"with {candidate}", next(item.inside for item in record.problem.candidates if item.id == candidate)
    row = next(row for row in record.node_candidates(inside.first()).candidates if row.id == candidate)
    (asked,) = record.regrets_of([candidate])
    yield Cell(subject, "explain", KnownRegret.of_row(row).text(duration), row.regret_s)
    yield Cell(subject, "costs", _seconds(asked.regret_s), asked.regret_s)
    if row.regret_s is None and not row.rests_on_unknown:
        return  # how much is not known since the search for it would take too long, or it is in no plan
    terms = Terms([*record.plan.constraints, {"kind": "pin", "candidate": candidate}])
    with contextlib.suppress(InfeasibleError):
        answer = what_if(record, terms)
        yield Cell(subject, WHAT_IF.name, answer.change_text, answer.change.change_s)
        effect = next(iter(effects(record, terms, [[len(record.plan.constraints)]]).groups), None)
        if effect is not None and effect.alone is not None and not record.plan.constraints:
            yield Cell(subject, "effect", effect.text, effect.alone.change_s)


def _statement(subject: str, surface: str, statement: Statement) -> Cell:
    held = under_restriction(statement)
    return Cell(subject, surface, change_text(held), held.change_s)


def _seconds(seconds: float | None) -> str:
    return NOT_KNOWN if seconds is None else duration(seconds)


def side_by_side(cells: Iterable[Cell]) -> Iterator[str]:
    """Yield a line for each subject and text, with the surfaces that say it."""
    for subject, group in _by_subject(cells).items():
        texts: dict[str, list[str]] = defaultdict(list)
        for cell in group:
            texts[cell.text].append(cell.surface)
        for text, surfaces in texts.items():
            yield f"  {subject:<36} {', '.join(surfaces)}: {text}"


def contradictions(cells: Iterable[Cell]) -> list[str]:
    """Return the subjects of which two surfaces say two things."""
    faults = []
    for subject, group in _by_subject(cells).items():
        first = group[0]
        for cell in group[1:]:
            if subject == "verdict":
                agree = cell.text == first.text
            elif first.seconds is None or cell.seconds is None:
                agree = first.seconds is cell.seconds
            else:
                agree = math.isclose(first.seconds, cell.seconds, rel_tol=1e-6, abs_tol=1e-9)
            if not agree:
                faults.append(f"{subject}: {first.surface} says {first.text!r}, {cell.surface} {cell.text!r}")
    return faults


def _by_subject(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    groups: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.subject].append(cell)
    return groups


if __name__ == "__main__":
    main()
