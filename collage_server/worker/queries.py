"""Answers questions about a run that has a record, each within seconds. Called in a worker process, never in the server's.

An engine, the run's folder and plain arguments enter; records and plain data leave, or the path of a file in the run's folder. Only
`profile` measures, and nothing of a run changes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from collage_core.base.whole_file import write_whole
from collage_core.documents.candidates import NodeCandidate, NodeRejection, NodeRequest
from collage_core.documents.dry_run import DryRun
from collage_core.documents.json_form import to_json
from collage_core.documents.node_times import InsideTimes
from collage_core.documents.plan import PlanInfo
from collage_core.errors import CollageError
from collage_core.what_if.questions import CANDIDATES, ESTIMATES, PlainRequest, Question

from ..shared import run_files
from ..shared.json_files import file_content, json_data
from .engine import A, Engine, Json, Outcome, Q, R
from .records import keep_record, load_record, own_record


def prepare(engine: Engine[R]) -> None:
    """Import what the engine needs, so that the call to come finds it there."""
    for name in engine.imports:
        importlib.import_module(name)


def warm(engine: Engine[R], folder: str) -> None:
    """Read the record of `folder` into memory, so that a search on it starts at once."""
    if run_files.record_file(Path(folder)):
        load_record(engine, Path(folder))


def outcome(engine: Engine[R], folder: str) -> Outcome:
    """Return the outcome of the record that is in `folder`, and write its document there."""
    return keep_record(engine, load_record(engine, Path(folder)), Path(folder))


def option_problems(engine: Engine[R], targets: Sequence[str], given: Json) -> list[dict[str, str]]:
    """Return the fields of an `OptionProblem` for each option that is wrong, and for each target of which it says something wrong."""
    return [problem for name, value in given.items() for problem in _problems(engine, targets, name, value)]


def dry_run(engine: Engine[R], model: str, options: Json) -> DryRun:
    """Estimate the builds and the time of a run.

    Raises:
        CollageError: the options are not right, or a target is not usable.
    """
    return engine.dry_run(Path(model), options)


def _problems(engine: Engine[R], targets: Sequence[str], name: str, value: Any) -> Iterator[dict[str, str]]:
    parts = [(target, {target: part_value}) for target, part_value in value.items()] if isinstance(value, Mapping) else [("", value)]
    for target, part in parts:
        try:
            engine.check_option(targets, name, part)
        except CollageError as error:
            yield {"option": name, "target": target, "message": error.message, "hint": error.hint}


def ask(engine: Engine[R], folder: str, question: Question[..., Q, A], request: Q, own: str | None = None) -> A:
    """Return the answer to `question` about the run in `folder`. Raises as `Engine.ask`.

    Args:
        own: The folder of the run that is meant, where that in `folder` has its costs.
    """
    costs = Path(folder)
    return engine.ask(load_record(engine, costs), question, request, None if own is None else own_record(engine, Path(own), costs))


def packed_node_candidates(engine: Engine[R], folder: str) -> Json:
    """Return the fields of `PackedNodeCandidates`: what `CANDIDATES` says of every node."""
    record = load_record(engine, Path(folder))
    candidates, rejections = _Rows(), _Rows()
    nodes = []
    for node in range(engine.node_count(record)):
        answer = engine.ask(record, CANDIDATES, NodeRequest(node))
        held = [candidates.index(row.id, row) for row in answer.candidates]
        refused = [rejections.index((row.target, row.stage, row.reason, *row.nodes), row) for row in answer.rejections]
        nodes.append({"candidates": held, "rejections": refused})
    return json_data({"candidates": candidates.rows, "rejections": rejections.rows, "nodes": nodes})


class _Rows:
    """Rows, each once."""

    def __init__(self) -> None:
        self.rows: list[NodeCandidate | NodeRejection] = []
        self._index: dict[Hashable, int] = {}

    def index(self, key: Hashable, row: NodeCandidate | NodeRejection) -> int:
        """Return the index of the row of `key`; it is `row` where there is none yet."""
        index = self._index.setdefault(key, len(self.rows))
        if index == len(self.rows):
            self.rows.append(row)
        return index


def why_not_forms(engine: Engine[R], folder: str) -> dict[str, str]:
    """Return form of an artifact → why the run's plan cannot have it (`ExportInfo.why_not`)."""
    return engine.why_not_forms(load_record(engine, Path(folder)))


def write_candidates(engine: Engine[R], folder: str, run: str) -> str | bytes:
    """Write `PackedCandidates` of the run into a file, unless it is there; returns its path, or its content where it cannot be written."""
    return _kept(Path(folder) / run_files.CANDIDATES, lambda: {"run": run, **engine.candidate_table(load_record(engine, Path(folder)))})


def write_estimates(engine: Engine[R], folder: str, run: str) -> str | bytes:
    """Write `RunEstimates` of the run into a file, unless it is there; returns its path, or its content where it cannot be written."""
    return _kept(Path(folder) / run_files.ESTIMATES, lambda: {"run": run, **to_json(ask(engine, folder, ESTIMATES, PlainRequest()))})


def _kept(file: Path, make: Callable[[], Json]) -> str | bytes:
    """Write what `make` gives into the file, where the file is missing or older than the run's record."""
    record = run_files.record_file(file.parent)
    if record is not None and file.exists() and file.stat().st_mtime_ns >= record.stat().st_mtime_ns:
        return str(file)
    content = file_content(file, json_data(make()))
    try:
        write_whole(file, content)
    except OSError:  # a disk that is full or read-only: the answer needs none
        return content
    return str(file)


def baseline_plan(engine: Engine[R], folder: str, name: str) -> PlanInfo:
    """Return the plan of the baseline `name`.

    Raises:
        CollageError: it cannot take the whole model.
    """
    return engine.baseline_plan(load_record(engine, Path(folder)), name)


def profile(engine: Engine[R], folder: str) -> InsideTimes:
    """Return the profile of the artifact in `folder`, which is run for about a second."""
    return engine.profile(Path(folder) / run_files.ARTIFACT)
