"""Writes rule trees as TOML text that reads back as the same tree, and finds the line of a TOML text at which a key is.

Reading itself is done by `tomllib`, which reports no lines of keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .rule import PartitionRule

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]#]+?)\s*\]")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
Path = tuple[str | int, ...]


def rule_to_toml(rule: PartitionRule) -> str:
    """Return `rule` as the TOML table ``[rule]``; `rule_from_json` reads an equal rule from it."""
    return "\n\n".join(_tables(rule.to_json(), "rule", is_item=False)) + "\n"


def _tables(data: Mapping[str, Any], name: str, *, is_item: bool) -> Iterator[str]:
    lines = [f"[[{name}]]" if is_item else f"[{name}]"]
    subs = data.get("of")
    lines += [f"{_key(key)} = {_value(value)}" for key, value in data.items() if key != "of"]
    yield "\n".join(lines)
    for sub in subs if isinstance(subs, list) else [subs] if subs else []:
        yield from _tables(sub, f"{name}.of", is_item=isinstance(subs, list))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    """Return `text` as a TOML string: JSON's escapes are those of TOML, except that DEL must be escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)


def line_of(text: str, path: str, found: Any = None) -> int:
    """Return the line, from 1, of a TOML text at which `path` is, as far as a search of the text can tell.

    Tables, arrays of tables and keys at the start of a line are found exactly. Inside an inline table it is the first line with
    the key, preferably one with the value `found` too; in a list of several lines it is the first line with the text `found`.

    Args:
        path: Keys and indices, such as ``rule.of[1].max_depth``; if the key is missing, the line is that of its table.
    """
    wanted: Path = tuple(int(part[1:-1]) if part[0] == "[" else part for part in re.findall(r"\[\d+\]|[^.\[\]]+", path))
    entries = list(_entries(text))
    whole = [(known, line) for known, line in entries if known[: len(wanted)] == wanted]
    above = [(known, line) for known, line in entries if wanted[: len(known)] == known]
    if not (whole or above):
        return 1
    nearest, first = whole[0] if whole else max(above, key=lambda entry: len(entry[0]))
    last = min((line for _, line in entries if line > first), default=len(text.splitlines()) + 1)
    inside = list(enumerate(text.splitlines()[first - 1 : last - 1], first))
    rest = [part for part in wanted[len(nearest) :] if isinstance(part, str)]
    if not rest:
        quoted = (f'"{found}"', f"'{found}'") if isinstance(found, str) else ()
        return next((line for line, content in inside if any(value in content for value in quoted)), first)
    named = [(line, content) for line, content in inside if re.search(rf"\b{re.escape(rest[-1])}\b\s*=", content)]
    shown = [line for line, content in named if found is not None and str(found) in content]
    return (shown or [line for line, _ in named] or [first])[0]


def _entries(text: str) -> Iterator[tuple[Path, int]]:
    """Yield the path and the line of every table, and of every key at the start of a line."""
    counts: dict[tuple[str, ...], int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if key:
            yield (*table, *_names(key.group(1))), number
        elif header:
            names = _names(header.group(2))
            if header.group(1) == "[[":
                counts[names] = counts.get(names, 0) + 1
                _forget_below(counts, names)
            table = _indexed(names, counts)
            yield table, number


def _forget_below(counts: dict[tuple[str, ...], int], names: tuple[str, ...]) -> None:
    """Reset the counts of the arrays inside `names`, where a new item begins."""
    for other in [other for other in counts if len(other) > len(names) and other[: len(names)] == names]:
        del counts[other]


def _indexed(names: tuple[str, ...], counts: Mapping[tuple[str, ...], int]) -> Path:
    made: list[str | int] = []
    for index, name in enumerate(names):
        made.append(name)
        if names[: index + 1] in counts:
            made.append(counts[names[: index + 1]] - 1)
    return tuple(made)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(text))
