"""`Recorded`: gives the runs that come with the samples, measured elsewhere, as ordinary runs with the state ``recorded``.

Records in ``collage_core/model/samples/recorded`` enter; run folders leave, made when they are first asked for, and again when
the record is another one.
"""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from collage_core.documents.json_form import from_json
from collage_core.documents.run import RunDocument
from collage_core.documents.statements import measured_beside
from collage_core.documents.verdict import verdict
from collage_core.errors import CollageError
from collage_core.model.samples import registry as samples
from collage_core.trace.trace_file import FILE_NAME

from ..config import ServerConfig
from ..messages.live import RunState
from ..messages.runs import PlanResult, RunSnapshot
from ..process_pool import ProcessPool
from ..shared.json_files import read_json, write_json
from ..shared.run_files import PLAN, RECORD
from ..worker import queries
from ..worker.engine import Outcome
from . import run_store
from .run_store import RECORDED, runs_folder
from .state import NOT_BUILT, finish

SUFFIX = ".json.gz"
SOURCE = "source.json"


class Recorded:
    """The recorded runs."""

    def __init__(self, config: ServerConfig, pool: ProcessPool):
        self._config = config
        self._pool = pool
        self._folder = Path(samples.__file__).parent / "recorded"
        self._lock = threading.Lock()
        self._results: dict[str, tuple[PlanResult | None, int]] = {}

    def ids(self) -> list[str]:
        """List the ids of the runs, sorted."""
        return sorted(RECORDED + file.name.removesuffix(SUFFIX) for file in self._folder.glob(f"*{SUFFIX}"))

    def of_sample(self, name: str) -> str | None:
        """Return the id of the run that comes with the sample `name`, if one does."""
        return RECORDED + name if self._file(RECORDED + name).exists() else None

    def result(self, name: str) -> PlanResult | None:
        """Return the result of the run that comes with the sample `name`, if a sound one does; its folder is not made for that."""
        file = self._file(RECORDED + name)
        if not file.exists():
            return None
        result, read_ns = self._results.get(name, (None, 0))
        changed_ns = file.stat().st_mtime_ns
        if read_ns != changed_ns:
            with suppress(OSError, ValueError, KeyError, TypeError):
                document = from_json(RunDocument, read_json(file)["document"])
                result = run_store.result_of(document.plan.total_s, measured_beside(document), verdict(document))
            self._results[name] = (result, changed_ns)
        return result

    def unpack(self, run: str) -> None:
        """Make the folder of the recorded run `run` where it is missing or old; any other id is ignored.

        Raises:
            CollageError: its record cannot be read.
            WorkerError: reading it failed.
        """
        if run not in self.ids():
            return
        file, folder = self._file(run), runs_folder() / run
        status = file.stat()
        source = {"path": str(file), "bytes": status.st_size, "changed_ns": status.st_mtime_ns}
        with self._lock:
            if (folder / SOURCE).exists() and (folder / PLAN).exists() and read_json(folder / SOURCE) == source:
                with suppress(CollageError):  # of a snapshot that another version of this program wrote
                    run_store.load(run)
                    return
            folder.mkdir(exist_ok=True)
            shutil.copyfile(file, folder / RECORD)
            (folder / FILE_NAME).unlink(missing_ok=True)  # the trace of what was there before
            outcome = self._pool.call(queries.outcome, self._config.engine, str(folder))
            record = read_json(file)
            run_store.save(folder, snapshot_of(run, outcome, record, "recorded"))
            write_json(folder / PLAN, record.get("plan"))
            write_json(folder / SOURCE, source)

    def _file(self, run: str) -> Path:
        return self._folder / (run.removeprefix(RECORDED) + SUFFIX)


def snapshot_of(run: str, outcome: Outcome, record: Mapping[str, Any], state: RunState) -> RunSnapshot:
    """Return the snapshot of a run of which there is a `record` and no events; it has the id `run`."""
    bare = RunSnapshot(
        id=run,
        state=state,
        seq=0,
        model=outcome.model,
        model_name=outcome.model_name,
        targets=outcome.targets,
        constraints=outcome.constraints,
        created=outcome.created,
        base=None,
        machine=outcome.machine,
        recorded=True,
    )
    known = finish(bare, outcome.document)
    built = _built(record)
    rejected = Counter(item["target"] for item in record.get("rejected", ()))  # a sample: there were so many at least
    counts = [
        replace(target, built=built.get(target.name, 0), rejected=max(target.rejected, rejected[target.name])) for target in known.counts
    ]
    return replace(known, counts=counts)


def _built(record: Mapping[str, Any]) -> dict[str, int]:
    """Return for each target how many of its trials got as far as a built candidate, at least.

    A record counts the trials of distinct computations, and holds every candidate of those that failed.
    """
    failed = Counter(item["target"] for item in record.get("candidates", ()) if item["cost"].get("stage") in NOT_BUILT)
    return {target["name"]: max(0, target["measured"] - failed[target["name"]]) for target in record["document"]["targets"]}
