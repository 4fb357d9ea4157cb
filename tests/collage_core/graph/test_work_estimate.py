"""Kinds of work, and operations that depend on where an operator has its weights. `test_roofline.py` has figures by hand."""

from __future__ import annotations

from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.work_estimate import WorkEstimator, work_kind
from tests.helpers.typed_graphs import GraphBuilder


def kinds(on: DataflowGraph) -> dict[str, str]:
    return {node.name: work_kind(on, node) for node in on.nodes}


def test_work_on_integers_is_a_kind_of_its_own() -> None:
    b = GraphBuilder((1, 8, 4, 4))
    scale = b.weight(())
    plain = b.conv("x")
    quantised = b.node("Conv", (b.node("DequantizeLinear", ("x", scale)), b.weight((8, 8, 3, 3))), kernel_shape=[3, 3])
    integer = b.node("ConvInteger", ("x", b.weight((8, 8, 1, 1))), kernel_shape=[1, 1])
    product = b.linear("x")
    both = b.node("MatMul", (b.node("DequantizeLinear", ("x", scale)), b.weight((4, 4))))
    dynamic = b.linear("x", "MatMulInteger")
    own = b.linear("x", "com.microsoft.DynamicQuantizeMatMul")
    found = kinds(b.graph(plain, quantised, integer, product, both, dynamic, own))
    assert [found[name] for name in (plain, quantised, integer)] == ["convolution", "quantised_convolution", "quantised_convolution"]
    assert [found[name] for name in (product, both, dynamic, own)] == [
        "product", "quantised_product", "dynamic_product", "dynamic_product",
    ]  # fmt: skip


def test_dequantised_weights_alone_make_no_work_on_integers() -> None:
    b = GraphBuilder((1, 8, 4, 4))
    weights = b.node("DequantizeLinear", (b.weight((8, 8, 3, 3)), b.weight(())))
    name = b.node("Conv", ("x", weights), kernel_shape=[3, 3])
    assert kinds(b.graph(name))[name] == "convolution"


def test_the_weights_of_a_convolution_of_integers_come_after_the_zero_point() -> None:
    b = GraphBuilder((1, 8, 4, 4))
    scale = b.weight(())
    name = b.node("QLinearConv", ("x", scale, scale, b.weight((8, 8, 3, 3)), scale, scale, scale, scale), kernel_shape=[3, 3])
    on = b.graph(name)
    assert WorkEstimator(on).operations(0) == 2 * (8 * 4 * 4) * (8 * 3 * 3)
