"""A strict reader of the part of Graphviz's language that is written here: anything else fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(->)|([A-Za-z_][A-Za-z0-9_]*|[0-9]+(?:\.[0-9]+)?)|([{}\[\]=;,]))', re.DOTALL)


@dataclass
class Dot:
    """A drawing: nodes with their attributes, edges, and clusters with their nodes."""

    title: str = ""
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)
    clusters: list[tuple[str, list[str]]] = field(default_factory=list)


def tokens(text: str) -> Iterator[str]:
    position, text = 0, text.rstrip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        assert found, f"cannot be read: {text[position : position + 60]!r}"
        position = found.end()
        yield found[0].strip()


def shown(quoted: str) -> str:
    """Return the text that Graphviz shows for a quoted label."""
    assert quoted[0] == quoted[-1] == '"', quoted
    text = re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), quoted[1:-1], flags=re.DOTALL)
    return text.replace("&amp;", "&")


class Reader:
    def __init__(self, text: str):
        self._tokens = list(tokens(text))
        self._at = 0
        self.dot = Dot()

    def read(self) -> Dot:
        self._want("digraph")
        self.dot.title = shown(self._next())
        self._want("{")
        while not self._is("}"):
            self._statement(None)
        assert self._at == len(self._tokens), "there is text after the graph"
        return self.dot

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _want(self, token: str) -> None:
        assert self._next() == token

    def _is(self, token: str) -> bool:
        if self._tokens[self._at] != token:
            return False
        self._at += 1
        return True

    def _attributes(self) -> dict[str, str]:
        found = {}
        if self._is("["):
            while not self._is("]"):
                name = self._next()
                self._want("=")
                found[name] = self._next()
                self._is(",")
        return found

    def _statement(self, inside: list[str] | None) -> None:
        name = self._next()
        if name == "subgraph":
            self._cluster(self._next())
        elif self._is("->"):
            to = self._next()
            label = self._attributes().get("label", '""')
            self.dot.edges.append((name, to, shown(label)))
            self._want(";")
        elif name in ("graph", "node", "edge"):
            self._attributes()
            self._want(";")
        else:
            assert name not in self.dot.nodes, f"{name} stands twice"
            self.dot.nodes[name] = self._attributes()
            if inside is not None:
                inside.append(name)
            self._want(";")

    def _cluster(self, name: str) -> None:
        assert name.startswith("cluster_")
        self._want("{")
        nodes: list[str] = []
        label = ""
        while not self._is("}"):
            if self._tokens[self._at + 1] == "=":
                key = self._next()
                self._want("=")
                value = self._next()
                label = shown(value) if key == "label" else label
                self._want(";")
            else:
                self._statement(nodes)
        self.dot.clusters.append((label, nodes))


def read_dot(text: str) -> Dot:
    return Reader(text).read()
