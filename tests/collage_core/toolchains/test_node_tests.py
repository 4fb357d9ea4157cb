"""Each toolchain is right on what it takes of ONNX's own node tests and of random models, refuses the rest, and neither crashes nor hangs.

`make test` has a part of them, `make slow` all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from collage_core.toolchains.conformance.node_cases import NodeCase, node_failures, run_all, single_nodes
from collage_core.toolchains.conformance.random_chains import chain_failures
from collage_core.toolchains.ncnn.ncnn_operators import CHECKS
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Toolchain

from .test_conformance import library_of

KNOWN = (
    ("onnxruntime|openvino|tvm", "averagepool_2d_ceil_last_window_starts_on_pad", "the expected numbers are rounded to four digits"),
    ("onnxruntime|openvino|tvm", "resize_downsample_scales_.*_align_corners", "it goes by the sizes, as PyTorch does, not by the scales"),
    ("onnxruntime", "training_dropout.*", "it draws other random numbers than the test"),
    ("onnxruntime", "attention_4d_with_past_and_present_qk_matmul_bias_.*_causal", "of scores that are hidden it gives the lowest float"),
    ("onnxruntime", "maxunpool_export_with_output_shape", "it counts the indices in the shape before padding"),
)
"""Toolchains, node tests of ONNX that they take and get otherwise, and why that is no fault: the test asks for something else than the
reference, which is ONNX Runtime."""

EVERY = 120
"""One in so many of ONNX's node tests, where not all are run."""

FEW, MANY = 3, 100
"""How many random models."""


def is_known(toolchain: Toolchain, case: NodeCase) -> bool:
    name = case.name.removeprefix("test_")
    called = {toolchain.name, library_of(toolchain)}
    return any(re.fullmatch(tests, name) and any(re.fullmatch(names, one) for one in called) for names, tests, _ in KNOWN)


def unknown(toolchain: Toolchain, cases: Sequence[NodeCase]) -> list[NodeCase]:
    return [case for case in cases if not is_known(toolchain, case)]


@pytest.fixture(scope="module")
def some_nodes() -> list[NodeCase]:
    """They are generated once: tests that share a fixture of their module run in the same process."""
    return single_nodes(EVERY)


@pytest.mark.long
def test_what_it_takes_of_some_node_tests_is_right(toolchain: Toolchain, some_nodes: list[NodeCase]):
    assert node_failures(toolchain, unknown(toolchain, some_nodes)) == {}


def test_what_it_takes_of_some_random_models_is_right(toolchain: Toolchain):
    assert chain_failures(toolchain, range(FEW)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_what_it_takes_of_all_node_tests_is_right(toolchain: Toolchain, threads: int):
    assert node_failures(toolchain, unknown(toolchain, single_nodes(1)), threads) == {}


@pytest.mark.slow
def test_what_it_takes_of_many_random_models_is_right(toolchain: Toolchain):
    assert chain_failures(toolchain, range(FEW, FEW + MANY)) == {}


@pytest.mark.slow
def test_what_ncnn_takes_is_right_and_the_rest_is_refused_before_it_is_built():
    toolchain = get("ncnn")
    if not toolchain.availability().usable:
        pytest.skip(toolchain.availability().reason)
    cases = [case for case in single_nodes(EVERY, CHECKS.keys()) if not case.refusal(toolchain)]
    assert len(cases) > 300
    refused = {case.name: got for case, got in run_all(toolchain, cases) if isinstance(got, str)}
    late = {"test_resize_downsample_scales_linear", "test_resize_downsample_scales_linear_align_corners"}
    assert refused.keys() <= late, "scales are no values of a graph, so these two are refused at the import"
    assert node_failures(toolchain, unknown(toolchain, cases)) == {}
