"""Define what travels between a run and its workers: small pickles one way, validated JSON the other.

Dask runs whatever a worker is sent, so pickles on that way give nothing away. A worker's answers are plain JSON, and each value
in them is validated here before anything else sees it; `InvalidAnswer` says what is wrong.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, Strict, TypeAdapter, ValidationError, with_config

from ...base.durations import duration, now
from ...base.isolation.worker_errors import WorkerDied, WorkerError
from ...base.validation import first_mistake
from ...errors import CollageError, printable
from ...toolchains.toolchain import Availability, ToolchainError
from ..database.record_validation import InvalidRecord, record_of
from ..database.records import Record
from ..measuring.trial import TrialLimits
from ..measuring.trial_worker import GetToolchain

_STAGES = ("", "import", "build", "run", "numerics", "device")
_LONGEST_TEXT = 16_000
_LONGEST_OUTPUT = 4000
_LONGEST_NAME = 300
_MOST_TOOLCHAINS = 200
_SLACK = 2.0
"""Samples that were corrected for a machine that drifts may be a little longer than they were."""

Item = TypeVar("Item", Availability, Record)
T = TypeVar("T")


class InvalidAnswer(Exception):
    """Raised where a worker's answer is not one; the text says why."""


@dataclass(frozen=True)
class Settings:
    """Arguments of a `TrialRunner` on a worker."""

    get_toolchain: GetToolchain
    threads: int
    accuracy: float
    limits: TrialLimits


def _with_printable_texts(item: Item) -> Item:
    values = {field.name: getattr(item, field.name) for field in fields(item)}
    texts: dict[str, Any] = {name: printable(value) for name, value in values.items() if isinstance(value, str)}
    return replace(item, **texts)


_Text = Annotated[str, Field(max_length=_LONGEST_TEXT), AfterValidator(printable)]
_Name = Annotated[str, Field(min_length=1, max_length=_LONGEST_NAME), AfterValidator(printable)]


def _exact(data: Any) -> Any:
    """Refuse what pydantic would convert: every field must be there, and of its own JSON type."""
    kinds = get_type_hints(Availability)
    if not isinstance(data, dict) or data.keys() != kinds.keys() or any(type(data[name]) is not kind for name, kind in kinds.items()):
        raise ValueError("an object with the fields of an availability, each of its own type")
    return data


_Availability = Annotated[Availability, BeforeValidator(_exact), AfterValidator(_with_printable_texts)]


@with_config(ConfigDict(extra="forbid", str_max_length=_LONGEST_TEXT))
@dataclass(frozen=True)
class Description:
    """Describes a worker, in its own words.

    Attributes:
        name: As the user named it.
        version: Version of Collage Explorer there.
        machine: As `machine_id` gives it there.
        host: Equal for two workers on one computer, else different.
        cores: Number of cores that it may use.
        toolchains: Name → availability there.
    """

    name: _Name
    version: _Text
    machine: _Name
    host: _Text
    cores: Annotated[int, Strict(), Field(ge=1)]
    toolchains: Annotated[Mapping[_Text, _Availability], Field(max_length=_MOST_TOOLCHAINS)]


_DESCRIPTION = TypeAdapter(Description)
_TEXTS = TypeAdapter(dict[str, _Text])


def description_from_json(data: Any) -> Description:
    """Return the description that a worker sent. Raises `InvalidAnswer` where `data` is none."""
    return _validated(_DESCRIPTION, data)


def record_from_json(data: Any, took_s: float) -> Record:
    """Return the record that a worker sent.

    Args:
        took_s: Seconds from question to answer; the samples cannot be longer together.

    Raises:
        InvalidAnswer: it is none, or cannot be true.
    """
    if not isinstance(data, dict) or data.keys() != set(Record.__slots__):
        raise InvalidAnswer("what should be a record has other fields")
    try:
        record = _with_printable_texts(record_of({**data, "created": data["created"] or now()}))
    except InvalidRecord as error:
        raise InvalidAnswer(str(error)) from error
    if record.stage not in _STAGES:
        raise InvalidAnswer(f"stage is {record.stage!r}, it must be one of {', '.join(_STAGES[1:])}, or empty")
    if bool(record.stage) == bool(record.samples):
        raise InvalidAnswer("a trial that failed has no samples, and one that did not has some")
    if record.stage and not record.reason:
        raise InvalidAnswer(f"it failed at stage {record.stage} and says no reason")
    if record.repetitions:
        raise InvalidAnswer("a trial is one repetition, and it tells of more")
    if any(sample <= 0 for sample in record.samples):
        raise InvalidAnswer("a run took no time at all")
    if sum(record.samples) > _SLACK * took_s:
        raise InvalidAnswer(f"its runs took {duration(sum(record.samples), 3)}, and it had {duration(took_s, 3)} in all")
    return record


def error_to_json(error: Exception) -> dict[str, Any]:
    """Return a `CollageError` or `WorkerError` as plain data."""
    if isinstance(error, ToolchainError):
        return {"kind": "toolchain", "message": error.message, "stage": error.stage}
    if isinstance(error, CollageError):
        return {"kind": "collage", **error.to_json()}
    assert isinstance(error, WorkerError)
    return {"kind": type(error).__name__, "message": error.what, "output": error.output[-_LONGEST_OUTPUT:]}


def error_from_json(data: Any) -> Exception:
    """Return the exception that `error_to_json` was given. Raises `InvalidAnswer` where `data` is none."""
    texts = _validated(_TEXTS, data)
    message = texts.get("message", "")
    match texts.get("kind"):
        case "toolchain":
            return ToolchainError(texts.get("stage", "run"), message)
        case "collage":
            return CollageError(message, texts.get("hint", ""), texts.get("code", "invalid"))
        case "WorkerDied":
            return WorkerDied(message, None, texts.get("output", ""))
        case "WorkerTimeout" | "WorkerError" | "WorkerFailed":
            return WorkerError(message, texts.get("output", ""))
    raise InvalidAnswer("its error is of no known kind")


def dump(answer: Any) -> str:
    """Return a worker's answer as text. Raises ValueError or TypeError where it is no plain data of finite numbers."""
    return json.dumps(answer, allow_nan=False)


def parse(text: bytes) -> dict[str, Any]:
    """Return a worker's answer. Raises `InvalidAnswer` where it is not a JSON object of finite numbers."""
    try:
        answer = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer(f"its answer is no JSON: {error}") from error
    if not isinstance(answer, dict):
        raise InvalidAnswer(f"its answer is a {type(answer).__name__}")
    return answer


def _finite(text: str) -> float:
    """Read a number of JSON, or one of the constants NaN and Infinity that Python takes for JSON. Raises ValueError."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is no number")
    return number


def _validated(adapter: TypeAdapter[T], data: Any) -> T:
    try:
        return adapter.validate_python(data)
    except ValidationError as error:
        raise InvalidAnswer(str(first_mistake(error))) from error
