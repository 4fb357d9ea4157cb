"""Does the work of runs: partition, search, measure again, build, trace. Called in a worker process, never in the server's.

An engine and plain arguments enter; events leave (`EventReporter`), and the run's outcome, and files in the run's folder
(`run_files`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from collage_core.base.isolation.report import report
from collage_core.documents.compare import AgainstRequest
from collage_core.trace.trace_file import FILE_NAME
from collage_core.what_if.terms import Terms

from ..shared.run_files import ARTIFACT, FORM
from .engine import Engine, Json, Outcome, R
from .event_reporter import EventReporter
from .records import keep_record, load_record, own_record
from .stop_request import StopRequest


def run_pipeline(engine: Engine[R], model: str, options: Json, folder: str) -> Outcome:
    """Run the whole pipeline, with an artifact. Ends with the best plan so far once the server asks for that (`StopRequest`)."""
    with EventReporter() as emit:
        record = engine.partition(Path(model), options, Path(folder) / ARTIFACT, emit, StopRequest(Path(folder)))
    return keep_record(engine, record, Path(folder))


def search(engine: Engine[R], costs: str, base: str, terms: Terms, descriptions: Mapping[str, str], folder: str) -> Outcome:
    """Search alone, on the costs that the run in `base` rests on, and on the estimates of described toolchains where some are given.

    Args:
        costs: The folder of the run that measured these costs.
    """
    with EventReporter() as emit:
        known = load_record(engine, Path(costs))
        if descriptions:
            record = engine.search_again(engine.with_described(known, descriptions, terms, emit), terms, emit)
        else:
            record = engine.search_again(known, terms, emit, own_record(engine, Path(base), Path(costs)))
    engine.save_record(record, Path(folder))
    return keep_record(engine, record, Path(folder))


def measure_again(engine: Engine[R], base: str, model: str, candidate: str, terms: Terms, folder: str) -> Outcome:
    """Measure one candidate of the run in `base` afresh, and search on the costs that are known then."""
    with EventReporter() as emit:
        record = engine.measure_again(load_record(engine, Path(base)), Path(model), candidate, terms, emit)
    engine.save_record(record, Path(folder))
    return keep_record(engine, record, Path(folder))


def decide(engine: Engine[R], base: str, model: str, limit_s: float, terms: Terms, folder: str) -> Outcome:
    """Measure for some seconds what is undecided in the run in `base`, and search on the costs that are known then."""
    with EventReporter() as emit:
        record = engine.decided(load_record(engine, Path(base)), Path(model), limit_s, terms, emit)
    engine.save_record(record, Path(folder))
    return keep_record(engine, record, Path(folder))


def measure_own(engine: Engine[R], base: str, model: str, given: AgainstRequest, folder: str) -> Outcome:
    """Measure a plan of the user's own on the costs of the run in `base`, and whole beside its plan."""
    with EventReporter() as emit:
        record = engine.own_run(load_record(engine, Path(base)), Path(model), given, emit)
    engine.save_record(record, Path(folder))
    return keep_record(engine, record, Path(folder))


def build(engine: Engine[R], model: str, form: str, folder: str) -> Outcome:
    """Build and verify the plan in `folder`, in this form; the record says afterwards how that went."""
    record = load_record(engine, Path(folder))
    with EventReporter() as emit:
        engine.build(record, Path(model), Path(folder) / ARTIFACT, form, emit)
    (Path(folder) / FORM).write_text(form)
    engine.save_record(record, Path(folder))
    return keep_record(engine, record, Path(folder))


def trace(engine: Engine[R], folder: str) -> None:
    """Trace the search of the run in `folder`, and leave the trace there; reports how many steps there are so far."""
    record = load_record(engine, Path(folder))
    engine.trace(record, Path(folder) / FILE_NAME, lambda steps: report([{"steps": steps}]))
