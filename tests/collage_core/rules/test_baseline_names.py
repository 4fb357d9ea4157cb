"""The names of baselines."""

from __future__ import annotations

import pytest

from collage_core.rules.baseline_names import GREEDY, is_alone, is_partitioning, main_target, partitioning_name, with_rest


@pytest.mark.parametrize(
    ("name", "main", "alone", "partitioning"),
    [
        ("ncnn", None, True, False),
        ("openvino@bf16+host", "openvino@bf16", False, False),
        ("onnxruntime:cuda:0", None, True, False),
        ("onnxruntime@tf32:cuda:1+host", "onnxruntime@tf32:cuda:1", False, False),
        (partitioning_name("onnxruntime:cuda:0", "FuseOps"), None, False, True),
        (GREEDY, None, False, False),
        (partitioning_name("tvm@fusion", "FuseOps"), None, False, True),
    ],
)
def test_a_name_says_what_the_baseline_is(name: str, main: str | None, alone: bool, partitioning: bool) -> None:
    assert (main_target(name), is_alone(name), is_partitioning(name)) == (main, alone, partitioning)
    assert main_target(with_rest(name)) == name
