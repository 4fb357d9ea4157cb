"""What travels between a run and its workers: small pickles one way, JSON that is checked the other.

TVM's RPC runs whatever a worker is sent, so a pickle on that way gives nothing away. What a worker answers is another
matter: it is plain JSON, and each value in it is checked here before anything else sees it. `Nonsense` says what is wrong.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ...base.isolation.errors import WorkerDied, WorkerError
from ...errors import CollageError
from ...toolchains.base import Availability, ToolchainError
from ..database.records import Record
from ..measuring.trial import TrialLimits
from ..measuring.trial_worker import GetToolchain

PROTOCOL = 1
"""Goes up when either side says something that the other of before would not understand."""
ASK, PUT = "collage.fleet.ask", "collage.fleet.put"
"""Names under which a worker's functions are found in its RPC session."""
CHUNK_BYTES = 64 << 10
"""Of a file in one call: TVM's RPC is fastest there (33 MB/s on loopback; 15 MB/s with 1 MiB)."""

_STAGES = ("", "import", "build", "run", "numerics", "device")
_LONGEST_TEXT = 4000
_LONGEST_NAME = 100
_MOST_SAMPLES = 100_000
_MOST_TOOLCHAINS = 200
_LARGEST = 1e300
_SLACK = 2.0
"""Samples that were put right for a machine that drifts may be a little longer than they were."""


class Nonsense(Exception):
    """A worker's answer is not one."""


@dataclass(frozen=True)
class Settings:
    """What a `TrialRunner` on a worker is made from."""

    get_toolchain: GetToolchain
    threads: int
    accuracy: float
    limits: TrialLimits
    flushed_bytes: int


@dataclass(frozen=True)
class Description:
    """What a worker says of itself.

    Attributes:
        name: As the user named it.
        version: Of Collage Explorer there.
        machine: As `machine_id` gives it there.
        host: The same for two workers on one computer, else different.
        cores: That it may use.
        toolchains: Name → availability there.
    """

    name: str
    version: str
    machine: str
    host: str
    cores: int
    toolchains: Mapping[str, Availability]

    def to_json(self) -> dict[str, Any]:
        toolchains = {name: asdict(available) for name, available in self.toolchains.items()}
        return {**{field.name: getattr(self, field.name) for field in fields(self)}, "toolchains": toolchains}

    @classmethod
    def from_json(cls, data: Any) -> Description:
        """Raises `Nonsense` where `data` is no description."""
        kinds = get_type_hints(cls)
        if not isinstance(data, dict) or set(data) != set(kinds):
            raise Nonsense("it describes itself in another form")
        toolchains = data["toolchains"]
        if not isinstance(toolchains, dict) or len(toolchains) > _MOST_TOOLCHAINS:
            raise Nonsense("its list of toolchains is none")
        plain = {name: _checked(name, data[name], kinds[name]) for name in kinds if name != "toolchains"}
        if not all(0 < len(plain[name]) <= _LONGEST_NAME for name in ("name", "machine")) or plain["cores"] < 1:
            raise Nonsense("it has no name, no machine or no cores")
        found = {_text("a name", name): _from_json(Availability, item) for name, item in toolchains.items()}
        return cls(**plain, toolchains=found)


def record_to_json(record: Record) -> dict[str, Any]:
    """`record` as plain data."""
    return asdict(record)


def record_from_json(data: Any, took_s: float) -> Record:
    """The record that a worker sent.

    Args:
        took_s: Seconds from question to answer; the samples cannot be longer together.

    Raises:
        Nonsense: it is none, or cannot be true.
    """
    record: Record = _from_json(Record, data)
    if record.stage not in _STAGES:
        raise Nonsense(f"it failed at a stage {record.stage!r}, which there is not")
    if bool(record.stage) == bool(record.samples):
        raise Nonsense("a trial that failed has no samples, and one that did not has some")
    if record.stage and not record.reason:
        raise Nonsense(f"it failed at stage {record.stage} and says no reason")
    if record.repetitions:
        raise Nonsense("a trial is one repetition, and it tells of more")
    if any(sample <= 0 for sample in record.samples):
        raise Nonsense("a run took no time at all")
    if sum(record.samples) > _SLACK * took_s:
        raise Nonsense(f"its runs took {sum(record.samples):.3g} s, and it had {took_s:.3g} s in all")
    if min(record.error or 0, record.limit_s or 0, record.reference_s or 0, record.core_latency_s or 0) < 0:
        raise Nonsense("a number that is never negative is")
    return record


