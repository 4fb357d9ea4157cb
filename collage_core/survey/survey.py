"""`survey`: a run for each of many models, in a child process each, with what was planned before read from its folder.

Models, options and a folder enter; rows leave, one after another, with the time that is left. The folder holds a folder for each model
(plan, run, artifact, and the row), so a survey that was interrupted goes on where it ended.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, with_config

from ..base.isolation.environment import database_access
from ..base.isolation.memory import available_bytes
from ..base.isolation.report import report
from ..base.isolation.worker import Worker
from ..base.isolation.worker_errors import WorkerError
from ..base.whole_file import write_whole
from ..documents.run import RunDocument
from ..documents.survey import SurveyRow
from ..errors import CollageError
from ..events import Emit, ignore
from ..model.files.file_digests import file_digest
from ..model.samples.registry import resolve
from ..options import Options
from ..version import __version__
from .row import FAILED, PLANNED, REFUSED, planned_row

ROW = "survey.json"
MODEL_ENDINGS = (".onnx",)
"""Files of a folder that are surveyed; files that are named themselves may be of any kind that opens."""
MEMORY_SHARE = 0.75
"""Largest share of the free memory that the process of one run may take; its workers have bounds of their own."""


@dataclass(frozen=True)
class SurveyStep:
    """A model whose turn it is (`row` is None), or whose row is there.

    Attributes:
        number, count: Its number, from 1, and how many there are.
        was_known: Whether the row was read from an earlier survey.
        left_s: Estimated seconds for the models after it; None before any was run.
    """

    number: int
    count: int
    model: str
    row: SurveyRow | None = None
    was_known: bool = False
    left_s: float | None = None


Run = Callable[[str, Options, Emit], RunDocument]
"""Runs one model and returns its document."""


def models_of(named: Sequence[str]) -> dict[str, str]:
    """Return name in the table → model, for files, samples, and the ONNX files in folders.

    A name is that of the file without its ending; the second of equal ones gets ``-2``, and so on.

    Raises:
        CollageError: a folder holds no model.
    """
    models: dict[str, str] = {}
    for source in named:
        path = Path(source)
        inside = sorted(str(file) for file in path.iterdir() if file.suffix in MODEL_ENDINGS) if path.is_dir() else [source]
        if not inside:
            raise CollageError(
                f"the folder {source!r} holds no model", f"give files, or a folder of {' or '.join(MODEL_ENDINGS)} files", "no_file"
            )
        for one in inside:
            name = stem = Path(one).stem or one
            number = 1
            while name in models:
                number += 1
                name = f"{stem}-{number}"
            models[name] = one
    return models


def survey(models: Mapping[str, str], options: Options, folder: Path, emit: Emit = ignore, run: Run | None = None) -> Iterator[SurveyStep]:
    """Run each model, and yield two steps for it: before its run and after.

    A row with a plan is read from `folder` where the model's file, the options and this version are those that it was made with. All
    others are made: also those of models that were refused or failed, since what was missing may be there now.

    Args:
        models: As `models_of` returns them.
        options: Of every run; `out` is ignored.
        emit: Receives the events of the runs.
        run: In place of a run in a child process.
    """
    with _Runner() as runner:
        took_s: list[float] = []
        keys = {name: _key(source, options) for name, source in models.items()}
        known = {name: _read_row(folder / name / ROW, keys[name]) for name in models}
        for number, (name, source) in enumerate(models.items(), 1):
            row = known[name]
            if row is None:
                yield SurveyStep(number, len(models), name, left_s=_left_s(took_s, known, name, is_running=True))
                row = _row_of(name, source, replace(options, out=folder / name), emit, run or runner)
                took_s.append(row.seconds)
                _write_row(folder / name, keys[name], row)
                yield SurveyStep(number, len(models), name, row, left_s=_left_s(took_s, known, name, is_running=False))
            else:
                yield SurveyStep(number, len(models), name, row, was_known=True, left_s=_left_s(took_s, known, name, is_running=False))


def _left_s(took_s: Sequence[float], known: Mapping[str, SurveyRow | None], name: str, *, is_running: bool) -> float | None:
    """Return the mean time of the runs so far for each model that is still to be run."""
    after = list(known)[list(known).index(name) + (not is_running) :]
    left = sum(known[one] is None for one in after)
    return None if not took_s and left else left * sum(took_s) / max(1, len(took_s))


def _row_of(name: str, source: str, options: Options, emit: Emit, run: Run) -> SurveyRow:
    began = time.monotonic()
    try:
        document = run(source, options, emit)
    except CollageError as error:
        return SurveyRow(name, source, REFUSED, error.message, error.hint, time.monotonic() - began)
    except WorkerError as error:
        hint = "`collage partition` with this model alone says more"
        return SurveyRow(name, source, FAILED, f"the run of {source!r} {error}", hint, time.monotonic() - began)
    return planned_row(name, source, document, time.monotonic() - began)


class _Runner:
    """Runs models in one child process after another: it stays warm until a model ends it."""

    def __init__(self) -> None:
        self._worker = Worker(memory_bytes=int(available_bytes() * MEMORY_SHARE), environment=database_access())

    def __enter__(self) -> _Runner:
        return self

    def __exit__(self, *exc: object) -> None:
        self._worker.close()

    def __call__(self, source: str, options: Options, emit: Emit) -> RunDocument:
        document: RunDocument = self._worker.call(run_model, source, options, timeout_s=math.inf, on_progress=emit)
        return document


def run_model(source: str, options: Options) -> RunDocument:
    """Run the pipeline for one model, and return its document; events go to `report`."""
    from ..pipeline.partition import partition, region_document

    return region_document(partition(source, options, report))


def _key(source: str, options: Options) -> str:
    """Return what a row depends on, as a digest: the model's file, the options and this version. Empty where there is no such file."""
    try:
        path = resolve(source)
        model = file_digest(path) if path.is_file() else f"{path} {os.stat(path).st_mtime_ns}"
    except (CollageError, OSError):
        return ""
    told = {**asdict(options), "taps": sorted(options.taps), "out": None, "model": model, "version": __version__}
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()


def _read_row(path: Path, key: str) -> SurveyRow | None:
    """Return the row in the file `path`; None where there is none for `key`, or it has no plan."""
    try:
        kept = _KEPT.validate_json(path.read_bytes(), strict=True)
    except (OSError, ValueError):
        return None
    return kept.row if key and kept.key == key and kept.row.status == PLANNED else None


def _write_row(folder: Path, key: str, row: SurveyRow) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / ROW, _KEPT.dump_json(_KeptRow(key, row)))


@with_config(ConfigDict(allow_inf_nan=False))
@dataclass(frozen=True)
class _KeptRow:
    """The content of a row's file; `key` as `_key` returns it."""

    key: str
    row: SurveyRow


_KEPT = TypeAdapter(_KeptRow)
