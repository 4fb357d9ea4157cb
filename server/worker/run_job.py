"""What a run's own process does. These functions are called in a worker process, never in the server's.

In go plain arguments; out come events by `report`, some plain ones at a time, the run's outcome, and files in the run's
folder: the record (``run.json.gz`` and ``plan.json``: beside the artifact where one was asked for, else in the folder
itself) and ``document.json.gz`` (what ``collage partition --json`` prints). The pipeline is named by its module, so that
the server itself imports nothing of it.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from collage_core.base.isolation.report import report
from collage_core.errors import CollageError
from collage_core.events import Event

from ..base.json_files import plain, write_json
from ..base.thinning import is_thinnable, thin

DOCUMENT = "document.json.gz"
ARTIFACT = "artifact"
RECORD = "run.json.gz"
PLAN = "plan.json"

FLUSH_S = 0.025
BUNDLE_THINNABLE = 40
RECORDS_KEPT = 3

Outcome = dict[str, Any]
"""What the server needs of a record: its ``document``, ``machine``, ``model``, ``model_name``, ``targets``,
``constraints`` and ``created``."""

_records: OrderedDict[tuple[str, int], Any] = OrderedDict()
"""Records that this process has in memory, by file and time of writing, the newest last."""


def record_file(folder: Path) -> Path | None:
    """Where the record of the run in `folder` lies, if it has one yet."""
    places = (folder / RECORD, folder / ARTIFACT / RECORD)
    return next((place for place in places if place.exists()), None)


def prepare(pipeline: str) -> None:
    """Import the pipeline, so that the run to come finds it there."""
    importlib.import_module(pipeline)


def warm(pipeline: str, folder: str) -> None:
    """Have the record of `folder` in memory, so that a search on it starts at once."""
    if record_file(Path(folder)):
        load_record(pipeline, Path(folder))


def partition(pipeline: str, model: str, options: Mapping[str, Any], folder: str) -> Outcome:
    """The whole pipeline, with an artifact."""
    module = importlib.import_module(pipeline)
    with _Reporter() as emit:
        record = module.partition(Path(model), module.Options(**options, out=Path(folder) / ARTIFACT), emit)
    return _outcome(record, Path(folder))


def search(pipeline: str, base: str, constraints: Iterable[Mapping[str, Any]], accuracy: float | None, folder: str) -> Outcome:
    """Phase 3 alone, on the costs of the run in `base`; candidates that err by more than `accuracy` are left out."""
    module = importlib.import_module(pipeline)
    with _Reporter() as emit:
        record = module.search_again(load_record(pipeline, Path(base)), list(constraints), emit, accuracy)
    record.save(Path(folder))
    return _outcome(record, Path(folder))


def measure_again(
    pipeline: str, base: str, model: str, candidate: str, constraints: Iterable[Mapping[str, Any]], accuracy: float | None, folder: str
) -> Outcome:
    """One candidate of the run in `base` measured afresh, and the search again on the costs that are known then."""
    module = importlib.import_module(pipeline)
    with _Reporter() as emit:
        record = module.measure_again(load_record(pipeline, Path(base)), Path(model), candidate, emit, list(constraints), accuracy)
    record.save(Path(folder))
    return _outcome(record, Path(folder))


def search_with(
    pipeline: str,
    base: str,
    constraints: Iterable[Mapping[str, Any]],
    accuracy: float | None,
    folder: str,
    descriptions: Mapping[str, str],
) -> Outcome:
    """As `search`, with the estimates of described toolchains beside the costs that are known."""
    module, given = importlib.import_module(pipeline), list(constraints)
    with _Reporter() as emit:
        known = module.with_described(load_record(pipeline, Path(base)), descriptions, given, emit)
        record = module.search_again(known, given, emit, accuracy)
    record.save(Path(folder))
    return _outcome(record, Path(folder))


def build(pipeline: str, model: str, folder: str) -> Outcome:
    """Phase 4 and verification of the plan in `folder`; the record says afterwards how that went."""
    module = importlib.import_module(pipeline)
    record = load_record(pipeline, Path(folder))
    with _Reporter() as emit:
        verify = module.apply(record.plan, Path(model), Path(folder) / ARTIFACT, emit)
    record.document["verify"] = verify
    record.save(Path(folder))
    return _outcome(record, Path(folder))


def outcome(pipeline: str, folder: str) -> Outcome:
    """The outcome of the record that is in `folder`."""
    return _outcome(load_record(pipeline, Path(folder)), Path(folder))


def node_candidates(pipeline: str, folder: str, node: int) -> dict[str, Any]:
    """Every candidate that holds `node`, and what was rejected.

    Raises:
        CollageError: the model has no such node.
    """
    record = load_record(pipeline, Path(folder))
    if not 0 <= node < len(record.graph):
        raise CollageError(f"there is no node {node}: the model has {len(record.graph)}", "nodes are numbered from 0", "unknown_node")
    return plain(record.node_candidates(node))


def regrets(pipeline: str, folder: str, candidates: list[str]) -> list[dict[str, Any]]:
    """What insisting on each of these candidates costs."""
    return plain(load_record(pipeline, Path(folder)).regrets_of(set(candidates)))


def load_record(pipeline: str, folder: Path) -> Any:
    """The record of the run in `folder`, from memory where it was read before.

    Raises:
        CollageError: the run has none.
    """
    file = record_file(folder)
    if file is None:
        raise CollageError("the run has no plan", "run it again", "no_record")
    key = (str(file), file.stat().st_mtime_ns)
    if key not in _records:
        _records[key] = importlib.import_module(pipeline).RunRecord.load(file.parent)
    return _remembered(key)


def _outcome(record: Any, folder: Path) -> Outcome:
    """Writes the record's document; keeps the record in memory for the search that mostly comes next."""
    document = plain(record.document)
    write_json(folder / DOCUMENT, document)
    file = record_file(folder)
    if file is not None:
        key = (str(file), file.stat().st_mtime_ns)
        _records[key] = record
        _remembered(key)
    plan = record.plan
    return {
        "document": document,
        "machine": record.machine,
        "model": plan.model.hash,
        "model_name": plan.model.name,
        "targets": [target.name for target in plan.targets],
        "constraints": plain(list(plan.constraints)),
        "created": record.created,
    }


