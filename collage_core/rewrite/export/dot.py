"""Draws a graph in DOT, Graphviz's language: a box for each node, a cluster for each partition, shapes of tensors at the edges.

The graph and its colours enter as plain data. Names are the model's and may contain any character: in DOT they are always quoted, and
escapes of Graphviz are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...base.durations import milliseconds
from ...graph.dataflow_graph import HOST, DataflowGraph, TensorType
from ..plan import source_label
from .target_colours import plan_colours

if TYPE_CHECKING:
    from ..plan import Plan

PLAIN = "#8a8f98"


@dataclass(frozen=True)
class Cluster:
    """Nodes that are drawn together.

    Attributes:
        colour: Colour of the border, as ``#rrggbb``.
    """

    label: str
    colour: str
    nodes: Sequence[int]


@dataclass(frozen=True)
class Drawing:
    """The title, clusters and colours of a drawing.

    Attributes:
        fills: Node → its colour, as ``#rrggbb``; other nodes are white.
    """

    title: str
    clusters: Sequence[Cluster] = ()
    fills: Mapping[int, str] = field(default_factory=dict)


def plan_drawing(plan: Plan) -> Drawing:
    """Return the drawing of a plan: each partition is a cluster with its cost, in the colour of its target."""
    colours = plan_colours(plan)
    clusters = []
    for partition in plan.partitions:
        cost = "" if partition.cost_s is None else f" {milliseconds(partition.cost_s, 3)}"
        cost += source_label(partition.source)
        clusters.append(Cluster(f"{partition.target}{cost}", colours[partition.target], partition.nodes))
    fills = {node: cluster.colour for cluster in clusters for node in cluster.nodes}
    return Drawing(f"{plan.model.name}: predicted {milliseconds(plan.total_s)}", clusters, fills)


def dot_text(graph: DataflowGraph, drawing: Drawing) -> str:
    """Return the graph as DOT, ready for ``dot -Tsvg``."""
    return "\n".join(_lines(graph, drawing)) + "\n"


def _lines(graph: DataflowGraph, drawing: Drawing) -> Iterator[str]:
    yield f"digraph {quoted(drawing.title)} {{"
    yield f'  graph [label={quoted(drawing.title)}, labelloc=t, fontname="sans-serif", ranksep=0.35, nodesep=0.25];'
    yield '  node [shape=box, style="filled,rounded", fillcolor="#ffffff", fontname="sans-serif", fontsize=11, margin="0.12,0.05"];'
    yield f'  edge [color="{PLAIN}", fontname="sans-serif", fontsize=9, arrowsize=0.7];'
    for number, tensor in enumerate(graph.inputs):
        yield f"  i{number} [label={quoted(tensor.name, _shape(tensor.type))}, shape=oval, style=solid];"
    placed: set[int] = set()
    for number, cluster in enumerate(drawing.clusters):
        yield f"  subgraph cluster_{number} {{"
        yield f'    label={quoted(cluster.label)}; color="{cluster.colour}"; fontcolor="{cluster.colour}"; style=rounded; labeljust=l;'
        mine = [node for node in dict.fromkeys(cluster.nodes) if node not in placed]
        placed.update(mine)
        for node in mine:
            yield f"  {_node(graph, node, drawing)}"
        yield "  }"
    for index in range(len(graph)):
        if index not in placed:
            yield _node(graph, index, drawing)
    for number, name in enumerate(graph.outputs):
        yield f"  o{number} [label={quoted(name)}, shape=oval, style=solid];"
    yield from _edges(graph)
    yield "}"


def _node(graph: DataflowGraph, index: int, drawing: Drawing) -> str:
    node, fill = graph.nodes[index], drawing.fills.get(index)
    paint = f', fillcolor="{fill}66", color="{fill}"' if fill else ""
    return f"  n{index} [label={quoted(node.op, node.name)}{paint}];"


def _edges(graph: DataflowGraph) -> Iterator[str]:
    inputs = {tensor.name: number for number, tensor in enumerate(graph.inputs)}
    for name, maker in graph.producer.items():
        source = f"i{inputs[name]}" if maker == HOST else f"n{maker}"
        label = f" [label={quoted(_shape(graph.types[name]))}]"
        for reader in graph.readers[name]:
            yield f"  {source} -> n{reader}{label};"
    for number, name in enumerate(graph.outputs):
        if name in graph.producer:
            maker = graph.producer[name]
            source = f"i{inputs[name]}" if maker == HOST else f"n{maker}"
            yield f"  {source} -> o{number} [label={quoted(_shape(graph.types[name]))}];"


def _shape(kind: TensorType) -> str:
    return "×".join(map(str, kind.declared_shape)) or "scalar"


def quoted(*lines: str) -> str:
    """Return `lines` as a DOT string that is shown literally: without escapes, entities or an early end of the string."""
    return '"' + "\\n".join(map(_escaped, lines)) + '"'


def _escaped(line: str) -> str:
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
    return shown.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
