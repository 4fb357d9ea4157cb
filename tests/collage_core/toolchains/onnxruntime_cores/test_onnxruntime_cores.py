from __future__ import annotations

import os

import numpy as np
import pytest

from collage_core.toolchains.conformance.small_models import matmul
from collage_core.toolchains.onnxruntime_cores.core_sets import CORE_SETS
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import outputs_of, unbound_outputs

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system cannot keep threads on cores")


def test_each_set_is_a_target_with_its_cores_in_its_version(monkeypatch: pytest.MonkeyPatch):
    core = min(os.sched_getaffinity(0))
    monkeypatch.setenv(CORE_SETS, f"{core};{core}")
    assert get("onnxruntime@cores:cpu:1").availability().version.endswith(f".cores.{core}")
    missing = get("onnxruntime@cores:cpu:2").availability()
    assert (missing.usable, missing.reason) == (False, "there is no core set 2 here, they are 0 to 1")
    monkeypatch.setenv(CORE_SETS, "x")
    assert "COLLAGE_CORE_SETS is 'x'" in get("onnxruntime@cores:cpu:0").availability().reason


def test_its_kernels_run_on_the_cores_of_the_set_and_leave_the_thread_as_it_was(monkeypatch: pytest.MonkeyPatch):
    before, core = os.sched_getaffinity(0), min(os.sched_getaffinity(0))
    monkeypatch.setenv(CORE_SETS, str(core))
    model, toolchain = matmul(), get("onnxruntime@cores:cpu:0")
    kernel = toolchain.load(toolchain.build(model, 2), model.inputs, model.outputs, 2)
    inputs = [np.random.default_rng(0).standard_normal(tensor.type.shape).astype(tensor.type.dtype) for tensor in model.inputs]
    outputs = unbound_outputs(model)
    kernel.bind(inputs, outputs)
    asked: list[set[int]] = []
    known = os.sched_setaffinity
    monkeypatch.setattr(os, "sched_setaffinity", lambda process, cores: (asked.append(set(cores)), known(process, cores)))
    kernel.run()
    assert asked == [{core}, before]
    plain = get("onnxruntime")
    other = plain.load(plain.build(model, 1), model.inputs, model.outputs, 1)
    wanted = unbound_outputs(model)
    other.bind(inputs, wanted)
    other.run()
    assert all(np.allclose(got, want) for got, want in zip(outputs_of(kernel, outputs), outputs_of(other, wanted), strict=True))
