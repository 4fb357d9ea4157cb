"""Places at which a model is worth cutting: not at accumulators of integers, and rather at floats before they are quantised than after.

A graph enters; tensors and positions leave. Only operators and types are looked at, no values.
"""

from __future__ import annotations

from collections.abc import Collection

from .dataflow_graph import DataflowGraph
from .index_set import IndexSet

_ACCUMULATING = frozenset({"ConvInteger", "MatMulInteger", "com.microsoft.MatMulInteger16"})
_SIZES_ONLY = frozenset({"Shape", "Size"})
_QUANTISING = ("QuantizeLinear", "DynamicQuantizeLinear", "QLinear", "QGemm")
STEPS = {"int8": 1 / 128, "uint8": 1 / 128, "int16": 1 / 32768, "uint16": 1 / 32768}
"""Types that floats are rounded to → the least difference of two values, as a share of the largest that has a sign."""


def accumulators(graph: DataflowGraph) -> frozenset[str]:
    """Return the int32 tensors that hold sums of integer products which nothing has scaled yet, or what is made of such sums alone.

    Toolchains that compute them in other steps differ by one in any of their elements, and each difference counts.
    """
    names: set[str] = set()
    for node in graph.nodes:
        is_sum = node.op in _ACCUMULATING or (node.op not in _SIZES_ONLY and not names.isdisjoint(node.inputs))
        if is_sum:
            names.update(tensor.name for tensor in node.outputs if tensor.type.dtype == "int32")
    return frozenset(names)


def rounded(graph: DataflowGraph) -> frozenset[str]:
    """Return the integer tensors that were rounded from floats, and those that hold the same values in another order.

    The outputs of the model are not among them: what its user reads is compared element by element.
    """
    rounded_from: dict[str, str] = {}
    for node in graph.nodes:
        types = {rounded_from[name] for name in node.inputs if name in rounded_from}
        for tensor in node.outputs:
            dtype = tensor.type.dtype
            if dtype in STEPS and (_quantises(node.op) or dtype in types):
                rounded_from[tensor.name] = dtype
    return frozenset(rounded_from) - set(graph.outputs)


def cut_points(graph: DataflowGraph, inside: IndexSet, among: Collection[int], most: int) -> list[int]:
    """Return nodes of `inside` that are `among` some, at most about `most`, after which it can be cut best, ascending; never the last.

    Of each stretch of nodes it is the one after which only floats cross, and of several the fewest tensors and bytes; the last one of
    several. There is none where an accumulator crosses, or a tensor whose size is not known before a run.
    """
    nodes = list(inside)
    last_read = {name: index for index in nodes for name in graph.nodes[index].inputs}
    read_outside = {name for index, node in enumerate(graph.nodes) if index not in inside for name in node.inputs} | set(graph.outputs)
    never = graph.derive(accumulators)
    crossing: dict[str, tuple[int, int]] = {}
    best: dict[int, tuple[tuple[int, int, int], int]] = {}
    stretch = -(-len(nodes) // most)
    for at, index in enumerate(nodes[:-1]):
        node = graph.nodes[index]
        for tensor in node.outputs:
            if tensor.name in last_read or tensor.name in read_outside:
                crossing[tensor.name] = _rank(node.op, tensor.type.dtype), tensor.type.bytes
        for name in node.inputs:
            if last_read[name] == index and name not in read_outside:
                crossing.pop(name, None)
        if index in among and crossing and all(name not in never and graph.types[name].has_buffer for name in crossing):
            ranks, sizes = zip(*crossing.values(), strict=True)
            cost = max(ranks), len(sizes), sum(sizes)
            if at // stretch not in best or cost <= best[at // stretch][0]:
                best[at // stretch] = cost, index
    return [index for _, index in best.values()]


def _rank(op: str, dtype: str) -> int:
    """Return how little a tensor is worth a cut: a float that an operator computed, before what was rounded or came from that."""
    return int("float" not in dtype or op == "DequantizeLinear" or _quantises(op))


def _quantises(op: str) -> bool:
    return op.removeprefix("com.microsoft.").startswith(_QUANTISING)
