"""The pattern language: `Relu(Conv(*, *) | Add(Conv(*, *), *))`, and every way in which it matches at a node.

Design, "Described toolchain"; RFC 62 (0.81), `DFPatternPartitionRule`. Operator names, ``*`` for anything, ``|`` for either.
Inputs that are not named are free; commutative operators match in any order; overlapping matches are all found. What a
wildcard matches is not inside, and an optional input that is left out matches nothing. Matches of one node are bounded, since
an operator of many inputs may have exponentially many; `Matcher.cut_off` says where that bound was met.
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
"""Most sets that a pattern may hold with one node as its last; the others are not looked at."""
_MOST_TRIES = 50 * MOST_MATCHES
_DEEPEST = 100
_MOST_SHOWN = 200
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
Nodes = frozenset[int]
T = TypeVar("T")


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
            f"the pattern {_shown(text)} matches anything and holds nothing", "name an operator, such as Relu(Conv(*, *))", "bad_pattern"
        )
    return pattern


def _shown(text: str) -> str:
    """A pattern as an error quotes it."""
    return repr(text) if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]!r}…"


class _Parser:
    """Recursive descent over the tokens of one pattern."""

    def __init__(self, text: str):
        self.text = text
        self.tokens: list[tuple[str, int]] = []
        self.at = 0
        self.deep = 0
        place = 0
        while place < len(text.rstrip()):
            found = _TOKEN.match(text, place)
            if found is None:
                raise CollageError(
                    f"the pattern {_shown(text)} has {text[place]!r} at character {place + 1}",
                    "patterns are written as Relu(Conv(*, *))",
                    "bad_pattern",
                )
            self.tokens.append((found.group(1) or found.group(2), found.start(1) if found.group(1) else found.start(2)))
            place = found.end()

    def either(self) -> Pattern:
        self.deep += 1
        if self.deep > _DEEPEST:
            raise CollageError(f"the pattern {_shown(self.text)} is nested deeper than {_DEEPEST}", "write several", "bad_pattern")
        made = self.options()
        self.deep -= 1
        return made

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
            f"the pattern {_shown(self.text)} has {found} {where}, {wanted} was expected",
            "patterns are written as Relu(Conv(*, *))",
            "bad_pattern",
        )


def operators_of(pattern: Pattern) -> Iterator[str]:
    """Every operator that `pattern` names."""
    if isinstance(pattern, Call):
        yield pattern.op
    for part in pattern.inputs if isinstance(pattern, Call) else pattern.options if isinstance(pattern, Either) else ():
        yield from operators_of(part)


class Matcher:
    """Finds what one pattern matches in one graph; each (part of the pattern, node) is worked out once.

    Attributes:
        cut_off: The nodes at which there were more matches than were looked at.
    """

    def __init__(self, pattern: Pattern, graph: DataflowGraph):
        self.pattern = pattern
        self.graph = graph
        self.cut_off: list[int] = []
        self._known: dict[tuple[int, int], tuple[Nodes, ...]] = {}

    def at(self, root: int) -> list[IndexSet]:
        """Every set of nodes that the pattern can hold with `root` as its last node, in order."""
        sets = sorted(tuple(sorted(nodes)) for nodes in self._at_node(self.pattern, root) if nodes)
        return [IndexSet(nodes) for nodes in sets]

    def _at_node(self, pattern: Pattern, index: int) -> Iterable[Nodes]:
        if isinstance(pattern, Anything):
            return (frozenset(),)
        if isinstance(pattern, Either):
            return dict.fromkeys(nodes for option in pattern.options for nodes in self._at_node(option, index))
        if self.graph.nodes[index].op != pattern.op:
            return ()
        key = (id(pattern), index)
        if key not in self._known:
            find = self._in_any_order if pattern.op in COMMUTATIVE else self._in_order
            self._known[key] = tuple(nodes | {index} for nodes in find(pattern, index))
        return self._known[key]

    def _at_tensor(self, pattern: Pattern, name: str) -> Iterable[Nodes]:
        if isinstance(pattern, Anything):
            return (frozenset(),) if name else ()
        if isinstance(pattern, Either):
            return dict.fromkeys(nodes for option in pattern.options for nodes in self._at_tensor(option, name))
        maker = self.graph.producer.get(name, HOST)
        return self._at_node(pattern, maker) if maker != HOST else ()

    def _in_order(self, pattern: Call, index: int) -> Iterable[Nodes]:
        """The first inputs match the pattern's, one by one."""
        names = self.graph.nodes[index].inputs
        if len(names) < len(pattern.inputs):
            return ()
        partial: Iterable[Nodes] = (frozenset(),)
        for part, name in zip(pattern.inputs, names, strict=False):
            options = self._at_tensor(part, name)
            partial = self._bounded(index, (nodes | more for nodes in partial for more in options))
        return partial

    def _in_any_order(self, pattern: Call, index: int) -> Iterable[Nodes]:
        """Each of the pattern's inputs matches an input of its own. What is left matches the wildcards in any order."""
        names = [name for name in self.graph.nodes[index].inputs if name]
        if len(names) < len(pattern.inputs):
            return ()
        partial: Iterable[tuple[Nodes, Nodes]] = ((frozenset(), frozenset()),)
        for part in pattern.inputs:
            if isinstance(part, Anything):
                continue
            options = [(slot, nodes) for slot, name in enumerate(names) for nodes in self._at_tensor(part, name)]
            partial = self._bounded(
                index, ((used | {slot}, nodes | more) for used, nodes in partial for slot, more in options if slot not in used)
            )
        return dict.fromkeys(nodes for _, nodes in partial)

    def _bounded(self, index: int, made: Iterable[T]) -> list[T]:
        """The distinct ones of `made`, as far as the bounds allow."""
        kept: dict[T, None] = {}
        for tries, item in enumerate(made):
            if (len(kept) >= MOST_MATCHES and item not in kept) or tries >= _MOST_TRIES:
                self.cut_off.append(index)
                break
            kept[item] = None
        return list(kept)
