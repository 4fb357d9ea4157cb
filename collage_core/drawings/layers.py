"""Draws a graph in layers as SVG, without Graphviz: each box below all that it reads, and beneath the middle of these.

Boxes and edges, or a run, enter; one SVG leaves that asks for nothing outside of it. Every text in it is escaped. Edges may cross boxes,
which Graphviz would lead around.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from ..base.counted import counted
from ..base.durations import milliseconds
from ..documents.statement_text import predicted_text
from ..graph.dataflow_graph import HOST
from ..graph.topological_order import topological_order
from ..pipeline.record.record import RunRecord
from ..rewrite.export.dot import PLAIN
from ..rewrite.export.target_colours import plan_colours

WIDTH, HEIGHT, GAP, LEVEL, MARGIN, TITLE = 148, 38, 16, 70, 14, 26
"""Sizes in pixels: of a box, between boxes of a layer, from one layer to the next, around all, and of the title."""
_SWEEPS = 4
_LONGEST = 22
_NAMES = 12


@dataclass(frozen=True)
class Box:
    """A box with two lines of text.

    Attributes:
        tip: What a pointer on it shows.
        colour: As ``#rrggbb``.
    """

    first: str
    second: str
    tip: str
    colour: str


def nodes_svg(record: RunRecord) -> str:
    """Draw each node of a run's model, coloured by its target."""
    part_of = {node: part for part in record.plan.partitions for node in part.nodes}
    colours = plan_colours(record.plan)
    boxes = []
    for index, node in enumerate(record.graph.nodes):
        part = part_of.get(index)
        target = part.target if part else ""
        cost = _cost(part.cost_s if part else None)
        boxes.append(
            Box(node.op, node.name, f"{node.name} ({node.op})\n{target}, its partition {cost}", colours[target] if part else PLAIN)
        )
    return layered_svg(_title(record), boxes, _node_edges(record))


def partitions_svg(record: RunRecord) -> str:
    """Draw each partition of a run's plan, coloured by its target."""
    parts = record.plan.partitions
    part_of = {node: number for number, part in enumerate(parts) for node in part.nodes}
    colours = plan_colours(record.plan)
    boxes = []
    for part in parts:
        names = ", ".join(part.names[:_NAMES]) + (" …" if len(part.names) > _NAMES else "")
        tip = f"{part.target}, {_cost(part.cost_s)}\n{counted(len(part.nodes), 'node')}: {names}"
        boxes.append(Box(f"{part.target} {_cost(part.cost_s)}", "+".join(dict.fromkeys(part.ops)), tip, colours[part.target]))
    edges = {(part_of[one], part_of[other]) for one, other in _node_edges(record) if one in part_of and other in part_of}
    return layered_svg(_title(record), boxes, sorted((one, other) for one, other in edges if one != other))


def layered_svg(title: str, boxes: Sequence[Box], edges: Iterable[tuple[int, int]]) -> str:
    """Draw `boxes` under a `title`; an edge goes from the first index to the second."""
    drawn = sorted(set(edges))
    layers = _layers(len(boxes), drawn)
    widest = max((len(layer) for layer in layers), default=1)
    width = 2 * MARGIN + widest * (WIDTH + GAP) - GAP
    height = 2 * MARGIN + TITLE + max(len(layers), 1) * LEVEL - (LEVEL - HEIGHT)
    at = {}
    for level, layer in enumerate(layers):
        left = MARGIN + (widest - len(layer)) * (WIDTH + GAP) // 2
        at.update({index: (left + column * (WIDTH + GAP), MARGIN + TITLE + level * LEVEL) for column, index in enumerate(layer)})
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11" role="img">']
    lines.append(f'<title>{_text(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>')
    lines.append(f'<text x="{MARGIN}" y="{MARGIN + 11}" fill="#222222" font-weight="bold">{_text(title)}</text>')
    lines += [_edge(at[one], at[other]) for one, other in drawn if one in at and other in at]
    lines += [_box(boxes[index], corner) for index, corner in sorted(at.items())]
    return "\n".join([*lines, "</svg>\n"])


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the boxes of each layer from left to right; boxes on a cycle, which no plan has, are left out."""
    needs: list[set[int]] = [set() for _ in range(count)]
    readers: list[set[int]] = [set() for _ in range(count)]
    for one, other in edges:
        needs[other].add(one)
        readers[one].add(other)
    level: dict[int, int] = {}
    layers: list[list[int]] = []
    for index in topological_order(needs):
        level[index] = max((level[one] + 1 for one in needs[index]), default=0)
        layers += [[] for _ in range(level[index] + 1 - len(layers))]
        layers[level[index]].append(index)
    for sweep in range(_SWEEPS):
        beside, order = (needs, layers) if sweep % 2 == 0 else (readers, layers[::-1])
        column = {index: at - len(layer) / 2 for layer in layers for at, index in enumerate(layer)}
        for layer in order:
            middle = {one: sum(column[near] for near in beside[one]) / len(beside[one]) if beside[one] else column[one] for one in layer}
            layer.sort(key=lambda one, middle=middle: (middle[one], one))  # type: ignore[misc]
            column.update({one: at - len(layer) / 2 for at, one in enumerate(layer)})
    return layers


def _node_edges(record: RunRecord) -> list[tuple[int, int]]:
    graph = record.graph
    return [(maker, reader) for name, maker in graph.producer.items() if maker != HOST for reader in graph.readers[name]]


def _title(record: RunRecord) -> str:
    return f"{record.plan.model.name}: {predicted_text(record.plan, _cost)}"


def _cost(seconds: float | None) -> str:
    return "of unknown cost" if seconds is None else milliseconds(seconds, 3)


def _edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    x, y, to_x, to_y = start[0] + WIDTH // 2, start[1] + HEIGHT, end[0] + WIDTH // 2, end[1]
    middle = (y + to_y) // 2
    return f'<path d="M{x} {y}C{x} {middle} {to_x} {middle} {to_x} {to_y}" fill="none" stroke="{PLAIN}" stroke-opacity="0.7"/>'


def _box(box: Box, corner: tuple[int, int]) -> str:
    x, y = corner
    shape = (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="{box.colour}" fill-opacity="0.25" stroke="{box.colour}"/>'
    )
    lines = [(16, box.first, "#111111"), (30, box.second, "#555555")]
    texts = "".join(f'<text x="{x + 7}" y="{y + down}" fill="{colour}">{_text(_short(line))}</text>' for down, line, colour in lines)
    return f"<g><title>{_text(box.tip)}</title>{shape}{texts}</g>"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _text(text: str) -> str:
    """Return `text` as XML has it; what does not print is replaced, since XML forbids some of it."""
    return escape("".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text))
