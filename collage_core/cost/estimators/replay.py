"""`ReplayEstimator`: costs that were measured before, from a cost database or from the record of a run. Nothing is run.

It takes a file or a team's database, and gives its costs with the source ``recorded``. A cost that it does not have is
unknown. Of a database with several machines only one is replayed: the machine that has most of the costs asked for. Costs that a
toolchain measured for certain weights are left out, since they tell nothing about other weights.
"""

from __future__ import annotations

import json
import reprlib
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from ...base.user_file import open_file, read_file, unpack
from ...errors import CollageError
from ...events import Emit, Note, ignore
from ...graph.computation import Computations
from ...graph.dataflow_graph import DataflowGraph
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ..cost import FREE, HOST_COST, PROFILE, Cost, Transition, TransitionModel, bad_costs, finite_s, transitions_from_json
from ..database.database import CostDatabase
from ..database.location import is_url
from ..database.records import CostKey, Record
from ..measuring.call_meter import CALL
from ..measuring.repetitions import cost_of

_SQLITE_MAGIC = b"SQLite format 3\x00"
_GZIP_MAGIC = b"\x1f\x8b"
_RUN_SCHEMA = 1
_WITHOUT_SECONDS = ("invalid", "unknown")
_SOURCES = ("measured", "recorded", "mock", "estimate", PROFILE, "bound", "typed", "host", *_WITHOUT_SECONDS)


class ReplayEstimator:
    """Replays recorded costs.

    Args:
        where: A cost database (a path or ``postgresql://…``), or a ``run.json`` or ``run.json.gz``.
        percentile: Of the samples in a database.
        emit: Gets a `Note` that names the machine whose measurements are replayed.

    Raises:
        CollageError: the file cannot be read or is neither of these.
    """

    def __init__(self, where: str | Path, *, percentile: float = 50.0, emit: Emit = ignore):
        self._source: _Source = _open(where, percentile, emit)
        self.name = f"replay:{self._source.name}"

    @property
    def machine(self) -> str:
        """The machine on which the costs were measured; for a database, known with the first estimate."""
        return self._source.machine

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[tuple[CandidatePartition, Cost, bool]]:
        """Yield each candidate in the order given; all of them count as from the cache."""
        placed = [candidate for candidate in candidates if candidate.target != HOST_TARGET]
        costs = self._source.costs(graph, placed)
        for candidate in candidates:
            if candidate.target == HOST_TARGET:
                yield candidate, HOST_COST, False
                continue
            cost = costs.get(candidate.id)
            yield candidate, cost or Cost.unknown(f"{self._source.title} has no cost of it"), True

    def transitions(self, targets: Sequence[str]) -> TransitionModel:
        """Return the transitions between these targets; a pair that the file does not have costs nothing."""
        pairs = {(maker, reader): self._source.transition(maker, reader, "") for maker in targets for reader in targets}
        return TransitionModel({pair: transition for pair, transition in pairs.items() if transition != FREE})

    def transition(self, maker: str, reader: str, size: int, dtype: str) -> float:
        pair = self._source.transition(maker, reader, dtype)
        return pair.fixed_s + pair.per_byte_s * size

    def close(self) -> None:
        """Close the file."""
        self._source.close()


