"""TVM's tuner: a real kernel in a few trials, what building does with what it found, and what belongs to another processor."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from collage_core.model.model import SubModel
from collage_core.toolchains.buffers import aligned_empty
from collage_core.toolchains.conformance.small_models import conv_relu, drawn, matmul, node, normal, reference, sub_model, tensor
from collage_core.toolchains.toolchain import ToolchainError
from collage_core.toolchains.tuning import MOST_TRIALS, TunedKernel, encoded, schedules
from collage_core.toolchains.tvm import tvm_tuning
from collage_core.toolchains.tvm.tvm import TvmToolchain
from collage_core.toolchains.tvm.tvm_fusion import TvmFusionToolchain
from collage_core.toolchains.tvm.tvm_one_kernel import one_kernel
from collage_core.toolchains.tvm.tvm_replay import target_text, workload_of

FUSION = TvmFusionToolchain()


def depthwise() -> SubModel:
    """A kernel for which the default schedule has no tiles."""
    weights = {"w": normal(16, 1, 3, 3, scale=0.3), "b": normal(16)}
    nodes = [node("Conv", "x w b", "c", pads=[1, 1, 1, 1], kernel_shape=[3, 3], group=16), node("Relu", "c", "y")]
    return sub_model(nodes, [tensor("x", (1, 16, 14, 14))], [tensor("y", (1, 16, 14, 14))], weights)


def outputs_of(model: SubModel, package: bytes) -> tuple[list[np.ndarray], Sequence[np.ndarray]]:
    """Return what a package computes, and what it must."""
    inputs, outputs = drawn(model.inputs), [aligned_empty(one.type) for one in model.outputs]
    kernel = FUSION.load(package, model.inputs, model.outputs, 1)
    kernel.bind(inputs, outputs)
    kernel.run()
    return outputs, reference(model, inputs)


@pytest.fixture
def four_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice has four trials, and whatever is not the default schedule counts as faster."""
    monkeypatch.setattr(tvm_tuning, "SLICE", 4)
    monkeypatch.setattr(tvm_tuning, "_searches", type(tvm_tuning._searches)())
    timed = tvm_tuning._Timer.seconds
    monkeypatch.setattr(
        tvm_tuning._Timer, "seconds", lambda timer, module, best_s: timed(timer, module, best_s) if best_s == np.inf else 1e-9
    )


@pytest.mark.usefixtures("four_trials")
@pytest.mark.long
def test_a_kernel_is_tuned_in_four_trials_and_built_so() -> None:
    model = depthwise()
    first = FUSION.tune(model, 1, 60.0, b"")
    (kernel,) = first.kernels
    assert (first.trials, kernel.trials, kernel.seconds, kernel.target) == (4, 4, 1e-9, target_text())
    assert 0 < first.after_s < first.before_s == kernel.default_s
    assert json.loads(kernel.trace)
    assert [kernel.workload] == [one.workload for one in FUSION.workloads(model, 1)]
    tuned = replace(model, tuning=schedules(first.kernels))
    assert one_kernel(tuned, 1).script() != one_kernel(model, 1).script()
    got, wanted = outputs_of(model, FUSION.build(tuned, 1))
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-4, atol=1e-5)
    further = FUSION.tune(model, 1, 60.0, encoded(first.kernels))
    assert (further.trials, further.kernels[0].trials) == (4, 8)
    assert further.kernels[0].trace == kernel.trace, "nothing is faster than no time at all"
    assert further.kernels[0].spent_s > kernel.spent_s > 0


@pytest.mark.long
@pytest.mark.usefixtures("four_trials")
def test_a_search_that_is_gone_begins_again_from_what_is_known() -> None:
    model = depthwise()
    known = FUSION.tune(model, 1, 60.0, b"").kernels
    tvm_tuning._searches.clear()
    further = FUSION.tune(model, 1, 60.0, encoded(known))
    assert (further.trials, further.kernels[0].trace) == (4, known[0].trace)


@pytest.mark.long
def test_no_schedule_is_tried_when_the_time_is_over_but_the_first() -> None:
    assert FUSION.tune(depthwise(), 1, 0.0, b"").trials == 1


