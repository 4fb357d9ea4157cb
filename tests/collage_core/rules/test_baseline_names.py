"""The names of baselines."""

from __future__ import annotations

import pytest

from collage_core.rules.baseline_names import GREEDY, is_alone, main_target, with_rest


@pytest.mark.parametrize(
    ("name", "main", "alone"), [("ncnn", None, True), ("openvino@bf16+host", "openvino@bf16", False), (GREEDY, None, False)]
)
def test_a_name_says_what_the_baseline_is(name: str, main: str | None, alone: bool) -> None:
    assert (main_target(name), is_alone(name)) == (main, alone)
    assert main_target(with_rest(name)) == name
