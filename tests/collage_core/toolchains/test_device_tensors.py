"""A kernel of a device on arrays of the host: when it copies, and when it is launched as a graph."""

from __future__ import annotations

import numpy as np
import pytest
from collage_test_toolchains import NumpyKernel
from stand_in_device import OnDeviceKernel, StandInMemory

from collage_core.toolchains.conformance.small_models import drawn, relu
from collage_core.toolchains.device_tensors import HostEnds


@pytest.fixture
def memory() -> StandInMemory:
    return StandInMemory("dev:0")


def bound(memory: StandInMemory) -> tuple[HostEnds, np.ndarray, np.ndarray]:
    """Return a Relu with its input and its output, after a run."""
    model = relu()
    kernel = HostEnds(OnDeviceKernel(NumpyKernel(model.onnx), memory), memory, model.inputs, model.outputs)
    [given], made = drawn(model.inputs), np.empty(60, np.float32)
    kernel.bind([given], [made])
    kernel.run()
    return kernel, given, made


def test_each_run_copies_its_ends(memory: StandInMemory):
    kernel, given, made = bound(memory)
    np.testing.assert_array_equal(made, np.maximum(given, 0))
    given *= -1
    kernel.run()
    np.testing.assert_array_equal(made, np.maximum(given, 0))
    assert (memory.counted["in"], memory.counted["out"]) == (2, 2)


def test_what_is_timed_copies_nothing_and_is_a_graph_from_the_second_run(memory: StandInMemory):
    kernel, _, _ = bound(memory)
    for _ in range(3):
        kernel.run_at_device()
    assert (memory.counted["in"], memory.counted["out"], memory.counted["graph"], memory.counted["run"]) == (1, 1, 2, 4)


def test_what_waits_for_the_host_is_timed_as_it_is(memory: StandInMemory):
    kernel, _, _ = bound(memory)
    memory.waits = "a node waits for the host"
    for _ in range(3):
        kernel.run_at_device()
    assert (memory.counted["graph"], memory.counted["run"]) == (0, 4)
