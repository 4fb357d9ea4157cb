"""Each toolchain is right on what it takes of ONNX's own node tests and of random models, refuses the rest, and neither crashes nor hangs.

`make test` has a part of them, `make slow` all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from collage_core.toolchains.ncnn.ncnn_operators import CHECKS
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Toolchain
from tests.helpers.model_runs import is_broken, is_close, run_models
from tests.helpers.node_cases import NodeCase, is_right, run_all, single_nodes
from tests.helpers.random_chains import chain, inputs_and_outputs

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

NODE_TOLERANCE = 1e-5
EVERY = 120
"""One in so many of ONNX's node tests, where not all are run."""

CHAIN_TOLERANCE = 1e-3
"""Six calls in a row may add their errors up; a wrong number is further off."""
FEW, MANY = 3, 100
"""How many random models."""


def node_failures(toolchain: Toolchain, cases: Sequence[NodeCase], threads: int = 1) -> dict[str, str]:
    """Node test → what is wrong, for those that the toolchain's rules take; a refusal at import, build or run is an answer too."""
    taken = [case for case in cases if not is_known(toolchain, case) and not case.refusal(toolchain)]
    wrong = {}
    for case, got in run_all(toolchain, taken, threads):
        if isinstance(got, str):
            if is_broken(got):
                wrong[case.name] = got
        elif not is_right(got, case, NODE_TOLERANCE):
            wrong[case.name] = "wrong values"
    return wrong


def is_known(toolchain: Toolchain, case: NodeCase) -> bool:
    name = case.name.removeprefix("test_")
    called = {toolchain.name, library_of(toolchain)}
    return any(re.fullmatch(tests, name) and any(re.fullmatch(names, one) for one in called) for names, tests, _ in KNOWN)


def chain_failures(toolchain: Toolchain, seeds: Sequence[int]) -> dict[int, str]:
    """Seed → what is wrong with the toolchain's part of the random model; a refusal is an answer too."""
    parts = {seed: part for seed in seeds if (part := chain(seed).part_for(toolchain)) is not None}
    expected = {seed: inputs_and_outputs(part, seed) for seed, part in parts.items()}
    wrong = {}
    for seed, got in zip(parts, run_models(toolchain, [(parts[seed], expected[seed][0]) for seed in parts]), strict=True):
        if isinstance(got, str):
            if is_broken(got):
                wrong[seed] = got
        elif not all(is_close(one, other, CHAIN_TOLERANCE) for one, other in zip(got, expected[seed][1], strict=True)):
            wrong[seed] = "wrong values"
    return wrong


@pytest.fixture(scope="module")
def some_nodes() -> list[NodeCase]:
    """They are generated once: tests that share a fixture of their module run in the same process."""
    return single_nodes(EVERY)


@pytest.mark.long
def test_what_it_takes_of_some_node_tests_is_right(toolchain: Toolchain, some_nodes: list[NodeCase]):
    assert node_failures(toolchain, some_nodes) == {}


def test_what_it_takes_of_some_random_models_is_right(toolchain: Toolchain):
    assert chain_failures(toolchain, range(FEW)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_what_it_takes_of_all_node_tests_is_right(toolchain: Toolchain, threads: int):
    assert node_failures(toolchain, single_nodes(1), threads) == {}


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
    assert node_failures(toolchain, cases) == {}
