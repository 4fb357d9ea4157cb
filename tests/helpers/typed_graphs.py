"""Graphs of real operators with shapes and weights, so that their nodes have operations to count: parts of networks, one after another."""

from __future__ import annotations

from collections.abc import Sequence

from collage_core.graph.dataflow_graph import Constant, DataflowGraph, Node, OpPatternKind, Tensor, TensorType


class GraphBuilder:
    """Appends nodes; each method takes the name of a tensor and returns that of the tensor that it makes."""

    def __init__(self, shape: tuple[int, ...] = (1, 32, 32, 32)):
        self.inputs = [Tensor("x", TensorType(shape, "float32"))]
        self.nodes: list[Node] = []
        self.constants: dict[str, Constant] = {}
        self.shapes = {"x": shape}

    def node(self, op: str, inputs: Sequence[str], shape: tuple[int, ...] | None = None, **attributes: object) -> str:
        """Append one node; it makes the shape of its first input unless given."""
        index = len(self.nodes)
        name, made = f"{op.lower()}{index}", shape or self.shapes[inputs[0]]
        self.nodes.append(
            Node(
                index,
                name,
                op,
                OpPatternKind.OPAQUE,
                tuple(inputs),
                (Tensor(name, TensorType(made, "float32")),),
                attributes,
                (),
                op == "Identity",
            )
        )
        self.shapes[name] = made
        return name

    def input(self, name: str, shape: tuple[int, ...]) -> str:
        self.inputs.append(Tensor(name, TensorType(shape, "float32")))
        self.shapes[name] = shape
        return name

    def weight(self, shape: tuple[int, ...]) -> str:
        name = f"w{len(self.constants)}"
        self.constants[name] = Constant(TensorType(shape, "float32"))
        self.shapes[name] = shape
        return name

    def conv(self, x: str, channels: int = 32, stride: int = 1) -> str:
        _, depth, height, width = self.shapes[x]
        shape = (1, channels, height // stride, width // stride)
        return self.node("Conv", (x, self.weight((channels, depth, 3, 3))), shape, kernel_shape=[3, 3])

    def relu(self, x: str) -> str:
        return self.node("Relu", (x,))

    def qdq_conv(self, x: str) -> str:
        """Quantise, dequantise, a convolution with dequantised weights, Relu."""
        _, depth, height, width = self.shapes[x]
        scale = self.weight(())
        y = self.node("DequantizeLinear", (self.node("QuantizeLinear", (x, scale)), scale))
        w = self.node("DequantizeLinear", (self.weight((32, depth, 3, 3)), scale))
        return self.relu(self.node("Conv", (y, w), (1, 32, height, width), kernel_shape=[3, 3]))

    def flat(self, x: str) -> str:
        _, depth, height, width = self.shapes[x]
        return self.node("Reshape", (x,), (1, height * width, depth))

    def square(self, x: str) -> str:
        """The reverse of `flat`."""
        _, count, depth = self.shapes[x]
        side = int(count**0.5)
        return self.node("Reshape", (x,), (1, depth, side, side))

    def linear(self, x: str, op: str = "MatMul") -> str:
        width = self.shapes[x][-1]
        return self.node(op, (x, self.weight((width, width))))

    def layer(self, x: str, op: str = "MatMul", mask: str = "") -> str:
        """A transformer layer of 16 nodes at most; `op` multiplies with weights."""
        h = self.node("LayerNormalization", (x,))
        q, k, v = (self.linear(h, op) for _ in range(3))
        length = self.shapes[x][1]
        scores = self.node("MatMul", (q, self.node("Transpose", (k,), (1, self.shapes[x][2], length))), (1, length, length))
        scores = self.node("Add", (scores, mask)) if mask else scores
        a = self.linear(self.node("MatMul", (self.node("Softmax", (scores,)), v), self.shapes[x]), op)
        a = self.node("Add", (a, x))
        f = self.linear(self.node("Gelu", (self.linear(self.node("LayerNormalization", (a,)), op),)), op)
        return self.node("Add", (f, a))

    def graph(self, *outputs: str) -> DataflowGraph:
        return DataflowGraph(tuple(self.nodes), tuple(self.inputs), outputs, self.constants)


def speech(convolutions: int = 6, layers: int = 3) -> DataflowGraph:
    """A front of quantised convolutions, then transformer layers with dynamically quantised products: the cut is one tensor."""
    b = GraphBuilder((1, 32, 16, 16))
    x = "x"
    for _ in range(convolutions):
        x = b.qdq_conv(x)
    x = b.flat(x)
    for _ in range(layers):
        x = b.layer(x, "MatMulInteger")
    return b.graph(x)


def alternating(times: int = 3) -> DataflowGraph:
    """Quantised convolutions and layers of dynamically quantised products, in turns."""
    b = GraphBuilder((1, 32, 16, 16))
    x = "x"
    for _ in range(times):
        for _ in range(3):
            x = b.qdq_conv(x)
        x = b.flat(x)
        for _ in range(2):
            x = b.layer(x, "MatMulInteger")
        x = b.square(x)
    return b.graph(x)


def u_net(levels: int = 4, blocks: int = 3) -> DataflowGraph:
    """A U-Net with a skip connection at each level, of blocks of two convolutions and a residual."""
    b = GraphBuilder((1, 16, 64, 64))
    x, skips = b.conv("x", 16), []
    for _ in range(levels):
        for _ in range(blocks):
            x = _residual(b, x)
        skips.append(x)
        x = b.conv(x, 16, stride=2)
    for skip in reversed(skips):
        x = b.node("Resize", (x,), b.shapes[skip])
        x = b.conv(b.node("Concat", (x, skip), (1, 32, *b.shapes[skip][2:])), 16)
        for _ in range(blocks):
            x = _residual(b, x)
    return b.graph(x)


def detector(maps: int = 6) -> DataflowGraph:
    """A backbone that hands its feature maps to heads, whose results are joined, sorted and filtered."""
    b = GraphBuilder((1, 16, 64, 64))
    x, maps_made = b.conv("x", 16), []
    for _ in range(maps):
        for _ in range(3):
            x = b.relu(b.conv(x, 16))
        maps_made.append(x)
        x = b.relu(b.conv(x, 16, stride=2))
    heads = [b.node("Reshape", (b.conv(x, 8),), (1, 8, b.shapes[x][2] * b.shapes[x][3])) for x in maps_made]
    total = sum(b.shapes[head][2] for head in heads)
    joined = b.node("Concat", heads, (1, 8, total))
    sorted_ = b.node("TopK", (joined,), (1, 8, 100))
    return b.graph(b.node("NonMaxSuppression", (sorted_,), (100, 3)))


def _residual(b: GraphBuilder, x: str) -> str:
    y = b.conv(b.relu(b.conv(x, 16)), 16)
    return b.relu(b.node("Add", (y, x)))
