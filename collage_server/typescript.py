"""Writes the TypeScript types of the page from the messages of `protocol` (``make protocol``).

The dataclasses of `protocol` and the pipeline's events enter; the text of ``frontend/src/data/protocol.ts`` leaves, the same
for the same input. The running server imports nothing of it.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from collage_core import documents
from collage_core.cost.cost import Cost
from collage_core.documents.cost import CostInfo
from collage_core.documents.json_form import keys_of
from collage_core.events import PHASES

from . import protocol
from .messages import live, models, requests

COMMAND = "make protocol"

REQUESTS = (
    live.Subscribe,
    models.OpenModel,
    requests.RunOptions,
    requests.CheckOptions,
    requests.RunRequest,
    *protocol.REQUESTS,
)
"""Requests of the page."""

DOCUMENTS = f"{documents.__name__}."
"""Beginning of the names of the modules that hold the engine's documents, which messages hold."""

SPARSE = (*REQUESTS, live.ErrorBody, live.PatchOperation)
"""Messages of which a field with a default may be left out."""

REFINED = {
    ("CandidateCosted", "cost"): "Cost",
    ("CostedRow", "cost"): "Cost",
    ("PackedCandidates", "costs"): "Cost[]",
}
"""Fields that are a bare dict in Python and the JSON of a known class."""

_SCALARS: dict[Any, str] = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "unknown"}


def generate() -> str:
    """Return the whole of ``protocol.ts``."""
    events = (*protocol.EVENTS, live.RunStateChanged)
    parts = [
        f"// Generated from collage_server/messages and collage_core/events.py by `{COMMAND}`. Do not edit.",
        f"/** The names of the phases, in order. */\nexport const PHASES = [{', '.join(_quoted(phase) for phase in PHASES)}] as const;",
        f"/** The state of a run. */\nexport type RunState = {_choices(live.RunState)};",
        *(_interface(kind) for kind in (*_documents_in((Cost, *resources())), Cost, *resources())),
        *(_interface(kind, tag=True) for kind in events),
        "/** Every event of a run, as `Numbered.event` carries it. */\nexport type RunEvent =\n"
        + "\n".join(f"  | {kind.__name__}" for kind in events)
        + ";",
        _questions(),
    ]
    return "\n\n".join(parts) + "\n"


def _questions() -> str:
    """Return the table of the functions that ask the questions about a run."""
    lines = [
        "/** Sends a question about a run: the method, the last part of the path, and the body. */",
        'export type Ask = <T>(run: string, method: "GET" | "POST", path: string, body?: unknown) => Promise<T>;',
        "",
        "/** The questions about a run, sent by `ask`. */",
        "export const questionsBy = (ask: Ask) => ({",
    ]
    for question in protocol.ASKED:
        first, *words = question.name.split("-")
        name = first + "".join(map(str.capitalize, words))
        kind: Any = protocol.SENT.get(question, question.answer)
        answer = kind.__name__
        if question.method == "POST":
            body = question.request.__name__
            lines.append(f'  {name}: (run: string, body: {body}) => ask<{answer}>(run, "POST", "{question.name}", body),')
            continue
        hints = get_type_hints(question.request)
        arguments = "".join(f", {field}: {_type(hint)}" for field, hint in hints.items())
        address = question.name + "&".join(("?" if index == 0 else "") + f"{field}=${{{field}}}" for index, field in enumerate(hints))
        lines.append(f'  {name}: (run: string{arguments}) => ask<{answer}>(run, "GET", `{address}`),')
    return "\n".join([*lines, "});"])


def resources() -> list[type]:
    """Return the class of every resource: those of the files of `messages`, and the engine's records that are resources themselves."""
    own = (kind for part in protocol.PARTS for kind in _dataclasses_of(part) if kind is not live.RunStateChanged)
    return [*own, *protocol.RECORDS, *protocol.ANSWERS]


def _dataclasses_of(module: types.ModuleType) -> Iterator[type]:
    """List the dataclasses defined in `module`, in the order of the file."""
    for value in vars(module).values():
        if isinstance(value, type) and dataclasses.is_dataclass(value) and value.__module__ == module.__name__:
            yield value


def _documents_in(kinds: Sequence[type]) -> list[type]:
    """List the records of `collage_core.documents` that the fields of `kinds` hold, each before those that hold it."""
    kinds_held: dict[type, None] = {}
    seen: set[type] = {CostInfo}

    def visit(hint: Any) -> None:
        for argument in get_args(hint):
            visit(argument)
        if dataclasses.is_dataclass(hint) and isinstance(hint, type) and hint.__module__.startswith(DOCUMENTS) and hint not in seen:
            seen.add(hint)  # a tree holds records of its own type
            for inner in get_type_hints(hint).values():
                visit(inner)
            kinds_held[hint] = None

    for kind in kinds:
        for hint in get_type_hints(kind).values():
            visit(hint)
    return list(kinds_held)


def _interface(kind: type, tag: bool = False) -> str:
    """Return one interface; `tag` adds the event's ``type``."""
    hints, keys = get_type_hints(kind), keys_of(kind)
    lines = [_comment(inspect.getdoc(kind) or ""), f"export interface {kind.__name__} {{"]
    if tag:
        lines.append(f"  type: {_quoted(kind.__name__)};")
    if kind in protocol.ANSWERS:
        lines.append("  run: string;")
    for field in dataclasses.fields(kind):
        key = keys[field.name]
        optional = "?" if key.is_optional or (kind in SPARSE and _has_default(field)) else ""
        text = REFINED.get((kind.__name__, field.name)) or _type(hints[field.name])
        lines.append(f"  {key.name}{optional}: {'RunEvent' if (kind, field.name) == (live.Numbered, 'event') else text};")
    return "\n".join([*lines, "}"])


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _type(hint: Any) -> str:
    """Return the TypeScript of a Python type."""
    if hint == live.RunState:
        return "RunState"
    if hint in _SCALARS:
        return _SCALARS[hint]
    if hint is CostInfo:
        return Cost.__name__
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint.__name__
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _choices(hint)
    if origin in (Union, types.UnionType):
        return " | ".join(_type(argument) for argument in arguments)
    if origin is list or (origin is tuple and arguments[1:] == (Ellipsis,)):
        return _array(_type(arguments[0]))
    if origin is tuple:
        return f"[{', '.join(_type(argument) for argument in arguments)}]"
    if origin in (dict, Mapping) and arguments[0] is str:
        return f"Record<string, {_type(arguments[1])}>"
    raise TypeError(f"no TypeScript is known for the Python type {hint!r}: add it to collage_server/typescript.py")


def _choices(literal: Any) -> str:
    return " | ".join(_quoted(value) for value in get_args(literal))


def _array(item: str) -> str:
    return f"({item})[]" if " | " in item else f"{item}[]"


def _quoted(value: str) -> str:
    return f'"{value}"'


def _comment(docstring: str) -> str:
    """Return a docstring as a doc comment, its ``literals`` with one backtick."""
    lines: Sequence[str] = re.sub(r"``", "`", docstring).replace("*/", "* /").split("\n")
    if len(lines) == 1:
        return f"/** {lines[0]} */"
    return "\n".join(["/**", *(f" * {line}".rstrip() for line in lines), " */"])


if __name__ == "__main__":
    print(generate(), end="")
