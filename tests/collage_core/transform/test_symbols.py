"""Symbols of functions: found, renewed, given sizes."""

from __future__ import annotations

import functools
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402
from tvm.script import ir as I  # noqa: E402
from tvm.script import relax as R  # noqa: E402
from tvm.script import tirx as T  # noqa: E402

from collage_core.model.relax.module_functions import symbol_sizes  # noqa: E402
from collage_core.transform.symbols import (  # noqa: E402
    has_symbols,
    planned_as,
    says_its_symbols,
    with_own_symbols,
    with_symbols_of,
)


def whole_module() -> Any:
    @I.ir_module
    class Module:
        @R.function
        def open(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("m", "n"), "float32")) -> R.Tensor(("m", 4), "float32"):
            n = T.int64()  # noqa: F841 - symbols of the types
            m = T.int64()  # noqa: F841
            with R.dataflow():
                z = R.matmul(y, x)
                R.output(z)
            return z

        @R.function
        def fixed(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
            with R.dataflow():
                z = R.nn.relu(x)
                R.output(z)
            return z

    return Module


@functools.cache
def open_function() -> Any:
    return whole_module()["open"]


@functools.cache
def fixed_function() -> Any:
    return whole_module()["fixed"]


def sizes_of(var: Any) -> list[int | str]:
    """The shape of a variable, symbols by their names."""
    return [int(size) if isinstance(size, tvm.tirx.IntImm) else str(size) for size in var.ty.shape.values]


def test_a_function_has_symbols_or_not() -> None:
    assert has_symbols(open_function())
    assert not has_symbols(fixed_function())


def test_a_size_that_only_a_product_tells_is_not_said() -> None:
    n = tvm.tirx.Var("n", "int64")
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((n * 4,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.reshape(x, (n, 4))))
    function = builder.get()["main"]
    assert has_symbols(function)
    assert not says_its_symbols(function)
    assert says_its_symbols(open_function())


def test_symbols_are_renewed() -> None:
    made = with_own_symbols(open_function())
    tvm.ir.assert_structural_equal(made, open_function())
    assert not set(relax.analysis.defined_symbolic_vars(made)) & set(relax.analysis.defined_symbolic_vars(open_function()))


def test_a_call_gives_the_sizes_of_its_arguments() -> None:
    k = tvm.tirx.Var("k", "int64")
    given = [relax.Var("a", relax.TensorType((k, 4), "float32")), relax.Var("b", relax.TensorType((7, k), "float32"))]
    made = with_symbols_of(open_function(), given)
    assert [sizes_of(var) for var in made.params] == [["k", 4], [7, "k"]]
    assert with_symbols_of(fixed_function(), [relax.Var("a", relax.TensorType((3, 4), "float32"))]) is fixed_function()


def test_shapes_give_each_symbol_its_size() -> None:
    found = symbol_sizes(open_function(), [(5, 4), (2, 5)])
    assert {str(symbol): size for symbol, size in found.items()} == {"n": 5, "m": 2}


def test_what_a_function_was_planned_for_goes_with_it() -> None:
    planned = open_function().with_attr("collage.shapes", "[[5, 4], [2, 5]]")
    assert str(planned_as(planned, fixed_function()).attrs["collage.shapes"]) == "[[5, 4], [2, 5]]"
    assert planned_as(open_function(), fixed_function()) is fixed_function()