def test_a_kernel_that_was_tried_often_enough_is_left() -> None:
    (workload,) = FUSION.workloads(depthwise(), 1)
    known = TunedKernel(workload.workload, workload.target, "", 1e-3, 1e-3, MOST_TRIALS, 9.0)
    found = FUSION.tune(depthwise(), 1, 60.0, encoded([known]))
    assert (found.trials, found.kernels) == (0, (known,))


def test_equal_kernels_of_two_models_are_one_workload() -> None:
    """Neither names nor the values of weights count; shapes and operators do."""
    model, other = matmul(), matmul()
    weights = {"w": normal(24, 40, seed=5), "b": normal(40, seed=6)}
    renamed = sub_model(
        [node("MatMul", "left w", "p"), node("Add", "p b", "right")],
        [tensor("left", (2, 5, 24))],
        [tensor("right", (2, 5, 40))],
        weights,
    )
    assert FUSION.workloads(model, 1) == FUSION.workloads(other, 2) == FUSION.workloads(renamed, 1)
    assert FUSION.workloads(model, 1) != FUSION.workloads(matmul(24, 48), 1)


@pytest.mark.long
def test_the_whole_of_several_kernels_is_tuned_kernel_by_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = node("MaxPool", "y", "z", kernel_shape=[3, 3])
    convolution = conv_relu()
    weights = {"w": normal(8, 3, 3, 3, scale=0.3), "b": normal(8)}
    nodes = [node("Conv", "x w b", "c", pads=[1, 1, 1, 1], kernel_shape=[3, 3]), node("Relu", "c", "y"), pool]
    model = sub_model(nodes, convolution.inputs, [tensor("z", (1, 8, 7, 7))], weights)
    monkeypatch.setattr(tvm_tuning._Timer, "seconds", lambda *_: 1e-3)
    found = TvmToolchain().tune(model, 1, 0.0, b"")
    assert len(found.kernels) == 2
    assert found.before_s == pytest.approx(2e-3)
    assert sorted(kernel.trials for kernel in found.kernels) == [0, 1]


def _other_target(kernel: TunedKernel) -> TunedKernel:
    return replace(kernel, target='{"kind": "llvm", "mcpu": "z80"}')


def _broken(kernel: TunedKernel) -> TunedKernel:
    return replace(kernel, trace='[[["NoSuchInstruction", [], [], []]], []]')


@pytest.mark.parametrize("build", [FUSION.build, TvmToolchain().build])
def test_a_record_of_another_target_is_refused(build: Callable[[SubModel, int], bytes]) -> None:
    (workload,) = FUSION.workloads(depthwise(), 1)
    other = _other_target(TunedKernel(workload.workload, workload.target, "[]", 1e-4, 1e-3, 16, 9.0))
    said = f"the tuning record of the kernel {workload.workload} is for .*z80.*, this is "
    with pytest.raises(ToolchainError, match=said) as caught:
        build(replace(depthwise(), tuning=encoded([other])), 1)
    assert "\n" not in caught.value.message
    with pytest.raises(ToolchainError, match=said):
        FUSION.tune(depthwise(), 1, 1.0, encoded([other]))


def test_damaged_records_are_refused() -> None:
    with pytest.raises(ToolchainError, match="the tuning records are damaged"):
        FUSION.build(replace(depthwise(), tuning=b"{"), 1)


def test_where_a_record_cannot_be_replayed_the_default_schedule_stands() -> None:
    (workload,) = FUSION.workloads(depthwise(), 1)
    broken = _broken(TunedKernel(workload.workload, workload.target, "", 1e-4, 1e-3, 16, 9.0))
    another = replace(broken, workload="0" * 16)
    plain = one_kernel(depthwise(), 1).script()
    for kernel in (broken, another):
        assert one_kernel(replace(depthwise(), tuning=encoded([kernel])), 1).script() == plain


def test_the_digest_of_a_kernel_does_not_depend_on_its_name() -> None:
    from collage_core.toolchains.tvm.tvm_one_kernel import one_unscheduled

    (function,) = (one for one in one_unscheduled(depthwise(), 1).functions.values() if not hasattr(one, "ret_ty"))
    assert workload_of(function) == workload_of(function.with_attr("global_symbol", "another"))
