"""TVM's pattern tables on modules of their operators: every registered pattern is found exactly where TVM's own pass finds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from collage_core.errors import CollageError
from collage_core.toolchains.conformance.small_models import node, normal, sub_model, tensor
from collage_core.toolchains.registry import get
from tests.helpers.relax_operators import Ops, convolutions, fused_convolutions, others, products

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)

TABLES = ("cublas", "cudnn", "cutlass", "example_npu", "tensorrt", "nnapi", "hipblas", "coreml", "openclml")
LEFT_OUT = {
    "cublas": {"matmul_transposed_dequantize", "matmul_transposed_multiply"},
    "cudnn": {"attention.SBN3H"},
    "example_npu": {"quantize", "dequantize"},
    "tensorrt": set(),
    "nnapi": set(),
    "hipblas": set(),
    "coreml": set(),
}
"""Table → patterns that take nothing of these modules: they want eight-bit weights, or another layout."""
FOUND = {"cutlass": 47, "openclml": 35}
"""Of tables with patterns for decoded weights, or that no module can match: how many take something."""


def own_names(module: Any) -> Any:
    """The module with its bindings numbered, each of which is a node."""
    from collage_core.toolchains.tvm.tvm_named_import import bindings_of, numbered

    return numbered(module, {binding.var.name: binding.var.name for binding in bindings_of(module["main"])})


def tvms(named: Any, pattern: Any) -> set[frozenset[str]] | None:
    """Return what TVM's own pass makes of one pattern; None where the pattern's check fails."""
    from tvm import relax

    from collage_core.toolchains.tvm.tvm_partition_for import function_groups

    try:
        made = relax.transform.FuseOpsByPattern([pattern], bind_constants=False, annotate_codegen=False)(named.module)
    except Exception:  # noqa: BLE001 - whatever the check of a pattern raises
        return None
    return {frozenset(named.nodes[number] for number in numbers) for numbers in function_groups(named, made)}


def differing(named: Any, patterns: Sequence[Any]) -> tuple[list[str], set[str]]:
    """The patterns that are not found where TVM finds them, and those that are found at all."""
    from collage_core.toolchains.tvm.tvm_pattern_tables import matches_of

    wrong, met = [], set()
    for pattern in patterns:
        mine = {frozenset(found.nodes) for found in matches_of(named, [pattern]) if not found.refusal}
        theirs = tvms(named, pattern)
        if theirs:
            met.add(pattern.name)
            beside = {found for found in mine - theirs if not any(found & other for other in theirs)}
            if beside or not theirs <= mine:
                wrong.append(f"{pattern.name}: {sorted(map(sorted, theirs - mine))} missing, {sorted(map(sorted, beside))} too many")
        elif mine:
            wrong.append(f"{pattern.name}: {sorted(map(sorted, mine))} too many")
    return wrong, met


@pytest.mark.long
@pytest.mark.parametrize("table", TABLES)
def test_every_registered_pattern_is_found_exactly_where_tvm_finds_it(table: str) -> None:
    from collage_core.toolchains.tvm.tvm_pattern_tables import patterns_of

    patterns, met, wrong = patterns_of(table), set[str](), list[str]()
    for fill in (convolutions, fused_convolutions, products, others):
        differs, found = differing(own_names(Ops("float16").module(fill)), patterns)
        wrong += differs
        met |= found
    assert not wrong
    if table in FOUND:
        assert len(met) >= FOUND[table]
    else:
        assert {pattern.name.removeprefix(f"{table}.") for pattern in patterns} - {
            name.removeprefix(f"{table}.") for name in met
        } == LEFT_OUT[table]


def test_patterns_of_single_calls_and_of_products_are_found_where_tvm_finds_them() -> None:
    from collage_core.toolchains.tvm.tvm_pattern_tables import patterns_of

    wrong, met = differing(own_names(Ops("float32").module(others)), [*patterns_of("nnapi"), *patterns_of("cublas")])
    assert (wrong, len(met)) == ([], 30)


def gemm_relu() -> Any:
    """A product with bias and Relu, which `cublas` takes as one; one whose product alone is read twice; and a plain one."""
    nodes = [
        node("Gemm", "x w b", "g"),
        node("Relu", "g", "r"),
        node("Gemm", "r w b", "h"),
        node("Sigmoid", "h", "s"),
        node("Add", "s h", "a"),
        node("MatMul", "a w", "y"),
    ]
    return sub_model(nodes, [tensor("x", (4, 16))], [tensor("y", (4, 16))], {"w": normal(16, 16), "b": normal(16)})


def test_matches_are_told_by_the_names_of_the_patterns_and_of_the_nodes() -> None:
    from collage_core.toolchains.tvm.tvm_pattern_tables import read_tables

    found = read_tables(gemm_relu(), ["cublas", "tensorrt.nn.relu"])
    assert {(one.label, one.nodes) for one in found["cublas"] if not one.refusal} == {
        ("cublas.matmul_bias_relu", ("Gemm_g", "Relu_r")),
        ("cublas.matmul_bias", ("Gemm_g",)),
        ("cublas.matmul_bias", ("Gemm_h",)),
        ("cublas.matmul", ("MatMul_y",)),
    }
    assert {(one.nodes, one.refusal) for one in found["cublas"] if one.label == "cublas.matmul" and one.refusal} == {
        (("Gemm_g",), "it takes only a part of the node 'Gemm_g'"),
        (("Gemm_h",), "it takes only a part of the node 'Gemm_h'"),
    }
    assert [(one.label, one.nodes) for one in found["tensorrt.nn.relu"]] == [("tensorrt.nn.relu", ("Relu_r",))]


def test_the_check_of_a_pattern_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from collage_core.toolchains.tvm.tvm_pattern_tables import OTHERS, read_tables

    monkeypatch.setenv(OTHERS, "tests.helpers.registered_patterns")
    found = read_tables(gemm_relu(), ["refused", "failing"])
    assert [(one.nodes, one.refusal) for one in found["refused"]] == [(("Relu_r",), "the pattern's own check refuses it")]
    assert [one.nodes for one in found["failing"]] == [("Relu_r",)]
    assert found["failing"][0].refusal.startswith("the pattern's own check fails: ")


def test_what_a_user_registered_is_a_table_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from collage_core.toolchains.tvm.tvm_pattern_tables import OTHERS, read_tables

    monkeypatch.setenv(OTHERS, "tests.helpers.registered_patterns")
    found = read_tables(gemm_relu(), ["mine"])["mine"]
    assert [(one.label, one.nodes) for one in found] == [("mine.sigmoid_add", ("Sigmoid_s", "Add_a"))]


def test_an_unknown_prefix_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from collage_core.toolchains.tvm.tvm_pattern_tables import OTHERS, patterns_of

    with pytest.raises(CollageError, match="TVM has no pattern table 'cublos'") as raised:
        patterns_of("cublos")
    assert raised.value.hint.startswith("TVM's are cublas, cudnn, cutlass")
    monkeypatch.setenv(OTHERS, "tests.helpers.no_such_module")
    with pytest.raises(
        CollageError, match=r"the module 'tests.helpers.no_such_module' of pattern tables cannot be imported: No module named"
    ):
        patterns_of("mine")
