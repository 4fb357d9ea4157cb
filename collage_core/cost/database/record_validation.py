"""Validate the fields of costs, transitions and tunings, from a database, an imported file, a fleet's worker or this process.

Take fields by name, of any type, and give keys and records in which every value is possible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, FailFast, Field, Strict, TypeAdapter, ValidationError, create_model

from ...base.validation import MustBe, first_mistake
from .records import (
    CostKey,
    CostRow,
    MeasuredTransition,
    ProfileKernels,
    Record,
    TransitionKey,
    TransitionRow,
    TuningKey,
    TuningRecord,
    TuningRow,
    utc,
)

LARGEST_S = 1e6
MOST_SAMPLES = 100_000
MOST_THREADS = 1 << 20
_LONGEST_WORD = 256
"""Bytes: a key of PostgreSQL's index holds 2,704."""
_LONGEST_TEXT = 20_000
_LONGEST_TRACE = 1 << 20
MOST_TRIALS = 1 << 20

Item = TypeVar("Item", CostKey, Record, TransitionKey, MeasuredTransition, TuningKey, TuningRecord)


class InvalidRecord(ValueError):
    """Raised for a cost, transition or tuning that cannot be true; its text names the field, the value found, and what it must be."""


def cost_row(values: Mapping[str, Any]) -> CostRow:
    """Make a cost of its fields by name; other names are ignored. Raises `InvalidRecord`."""
    key, record = _validated(_COST, values, CostKey, Record)
    if not record.samples and not record.stage:
        raise InvalidRecord("samples is empty, though stage names no failure")
    if record.repetitions and sum(record.repetitions) != len(record.samples):
        raise InvalidRecord(f"repetitions is {list(record.repetitions)}, but there are {len(record.samples)} samples")
    return key, record


def transition_row(values: Mapping[str, Any]) -> TransitionRow:
    """Make a transition of its fields by name; other names are ignored. Raises `InvalidRecord`."""
    return _validated(_TRANSITION, values, TransitionKey, MeasuredTransition)


def tuning_row(values: Mapping[str, Any]) -> TuningRow:
    """Make a tuning of its fields by name; other names are ignored. Raises `InvalidRecord`."""
    key, record = _validated(_TUNING, values, TuningKey, TuningRecord)
    if record.trace and record.seconds > record.default_s:
        raise InvalidRecord(f"seconds is {record.seconds:g} with a trace, more than the {record.default_s:g} of the default schedule")
    return key, record


def profile_kernels(text: str) -> ProfileKernels:
    """Read the kernels of a profile as the database has them. Raises `InvalidRecord`."""
    try:
        return _PROFILE.validate_json(text)
    except ValidationError as error:
        raise InvalidRecord(f"a profile {first_mistake(error)!s}") from None


def record_of(values: Mapping[str, Any]) -> Record:
    """Make a record of its fields by name, each of which is valid by itself. Raises `InvalidRecord`."""
    return _validated(_RECORD, values, Record)[0]


def cleaned(item: Item) -> Item:
    """Return `item` with text that every database takes: no NUL, no lone surrogates, at most 20,000 characters but in a trace."""
    changes: dict[str, Any] = {}
    for field in fields(item):
        value = getattr(item, field.name)
        if isinstance(value, str):
            changes[field.name] = value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
            if field.name != "trace":
                changes[field.name] = changes[field.name][:_LONGEST_TEXT]
    return replace(item, **changes)


def _check_short(word: str) -> str:
    if len(word.encode()) > _LONGEST_WORD:
        raise ValueError
    return word


def _check_filled(name: str) -> str:
    if not name:
        raise ValueError("text, and not empty")
    return name


def _check_utc(time: str) -> str:
    if utc(time) != time:
        raise ValueError
    return time


_Word = Annotated[str, Strict(), AfterValidator(_check_short), MustBe(f"text of at most {_LONGEST_WORD} bytes")]
_Name = Annotated[_Word, AfterValidator(_check_filled)]
_Text = Annotated[str, Strict(), Field(max_length=_LONGEST_TEXT), MustBe(f"text of at most {_LONGEST_TEXT} characters")]
_Trace = Annotated[str, Strict(), Field(max_length=_LONGEST_TRACE), MustBe(f"text of at most {_LONGEST_TRACE} characters")]
_Trials = Annotated[int, Strict(), Field(ge=0, le=MOST_TRIALS), MustBe(f"a whole number from 0 to {MOST_TRIALS}")]
_Seconds = Annotated[float, Strict(), Field(ge=0, le=LARGEST_S), MustBe("seconds: a number, not negative and at most 1e6")]
_Share = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False), MustBe("a finite number, not negative")]
_Threads = Annotated[int, Strict(), Field(ge=1, le=MOST_THREADS), MustBe(f"a whole number from 1 to {MOST_THREADS}")]
_Flag = Annotated[bool, Strict(), MustBe("true or false")]
_Time = Annotated[str, Strict(), AfterValidator(_check_utc), MustBe("a time in UTC, such as 2026-01-31T12:00:00+00:00")]
_Samples = Annotated[tuple[_Seconds, ...], FailFast(), Field(max_length=MOST_SAMPLES), MustBe(f"a list of at most {MOST_SAMPLES} numbers")]
_Counts = Annotated[tuple[Annotated[int, Strict(), Field(ge=0)], ...], FailFast(), MustBe("a list of whole numbers, none below 0")]

FIELD_TYPES: Mapping[str, Any] = {
    **dict.fromkeys(("computation", "toolchain", "machine", "maker", "reader", "workload", "target"), _Name),
    **dict.fromkeys(("version", "options", "weights", "dtype", "worker", "maker_version", "reader_version", "stage", "checked_on"), _Word),
    **dict.fromkeys(("reason", "note"), _Text),
    **dict.fromkeys(("fixed_s", "per_byte_s", "seconds_spent", "seconds", "default_s", "spent_s"), _Seconds),
    **dict.fromkeys(("limit_s", "reference_s", "core_latency_s"), _Seconds | None),
    **dict.fromkeys(("stopped_early", "crashed"), _Flag),
    "trace": _Trace,
    "trials": _Trials,
    "threads": _Threads,
    "samples": _Samples,
    "repetitions": _Counts,
    "error": _Share | None,
    "slowed_by": _Share,
    "created": _Time,
}


def _model(*classes: type[Any]) -> type[BaseModel]:
    """The fields of `classes`, which are all required."""
    names = {field.name: (FIELD_TYPES[field.name], ...) for one in classes for field in fields(one)}
    return create_model("_".join(one.__name__ for one in classes), **names)  # type: ignore[call-overload]


_PROFILE: TypeAdapter[ProfileKernels] = TypeAdapter(tuple[tuple[_Counts, _Seconds], ...])
_COST, _TRANSITION, _RECORD = _model(CostKey, Record), _model(TransitionKey, MeasuredTransition), _model(Record)
_TUNING = _model(TuningKey, TuningRecord)


def _validated(model: type[BaseModel], values: Mapping[str, Any], *classes: type[Any]) -> Any:
    """One object of each of `classes`."""
    try:
        valid = model.model_validate(values).__dict__
    except ValidationError as error:
        raise InvalidRecord(str(first_mistake(error))) from None
    return tuple(one(**{name: valid[name] for name in one.__slots__}) for one in classes)
