"""The pattern language, as in `Relu(Conv(*, *) | Add(Conv(*, *), *))`, and a matcher that finds every match at a node.

After RFC 62 (Collage), `DFPatternPartitionRule`. A pattern has operator names, ``*`` for anything and ``|`` for alternatives.
Inputs that it does not name are free; commutative operators match in any order; all overlapping matches are found. A node that a
wildcard matches is not inside, and an absent optional input matches nothing. The number of matches at one node is limited, since
an operator with many inputs may have exponentially many; `Matcher.cut_off` lists the nodes where the limit was reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from ..errors import CollageError
from ..graph.dataflow_graph import HOST, DataflowGraph
from ..graph.index_set import IndexSet

COMMUTATIVE = frozenset(("Add", "Mul", "And", "Or", "Xor", "Max", "Min", "Sum", "Mean", "Equal", "BitwiseAnd", "BitwiseOr", "BitwiseXor"))
MOST_MATCHES = 1_000
"""Most matches with the same last node; further ones are not looked at."""
_MOST_TRIES = 50 * MOST_MATCHES
_MOST_NESTED = 100
_MOST_SHOWN = 200
_TOKEN = re.compile(r"\s*(?:([A-Za-z_][\w.]*)|([*|(),]))")


@dataclass(frozen=True, slots=True)
class Anything:
    """``*``: any tensor; its maker is not inside."""


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
Nodes = frozenset[int]
T = TypeVar("T")


def parse_pattern(text: str) -> Pattern:
    """Return the pattern that `text` describes.

    Raises:
        CollageError: the text does not parse; the message quotes it and says where.
    """
    parser = _Parser(text)
    pattern = parser.either()
    if parser.at < len(parser.tokens):
        raise parser.mistake("the end")
    if isinstance(pattern, Anything):
        raise CollageError(
            f"the pattern {_shown(text)} matches anything and holds nothing", "name an operator, such as Relu(Conv(*, *))", "bad_pattern"
        )
    return pattern


def _shown(text: str) -> str:
    """Return a pattern as error messages quote it."""
    return repr(text) if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]!r}…"


class _Parser:
    """A recursive-descent parser of one pattern."""

    def __init__(self, text: str):
        self.text = text
        self.tokens: list[tuple[str, int]] = []
        self.at = 0
        self.depth = 0
        position = 0
        while position < len(text.rstrip()):
            found = _TOKEN.match(text, position)
            if found is None:
                raise CollageError(
                    f"the pattern {_shown(text)} has {text[position]!r} at character {position + 1}",
                    "patterns are written as Relu(Conv(*, *))",
                    "bad_pattern",
                )
            self.tokens.append((found.group(1) or found.group(2), found.start(1) if found.group(1) else found.start(2)))
            position = found.end()

    def either(self) -> Pattern:
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise CollageError(f"the pattern {_shown(self.text)} is nested deeper than {_MOST_NESTED}", "write several", "bad_pattern")
        options = self.options()
        self.depth -= 1
        return options

    def options(self) -> Pattern:
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
        arguments = [self.either()]
        while self.peek() == ",":
            self.at += 1
            arguments.append(self.either())
        self.take(")")
        return tuple(arguments)

    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, wanted: str) -> None:
        if self.peek() != wanted:
            raise self.mistake(repr(wanted))
        self.at += 1

    def mistake(self, wanted: str) -> CollageError:
        where = f"at character {self.tokens[self.at][1] + 1}" if self.at < len(self.tokens) else "at its end"
        token = repr(self.peek()) if self.peek() else "nothing"
        return CollageError(
            f"the pattern {_shown(self.text)} has {token} {where}, {wanted} was expected",
            "patterns are written as Relu(Conv(*, *))",
            "bad_pattern",
        )


def operators_of(pattern: Pattern) -> Iterator[str]:
    """Yield every operator that `pattern` names."""
    if isinstance(pattern, Call):
        yield pattern.op
    for sub_pattern in pattern.inputs if isinstance(pattern, Call) else pattern.options if isinstance(pattern, Either) else ():
        yield from operators_of(sub_pattern)


class Matcher:
    """Finds the matches of one pattern in one graph; each (sub-pattern, node) is computed once.

    Attributes:
        cut_off: Nodes at which matches were left out because of the limit.
    """

    def __init__(self, pattern: Pattern, graph: DataflowGraph):
        self.pattern = pattern
        self.graph = graph
        self.cut_off: list[int] = []
        self._known: dict[tuple[int, int], tuple[Nodes, ...]] = {}
        self._options: dict[tuple[int, str], list[Pattern]] = {}

    def at(self, root: int) -> list[IndexSet]:
        """Return every match whose last node is `root`, as a set of nodes, in order."""
        sets = sorted(tuple(sorted(nodes)) for nodes in self._at_node(self.pattern, root) if nodes)
        return [IndexSet(nodes) for nodes in sets]

    def _at_node(self, pattern: Pattern, index: int) -> Iterable[Nodes]:
        if isinstance(pattern, Anything):
            return (frozenset(),)
        op = self.graph.nodes[index].op
        if isinstance(pattern, Either):
            options = self._options_for(pattern, op)
            if len(options) == 1:
                return self._at_node(options[0], index)
            return dict.fromkeys(nodes for option in options for nodes in self._at_node(option, index))
        if op != pattern.op:
            return ()
        key = (id(pattern), index)
        if key not in self._known:
            find = self._in_any_order if pattern.op in COMMUTATIVE else self._in_order
            self._known[key] = tuple(nodes | {index} for nodes in find(pattern, index))
        return self._known[key]

    def _options_for(self, pattern: Either, op: str) -> list[Pattern]:
        """Return the options that a node of `op` may match: a toolchain's pattern may name a hundred operators."""
        key = (id(pattern), op)
        if key not in self._options:
            self._options[key] = [option for option in pattern.options if not isinstance(option, Call) or option.op == op]
        return self._options[key]

    def _at_tensor(self, pattern: Pattern, name: str) -> Iterable[Nodes]:
        if isinstance(pattern, Anything):
            return (frozenset(),) if name else ()
        if isinstance(pattern, Either):
            return dict.fromkeys(nodes for option in pattern.options for nodes in self._at_tensor(option, name))
        maker = self.graph.producer.get(name, HOST)
        return self._at_node(pattern, maker) if maker != HOST else ()

    def _in_order(self, pattern: Call, index: int) -> Iterable[Nodes]:
        """Return the matches in which the first inputs of the node match those of the pattern, one by one."""
        names = self.graph.nodes[index].inputs
        if len(names) < len(pattern.inputs):
            return ()
        partial: Iterable[Nodes] = (frozenset(),)
        for sub_pattern, name in zip(pattern.inputs, names, strict=False):
            options = self._at_tensor(sub_pattern, name)
            partial = self._bounded(index, (nodes | more for nodes in partial for more in options))
        return partial

    def _in_any_order(self, pattern: Call, index: int) -> Iterable[Nodes]:
        """Return the matches in which each input of the pattern matches another input of the node; wildcards take the inputs left over."""
        names = [name for name in self.graph.nodes[index].inputs if name]
        if len(names) < len(pattern.inputs):
            return ()
        partial: Iterable[tuple[Nodes, Nodes]] = ((frozenset(), frozenset()),)
        for sub_pattern in pattern.inputs:
            if isinstance(sub_pattern, Anything):
                continue
            options = [(slot, nodes) for slot, name in enumerate(names) for nodes in self._at_tensor(sub_pattern, name)]
            partial = self._bounded(
                index, ((used | {slot}, nodes | more) for used, nodes in partial for slot, more in options if slot not in used)
            )
        return dict.fromkeys(nodes for _, nodes in partial)

    def _bounded(self, index: int, made: Iterable[T]) -> list[T]:
        """Return the distinct ones of `made`, up to the limits."""
        kept: dict[T, None] = {}
        for tries, item in enumerate(made):
            if (len(kept) >= MOST_MATCHES and item not in kept) or tries >= _MOST_TRIES:
                self.cut_off.append(index)
                break
            kept[item] = None
        return list(kept)