def error_to_json(error: Exception) -> dict[str, Any]:
    """A `CollageError` or `WorkerError` as plain data."""
    if isinstance(error, ToolchainError):
        return {"kind": "toolchain", "message": error.message, "stage": error.stage}
    if isinstance(error, CollageError):
        return {"kind": "collage", **error.to_json()}
    assert isinstance(error, WorkerError)
    return {"kind": type(error).__name__, "message": error.what, "output": error.output[-_LONGEST_TEXT:]}


def error_from_json(data: Any) -> Exception:
    """The exception that `error_to_json` was given. Raises `Nonsense` where `data` is none."""
    if not isinstance(data, dict):
        raise Nonsense("its error is none")
    said = {name: _text(name, value) for name, value in data.items()}
    message = said.get("message", "")
    match said.get("kind"):
        case "toolchain":
            return ToolchainError(said.get("stage", "run"), message)
        case "collage":
            return CollageError(message, said.get("hint", ""), said.get("code", "invalid"))
        case "WorkerDied":
            return WorkerDied(message, None, said.get("output", ""))
        case "WorkerTimeout" | "WorkerError" | "WorkerFailed":
            return WorkerError(message, said.get("output", ""))
    raise Nonsense("its error is of no known kind")


def dump(answer: Any) -> str:
    """A worker's answer as text. Raises ValueError or TypeError where it is no plain data of finite numbers."""
    return json.dumps(answer, allow_nan=False)


def parse(text: bytes) -> dict[str, Any]:
    """A worker's answer. Raises `Nonsense` where it is not a JSON object of finite numbers."""
    try:
        answer = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise Nonsense(f"its answer is no JSON: {error}") from error
    if not isinstance(answer, dict):
        raise Nonsense(f"its answer is a {type(answer).__name__}")
    return answer


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is no number")
    return number


def _from_json(kind: Any, data: Any) -> Any:
    """A flat dataclass of plain fields from a JSON object that has just these."""
    kinds = get_type_hints(kind)
    if not isinstance(data, dict) or set(data) != set(kinds):
        raise Nonsense(f"what should be a {kind.__name__} is of another form")
    return kind(**{name: _checked(name, data[name], kinds[name]) for name in kinds})


def _checked(name: str, value: Any, kind: Any) -> Any:
    """`value`, if JSON has it for a field of the type `kind`."""
    if get_origin(kind) in (Union, UnionType):
        kinds = get_args(kind)
        if value is None and NoneType in kinds:
            return None
        kind = next(one for one in kinds if one is not NoneType)
    if get_origin(kind) is tuple:
        if not isinstance(value, list) or len(value) > _MOST_SAMPLES:
            raise Nonsense(f"{name} is no list")
        return tuple(_checked(name, item, get_args(kind)[0]) for item in value)
    if kind is float and type(value) in (int, float) and abs(value) < _LARGEST:
        return float(value)
    if kind is str:
        return _text(name, value)
    if kind not in (bool, int) or type(value) is not kind:
        raise Nonsense(f"{name} is {str(value)[:40]!r}")
    return value


def _text(name: str, value: Any) -> str:
    """A text of a sensible length in which nothing moves the terminal's cursor."""
    if not isinstance(value, str) or len(value) > 4 * _LONGEST_TEXT:
        raise Nonsense(f"{name[:40]!r} is no text")
    return "".join(char if char.isprintable() or char == "\n" else " " for char in value)
