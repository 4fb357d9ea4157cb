"""The table of what the value contract takes away from the samples."""

from __future__ import annotations

from contract_cost import Row, measured, no_contract, table

from collage_core.graph.value_policy import ANY, FINITE
from collage_core.toolchains.values.contracts import OPENVINO_VALUES


def test_a_sample_is_counted_with_the_contract_and_without() -> None:
    """By default a small network keeps all of its candidates; its Relu and MaxPool go where NaN counts."""
    targets = ("onnxruntime", "openvino", "ncnn")
    finite, all_values = (measured("mini_mnist", policy, targets) for policy in (FINITE, ANY))
    assert finite.kept == finite.without == all_values.without
    assert finite.kept_s == finite.without_s is not None
    assert all_values.kept["onnxruntime"] == all_values.without["onnxruntime"]
    assert all_values.kept["openvino"] < all_values.without["openvino"]
    assert all_values.kept_s is not None


def test_without_it_nothing_is_refused_and_then_it_is_back() -> None:
    refusal = type(OPENVINO_VALUES).refusal
    with no_contract():
        assert type(OPENVINO_VALUES).refusal is not refusal
    assert type(OPENVINO_VALUES).refusal is refusal


def test_the_table_shows_what_changes() -> None:
    row = Row("net", {"a": 9, "b": 4}, {"a": 7, "b": 4}, 0.0015, None)
    assert table([row], ("a", "b")).splitlines() == [
        "| sample | a | b | plan without, ms | with, ms |",
        "|---|---|---|---|---|",
        "| net | 9 → 7 | 4 | 1.500 | – |",
    ]