def _remembered(key: tuple[str, int]) -> Any:
    _records.move_to_end(key)
    while len(_records) > RECORDS_KEPT:
        _records.popitem(last=False)
    return _records[key]


class _Reporter:
    """Hands events to the server: decisions at once, the others in bundles some 25 ms apart, thinned where there are many."""

    def __init__(self) -> None:
        self._waiting: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._sent = 0.0
        self._flusher = threading.Thread(target=self._flush_now_and_then, daemon=True)

    def __enter__(self) -> Callable[[Event], None]:
        self._flusher.start()
        return self.emit

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._flusher.join()
        self._flush()

    def emit(self, event: Event) -> None:
        with self._lock:
            self._waiting.append(plain(event.to_json()))
        if not is_thinnable(type(event).__name__) or time.monotonic() - self._sent > FLUSH_S:
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            if self._waiting:
                report(_thinned(self._waiting))
                self._waiting = []
                self._sent = time.monotonic()

    def _flush_now_and_then(self) -> None:
        while not self._over.wait(FLUSH_S):
            self._flush()


def _thinned(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events, of the thinnable ones no more than a bundle may have."""
    places = [place for place, event in enumerate(events) if is_thinnable(event["type"])]
    if len(places) <= BUNDLE_THINNABLE:
        return events
    kept = set(thin(places, BUNDLE_THINNABLE))
    return [event for place, event in enumerate(events) if place in kept or not is_thinnable(event["type"])]
