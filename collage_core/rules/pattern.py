"""The pattern language: `Relu(Conv(*, *) | Add(Conv(*, *), *))`, and every way in which it matches at a node.

Design, "Described toolchain"; RFC 62 (0.81), `DFPatternPartitionRule`. Operator names, ``*`` for anything, ``|`` for either.
Inputs that are not named are free; commutative operators match in any order; overlapping matches are all found. What a
wildcard matches is not inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from ..errors import CollageError
from ..graph import DataflowGraph

COMMUTATIVE = frozenset(("Add", "Mul", "And", "Or", "Xor", "Max", "Min", "Sum", "Mean", "Equal", "BitwiseAnd", "BitwiseOr", "BitwiseXor"))
_TOKEN = re.compile(r"\s*(?:([A-Za-z_][\w.]*)|([*|(),]))")


@dataclass(frozen=True, slots=True)
class Anything:
    """``*``: whatever stands there; it is not inside."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of `op` whose first inputs match `inputs`."""

    op: str
    inputs: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class Either:
    """Any of several patterns."""

    options: tuple[Pattern, ...]


Pattern = Anything | Call | Either


def parse_pattern(text: str) -> Pattern:
    """The pattern that `text` writes.

    Raises:
        CollageError: it does not parse; the message quotes the text and says where.
    """
    parser = _Parser(text)
    pattern = parser.either()
    if parser.at < len(parser.tokens):
        raise parser.mistake("the end")
    if isinstance(pattern, Anything):
        raise CollageError(
            f"the pattern {text!r} matches anything and holds nothing", "name an operator, such as Relu(Conv(*, *))", "bad_pattern"
        )
    return pattern


class _Parser:
    """Recursive descent over the tokens of one pattern."""

    def __init__(self, text: str):
        self.text = text
        self.tokens: list[tuple[str, int]] = []
        self.at = 0
        place = 0
        while place < len(text.rstrip()):
            found = _TOKEN.match(text, place)
            if found is None:
                raise CollageError(
                    f"the pattern {text!r} has {text[place]!r} at character {place + 1}",
                    "patterns are written as Relu(Conv(*, *))",
                    "bad_pattern",
                )
            self.tokens.append((found.group(1) or found.group(2), found.start(1) if found.group(1) else found.start(2)))
            place = found.end()

    def either(self) -> Pattern:
        options = [self.term()]
        while self.peek() == "|":
            self.at += 1
            options.append(self.term())
        return options[0] if len(options) == 1 else Either(tuple(options))

    def term(self) -> Pattern:
        token = self.peek()
        if token == "*":
            self.at += 1
            return Anything()
        if token == "(":
            self.at += 1
            inner = self.either()
            self.take(")")
            return inner
        if not token or token in "|,)":
            raise self.mistake("an operator, * or (")
        self.at += 1
        return Call(token, self.arguments())

    def arguments(self) -> tuple[Pattern, ...]:
        if self.peek() != "(":
            return ()
        self.at += 1
        made = [self.either()]
        while self.peek() == ",":
            self.at += 1
            made.append(self.either())
        self.take(")")
        return tuple(made)

    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, wanted: str) -> None:
        if self.peek() != wanted:
            raise self.mistake(repr(wanted))
        self.at += 1

    def mistake(self, wanted: str) -> CollageError:
        where = f"at character {self.tokens[self.at][1] + 1}" if self.at < len(self.tokens) else "at its end"
        found = repr(self.peek()) if self.peek() else "nothing"
        return CollageError(
            f"the pattern {self.text!r} has {found} {where}, {wanted} was expected",
            "patterns are written as Relu(Conv(*, *))",
            "bad_pattern",
        )


def matches(pattern: Pattern, graph: DataflowGraph, root: int) -> set[int]:
    """Every set of nodes, as bits, that `pattern` can hold with `root` as its last node."""
    return {bits for bits in _at_node(pattern, graph, root) if bits}


def _at_node(pattern: Pattern, graph: DataflowGraph, index: int) -> Iterator[int]:
    if isinstance(pattern, Anything):
        yield 0
    elif isinstance(pattern, Either):
        for option in pattern.options:
            yield from _at_node(option, graph, index)
    else:
        node = graph.nodes[index]
        if node.op != pattern.op or len(node.inputs) < len(pattern.inputs):
            return
        for inputs in _orders(pattern, node.inputs):
            for bits in _at_inputs(pattern.inputs, graph, inputs):
                yield bits | 1 << index


def _orders(pattern: Call, inputs: tuple[str, ...]) -> Iterator[Sequence[str]]:
    """The inputs in every order that the operator allows."""
    if pattern.op in COMMUTATIVE and pattern.inputs:
        yield from dict.fromkeys(permutations(inputs, len(pattern.inputs)))
    else:
        yield inputs


def _at_inputs(patterns: Sequence[Pattern], graph: DataflowGraph, inputs: Sequence[str]) -> Iterator[int]:
    if not patterns:
        yield 0
        return
    for first in set(_at_tensor(patterns[0], graph, inputs[0])):
        for rest in _at_inputs(patterns[1:], graph, inputs[1:]):
            yield first | rest


def _at_tensor(pattern: Pattern, graph: DataflowGraph, name: str) -> Iterator[int]:
    if isinstance(pattern, Anything):
        yield 0
    elif isinstance(pattern, Either):
        for option in pattern.options:
            yield from _at_tensor(option, graph, name)
    else:
        maker = graph.producer.get(name, -1)
        if maker >= 0:
            yield from _at_node(pattern, graph, maker)