class _Source(Protocol):
    name: str
    title: str

    @property
    def machine(self) -> str: ...

    def costs(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Mapping[str, Cost]: ...

    def transition(self, maker: str, reader: str, dtype: str) -> Transition: ...

    def close(self) -> None: ...


class _RunSource:
    """Reads the record of a run: costs by the candidates' ids."""

    def __init__(self, path: Path, data: Any):
        self.name = str(path)
        self.title = f"the run {self.name!r}"
        if not isinstance(data, dict) or "schema" not in data or not isinstance(data.get("candidates"), list):
            raise _unreadable(path, "it is JSON, but not the record of a run")
        if data["schema"] != _RUN_SCHEMA:
            raise _unreadable(path, f"its schema is {reprlib.repr(data['schema'])}, this version reads {_RUN_SCHEMA}")
        self._costs: dict[str, Cost] = {}
        try:
            self.machine: str = str(data.get("machine", ""))
            for index, item in enumerate(data["candidates"]):
                self._costs[item["id"]] = _recorded(Cost.from_json(item["cost"]), f"candidates[{index}].cost", self.title)
            pairs = data.get("problem", {}).get("transitions", {})
        except (KeyError, TypeError, AttributeError) as error:
            raise _unreadable(path, f"it is damaged ({type(error).__name__}: {error})") from error
        self._transitions = transitions_from_json(pairs, self.title)

    def costs(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Mapping[str, Cost]:
        return self._costs

    def transition(self, maker: str, reader: str, dtype: str) -> Transition:
        return self._transitions.pairs.get((maker, reader), FREE)

    def close(self) -> None:
        """Do nothing: everything was read at once."""


class _DatabaseSource:
    """Reads a cost database: costs by computation, of one machine and one number of threads."""

    def __init__(self, where: str | Path, percentile: float, emit: Emit):
        self._database = CostDatabase(where, read_only=True)
        self.name = self._database.name
        self.title = f"the cost database {self.name!r}"
        self._told = 0
        self._percentile = percentile
        self._emit = emit
        self._setting: tuple[str, int] | None = None
        self._calls: dict[str, float] = {}

    @property
    def machine(self) -> str:
        return self._setting[0] if self._setting else ""

    def costs(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Mapping[str, Cost]:
        key = graph.derive(Computations).key
        found = self._database.of_computations(dict.fromkeys(key(candidate.inside) for candidate in candidates))
        for note in self._database.notes[self._told :]:
            self._emit(Note(note))
        self._told = len(self._database.notes)
        newest = self._newest(found, {candidate.target for candidate in candidates})
        made = {}
        for candidate in candidates:
            record = newest.get((candidate.target, key(candidate.inside)))
            if record is not None:
                made[candidate.id] = self._cost(record, candidate.target)
        return made

    def _cost(self, record: Record, target: str) -> Cost:
        """Return the cost as `MeasureEstimator` gives it: with the call in the assembled module."""
        cost = cost_of(record, self._percentile, "recorded")
        if target not in self._calls:
            self._calls[target] = self.transition(CALL, target, "").fixed_s
        return cost if cost.seconds is None else replace(cost, seconds=cost.seconds + self._calls[target])

    def transition(self, maker: str, reader: str, dtype: str) -> Transition:
        if self._setting is None:
            return FREE
        found = self._database.newest_transition(maker, reader, *self._setting, dtype)
        return Transition(found.fixed_s, found.per_byte_s) if found else FREE

    def close(self) -> None:
        self._database.close()

    def _newest(self, found: list[tuple[CostKey, Record]], targets: set[str]) -> dict[tuple[str, str], Record]:
        """Return (target, computation) → its newest record, all of the setting that has most of what was asked first."""
        by_setting: dict[tuple[str, int], dict[tuple[str, str], Record]] = defaultdict(dict)
        for key, record in sorted(found, key=lambda item: item[1].created):
            if key.toolchain in targets and not key.weights:
                by_setting[key.machine, key.threads][key.toolchain, key.computation] = record
        if self._setting is None and by_setting:
            counts = Counter({setting: len(records) for setting, records in by_setting.items()})
            self._setting = max(sorted(counts), key=counts.__getitem__)
            others = f"; {len(counts) - 1} other machines or numbers of threads in it are left out" if len(counts) > 1 else ""
            machine, threads = self._setting
            self._emit(Note(f"costs are replayed as recorded on {machine} with {threads} threads{others}"))
        return by_setting[self._setting] if self._setting else {}


def _open(where: str | Path, percentile: float, emit: Emit) -> _Source:
    if is_url(where):
        return _DatabaseSource(where, percentile, emit)
    path = Path(where)
    try:
        with open_file(path) as file:
            if file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC:
                return _DatabaseSource(path, percentile, emit)
        data = read_file(path)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    try:
        text = unpack(data, path) if data.startswith(_GZIP_MAGIC) else data
        return _RunSource(path, json.loads(text))
    except (ValueError, EOFError, zlib.error, OSError, RecursionError) as error:
        raise _unreadable(path, "it is neither a cost database nor the record of a run") from error


def _recorded(cost: Cost, key: str, where: str) -> Cost:
    """Return a cost of the run `where`, named `key` in it, as replayed. Raises CollageError where it cannot be true."""
    for name in ("seconds", "spread_s", "interval_s", "error"):
        if getattr(cost, name) is not None:
            finite_s(getattr(cost, name), f"{key}.{name}", where)
    if cost.source not in _SOURCES:
        raise bad_costs(where, f"{key}.source", cost.source, f"one of {', '.join(_SOURCES)}")
    if (cost.seconds is None) != (cost.source in _WITHOUT_SECONDS):
        wanted = f"null where the source is {' or '.join(_WITHOUT_SECONDS)}, and only there"
        raise bad_costs(where, f"{key}.seconds", cost.seconds, wanted)
    for name, kind in (("stage", str), ("reason", str), ("samples", int)):
        if not isinstance(getattr(cost, name), kind):
            raise bad_costs(where, f"{key}.{name}", getattr(cost, name), f"of the kind {kind.__name__}")
    return replace(cost, source="recorded") if cost.source == "measured" else cost


def _unreadable(path: Path, why: str) -> CollageError:
    hint = "give a cost database (costs.sqlite3) or the run.json.gz of a run"
    return CollageError(f"cannot replay costs from {str(path)!r}: {why}", hint, "bad_costs")
