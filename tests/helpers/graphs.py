"""Hand-made and random dataflow graphs for tests; nodes are written as ``name: Op <- a, b``, those with more outputs ``a b: Op <- x``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from collage_core.graph.dataflow_graph import DataflowGraph, Node, OpPatternKind, Tensor, TensorType

KINDS = {
    "Conv": "A",
    "MatMul": "A",
    "MaxPool": "A",
    "Add": "B",
    "Relu": "E",
    "Reshape": "I",
    "Concat": "I",
    "Pad": "I",
    "Split": "I",
    "TopK": "O",
    "Sum": "R",
    "ReduceSum": "R",
}
FLOAT = TensorType((1, 4), "float32")


def graph(lines: Sequence[str], outputs: Sequence[str] = ()) -> DataflowGraph:
    """The graph of `lines`; ``x`` is its input; its outputs are the tensors that nobody reads, and `outputs`."""
    nodes, read, written = [], set(), []
    for index, line in enumerate(lines):
        head, _, sources = line.partition("<-")
        names, op = head.partition(":")[0].split(), head.partition(":")[2].strip()
        inputs = tuple(source.strip() for source in sources.split(",") if source.strip())
        read.update(inputs)
        written += names
        kind = OpPatternKind.from_letter(KINDS.get(op, "O"))
        nodes.append(Node(index, names[0], op, kind, inputs, tuple(Tensor(name, FLOAT) for name in names), is_host=op == "Identity"))
    ends = tuple(name for name in written if name not in read or name in outputs)
    return DataflowGraph(tuple(nodes), (Tensor("x", FLOAT),), ends)


def typed(lines: Sequence[str], **dtypes: str) -> DataflowGraph:
    """The graph of `lines`, whose tensors are floats but for those in `dtypes`."""
    plain = graph(lines)

    def retyped(tensor: Tensor) -> Tensor:
        return replace(tensor, type=replace(tensor.type, dtype=dtypes.get(tensor.name, tensor.type.dtype)))

    nodes = tuple(replace(node, outputs=tuple(map(retyped, node.outputs))) for node in plain.nodes)
    return DataflowGraph(nodes, plain.inputs, plain.outputs)


MINI_MNIST = graph(
    [
        "pad: Pad <- x",
        "conv: Conv <- pad",
        "add: Add <- conv",
        "relu: Relu <- add",
        "pool: MaxPool <- relu",
        "flat: Reshape <- pool",
        "dense: MatMul <- flat",
        "bias: Add <- dense",
    ]
)
"""The RFC's mini-MNIST: its figures number these nodes."""


@st.composite
def graphs(draw: st.DrawFn, most_nodes: int = 8) -> DataflowGraph:
    """A random DAG of up to `most_nodes` calls of random kinds."""
    lines = []
    for index in range(draw(st.integers(1, most_nodes))):
        sources = draw(st.lists(st.sampled_from(["x", *[f"n{i}" for i in range(index)]]), min_size=1, max_size=3, unique=True))
        lines.append(f"n{index}: {draw(st.sampled_from(sorted(KINDS)))} <- {', '.join(sources)}")
    outputs = draw(st.lists(st.sampled_from([f"n{i}" for i in range(len(lines))]), max_size=2))
    return graph(lines, outputs)
