"""`where` conditions: on the attributes of the operators in a match, and on the dtype, rank and shape of their tensors.

A table of a TOML or JSON file enters, such as ``{"Conv.group" = 1, "Conv.out0.shape" = ["*", 64, ">=7", "*"]}``; `Condition`s leave,
and for a set of nodes the first condition that fails, in words. docs/rules.md defines the form.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import CollageError
from ..graph.dataflow_graph import DataflowGraph, Node
from .operators import attribute_of, type_of

Value = int | float | str | tuple[int | float | str, ...]

DTYPES = frozenset(
    """
    bfloat16 bool complex64 complex128 float16 float32 float64 float4e2m1 float6e2m3 float6e3m2 float8e4m3fn float8e4m3fnuz
    float8e5m2 float8e5m2fnuz float8e8m0 int2 int4 int8 int16 int32 int64 string uint2 uint4 uint8 uint16 uint32 uint64
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""The dtypes that a tensor of a graph may have."""

_HINT = 'conditions are written as "Conv.group" = 1 or "Conv.in0.shape" = ["*", 64, ">=7", "*"]; docs/rules.md has them all'
_SUBJECT = re.compile(
    r"(?P<op>\*|[A-Za-z_][\w.]*?)\."
    r"(?:(?P<side>in|out)(?P<slot>\d{1,3})\.(?P<of>dtype|rank|shape)|(?P<first>dtype|rank|shape)|attr\.(?P<plain>\w+)|(?P<attribute>\w+))"
)
_TERM = re.compile(r"(>=|<=|!=|>|<)?(.*)", re.DOTALL)
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">=": lambda found, bound: found >= bound,
    "<=": lambda found, bound: found <= bound,
    ">": lambda found, bound: found > bound,
    "<": lambda found, bound: found < bound,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One entry of a `where` table.

    Attributes:
        subject: The key, such as ``Conv.in0.dtype``.
        wanted: A number, a text of terms, or a tuple with one of these for each element of a list.
    """

    subject: str
    wanted: Value

    @property
    def op(self) -> str:
        """The operator that the condition applies to; ``*`` for every one."""
        return _parts(self.subject)["op"] or ""

    def failure(self, graph: DataflowGraph, node: Node) -> str | None:
        """Return why `node` fails the condition, or None; a node of another operator never fails."""
        if self.op not in ("*", node.op):
            return None
        value = _value(graph, node, self.subject)
        if value is not None and _holds(value, self.wanted):
            return None
        text = "not there" if value is None else _written(value)
        return f"{self.subject} of {node.name!r} is {text}, it must be {_written(self.wanted)}"


def parse_where(data: Any) -> tuple[Condition, ...]:
    """Return the conditions of a `where` table.

    Raises:
        CollageError: a subject or a value has no meaning; the message quotes it.
    """
    if not isinstance(data, Mapping):
        raise _mistake(f"where is {data!r}, it must be a table of conditions")
    return tuple(_condition(str(subject), wanted) for subject, wanted in data.items())


def first_failure(graph: DataflowGraph, inside: Iterable[int], conditions: Sequence[Condition]) -> str | None:
    """Return the first condition that a node of `inside` fails, in words; None when all hold."""
    if not conditions:
        return None
    failures = (condition.failure(graph, graph.nodes[index]) for index in inside for condition in conditions)
    return next(filter(None, failures), None)


def _condition(subject: str, wanted: Any) -> Condition:
    parts = _parts(subject)
    if not parts:
        raise _mistake(f"where names {subject!r}, which is no OPERATOR.ATTRIBUTE and no OPERATOR.in0.dtype, .rank or .shape")
    if re.search(r"\.(in|out)\d+$", parts["op"] or ""):
        raise _mistake(f"where names {subject!r}: of a tensor it may ask for dtype, rank and shape")
    is_list = isinstance(wanted, list | tuple)
    what = parts["of"] or parts["first"]
    for value in wanted if is_list else [wanted]:
        _check(subject, what, value)
    if (what == "shape" and not is_list) or (what in ("dtype", "rank") and is_list):
        raise _mistake(f"where has {_written(wanted)} for {subject!r}, it must be {'a list' if what == 'shape' else 'one value'}")
    return Condition(subject, tuple(wanted) if is_list else wanted)


def _check(subject: str, what: str | None, value: Any) -> None:
    """Raise CollageError for a single value that nothing can ever equal."""
    if isinstance(value, bool) or not isinstance(value, int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
        raise _mistake(f"where has {value!r} for {subject!r}, it must be a number, a text or a list of these")
    for term in value.split("|") if isinstance(value, str) else []:
        sign, operand = _term(term)
        is_word = operand != "*" and _number(operand) is None
        if not operand or (sign and operand == "*") or (is_word and (sign not in ("", "!=") or what in ("rank", "shape"))):
            raise _mistake(f"where has {value!r} for {subject!r}, and {term!r} says nothing there")
        if what == "dtype" and operand != "*" and operand not in DTYPES:
            raise _mistake(f"where has {value!r} for {subject!r}, and {operand!r} is no dtype")
    if what == "dtype" and not isinstance(value, str):
        raise _mistake(f"where has {value!r} for {subject!r}, it must name a dtype")


def _mistake(message: str) -> CollageError:
    return CollageError(message, _HINT, "bad_where")


def _parts(subject: str) -> dict[str, str | None]:
    match = _SUBJECT.fullmatch(subject)
    return match.groupdict() if match else {}


def _value(graph: DataflowGraph, node: Node, subject: str) -> Any:
    """Return the value of `subject` at `node`; None where the node has none."""
    parts = _parts(subject)
    what = parts["of"] or parts["first"]
    if what is None:
        return attribute_of(graph, node, parts["plain"] or parts["attribute"] or "")
    slot = int(parts["slot"] or 0)
    names = node.inputs if parts["side"] == "in" else tuple(tensor.name for tensor in node.outputs)
    known = type_of(graph, names[slot]) if slot < len(names) else None
    if known is None:
        return None
    return {"dtype": known.dtype, "rank": len(known.shape), "shape": known.declared_shape}[what]


def _holds(found: Any, wanted: Value) -> bool:
    if wanted == "*":
        return True
    if isinstance(wanted, tuple):
        same_length = isinstance(found, list | tuple) and len(found) == len(wanted)
        return same_length and all(_holds(item, want) for item, want in zip(found, wanted, strict=True))
    if isinstance(found, list | tuple | Mapping):
        return False
    if isinstance(wanted, str):
        return any(_term_holds(found, *_term(term)) for term in wanted.split("|"))
    return bool(found == wanted)


def _term(text: str) -> tuple[str, str]:
    """Return the sign and the operand of one term: ``>=7`` is (``>=``, ``7``)."""
    match = _TERM.fullmatch(text.strip())
    return (match.group(1) or "", match.group(2).strip()) if match else ("", "")


def _term_holds(found: Any, sign: str, operand: str) -> bool:
    if operand == "*":
        return True
    number = _number(operand)
    is_number = isinstance(found, int | float)
    if sign in _COMPARE:
        return is_number and number is not None and _COMPARE[sign](found, number)
    is_equal = found == number if is_number else str(found) == operand
    return is_equal != (sign == "!=")


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _written(value: Any) -> str:
    """Return a value as a message shows it, the same for a list and a tuple."""
    return repr(list(value)) if isinstance(value, tuple) else repr(value)
