"""Variables are called as the spans of their values say, and as in the module where these only name a line of a script."""

from __future__ import annotations

from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402

from collage_core.model.relax.reading import region_of  # noqa: E402
from collage_core.model.relax.span_names import with_names_of_spans  # noqa: E402


def module_of(spans: dict[str, tuple[str, int]]) -> Any:
    """``relu(exp(x))``, with spans of a source and a line for some of the variables."""
    x, bindings = relax.Var("x", relax.TensorType((2, 4), "float32")), []
    builder, value = relax.BlockBuilder(), x
    for name, op in (("lv", "relax.exp"), ("out", "relax.nn.relu")):
        source, line = spans.get(name, ("", -1))
        span = tvm.ir.Span(tvm.ir.SourceName(source), line, line, 0, 0) if line >= 0 else None
        call = builder.normalize(relax.Call(tvm.ir.Op.get(op), [value], span=span))
        value = (relax.Var if name == "out" else relax.DataflowVar)(name, call.ty)
        bindings.append(relax.VarBinding(value, call))
    body = relax.SeqExpr([relax.DataflowBlock(bindings)], value)
    made = tvm.IRModule({"main": relax.Function([x], body, value.ty).with_attr("global_symbol", "main")})
    return relax.transform.Normalize()(made)


def names(module: Any) -> list[str]:
    return [binding.var.name for block in module["main"].body.blocks for binding in block.bindings]


def test_a_span_that_names_a_node_names_the_variable() -> None:
    module = with_names_of_spans(module_of({"lv": ("/layer1/Exp", 0), "out": ("Relu_7", 0)}), "main")
    relax.analysis.well_formed(module)
    assert names(module) == ["layer1.Exp", "Relu_7"]
    assert b"layer1.Exp" in region_of(module_of({"lv": ("/layer1/Exp", 0)}), None, {}).onnx


def test_a_line_of_a_script_names_nothing() -> None:
    module = module_of({"lv": ("/home/me/model.py", 12)})
    assert with_names_of_spans(module, "main").same_as(module)
    assert names(module) == ["lv", "out"]
