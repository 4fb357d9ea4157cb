"""Branches of an `If` as functions: the module computes the same, and TVM plans no memory over their borders."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402
from tvm.script import ir as I  # noqa: E402
from tvm.script import relax as R  # noqa: E402
from tvm.script import tirx as T  # noqa: E402

from collage_core.model.relax.branches import outline_branches  # noqa: E402
from tests.collage_core.transform.test_collage_partition import picture_module, run  # noqa: E402


@functools.cache
def nested() -> Any:
    """An `If` in an `If`; what is before them needs no memory that is planned."""

    @I.ir_module
    class Nested:
        @R.function
        def main(x: R.Tensor((2, 4), "float32"), first: R.Tensor((), "bool"), second: R.Tensor((), "bool")):
            if first:
                inside = R.exp(x)
                if second:
                    bent = R.tanh(inside)
                    deep = R.negative(bent)
                else:
                    grown = R.add(inside, x)
                    deep = R.abs(grown)
                chosen = R.sqrt(R.abs(deep))
            else:
                chosen = x
            last = R.sigmoid(chosen)
            return R.nn.softmax(last, axis=1)

    return Nested


@functools.cache
def symbols() -> Any:
    """A branch whose shapes have a symbol that no variable of it says."""

    @I.ir_module
    class Symbols:
        @R.function
        def main(shape: R.Shape(["n"]), flag: R.Tensor((), "bool")):
            n = T.int64()
            if flag:
                made = R.zeros(R.shape([n]), "float32")
                chosen = R.exp(made)
            else:
                other = R.ones(R.shape([n]), "float32")
                chosen = R.negative(other)
            return chosen

    return Symbols


X = np.random.default_rng(0).standard_normal((2, 4)).astype("float32")


def expected(first: bool, second: bool) -> np.ndarray:
    risen = np.exp(X)
    deep = -np.tanh(risen) if second else np.abs(risen + X)
    last = 1 / (1 + np.exp(-(np.sqrt(np.abs(deep)) if first else X)))
    return np.asarray(np.exp(last) / np.exp(last).sum(1, keepdims=True))


def test_each_branch_is_a_function_and_computes_what_it_did() -> None:
    made = outline_branches(nested())
    relax.analysis.well_formed(made)
    names = {str(var.name_hint).rpartition("_")[0] for var, one in made.functions_items() if "global_symbol" not in (one.attrs or {})}
    assert names == {"main_then", "main_else"}
    text = made["main"].script()
    assert "R.exp" not in text
    assert "R.sigmoid" in text
    for first, second in ((True, True), (True, False), (False, True)):
        assert np.allclose(run(made, X, np.array(first), np.array(second))[0], expected(first, second), atol=1e-5)


def test_branches_that_only_call_functions_stay_as_they_are() -> None:
    made = outline_branches(nested())
    assert outline_branches(made).same_as(made)


def planned(module: Any) -> dict[str, str]:
    """Function → its script, with the memory that TVM plans."""
    transform = relax.transform
    passes = [transform.LegalizeOps(), transform.ToNonDataflow(), transform.RemovePurityChecking()]
    made = tvm.transform.Sequential([*passes, transform.CallTIRRewrite(), transform.StaticPlanBlockMemory()])(module)
    found = {str(var.name_hint): one for var, one in made.functions_items()}
    return {name: one.script() for name, one in found.items() if isinstance(one, relax.Function)}


def test_no_memory_is_shared_over_the_border_of_a_branch() -> None:
    """In one function TVM lets what comes after an `If` write where only one of its branches has allocated."""
    assert planned(nested())["main"].count("alloc_storage(") < planned(nested())["main"].count("R.memory.alloc_tensor(")
    text = planned(outline_branches(nested()))["main"]
    assert text.count("alloc_storage(") == text.count("R.memory.alloc_tensor(") == 1


def test_what_has_no_branches_or_symbols_in_them_stays_as_it_is() -> None:
    for module in (picture_module(), symbols()):
        assert outline_branches(module).same_as(module)
