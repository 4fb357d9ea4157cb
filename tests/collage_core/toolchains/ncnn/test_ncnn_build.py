"""Packages and kernels of ncnn: options, variants, buffers, threads and memory."""

from __future__ import annotations

import json

import numpy as np
import psutil
import pytest

from collage_core.model.model import SubModel
from collage_core.toolchains.conformance.duties import TOLERANCE, assert_close, buffers, make
from collage_core.toolchains.conformance.small_models import conv_relu, drawn, node, normal, reference, sub_model, tensor
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError

ncnn = pytest.importorskip("ncnn", reason=get("ncnn").availability().reason)

from collage_core.toolchains.ncnn import ncnn_build, ncnn_kernel  # noqa: E402 - they import ncnn
from collage_core.toolchains.ncnn.ncnn_import import imported  # noqa: E402


def ran(model: SubModel, threads: int = 1) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Inputs, and outputs of the second run."""
    toolchain = get("ncnn")
    kernel = toolchain.load(toolchain.build(model, threads), model.inputs, model.outputs, threads)
    inputs, outputs = drawn(model.inputs), buffers(model)
    kernel.bind(inputs, outputs)
    kernel.run()
    for array in outputs:
        array[...] = np.nan
    kernel.run()
    return inputs, outputs


def convolutions(size: int = 20, channels: int = 32) -> SubModel:
    weights = {name: normal(channels, channels, 3, 3, scale=0.06, seed=seed) for seed, name in enumerate("vw")}
    nodes = [node("Conv", "x v", "a", pads=[1] * 4), node("Relu", "a", "b"), node("Conv", "b w", "y", pads=[1] * 4)]
    image = (1, channels, size, size)
    return sub_model(nodes, [tensor("x", image)], [tensor("y", image)], weights)


def test_a_package_says_what_it_holds():
    package = get("ncnn").build(conv_relu(), 1)
    assert package.startswith(b"collage-ncnn-1\n")
    start = len(ncnn_kernel.MAGIC) + 8
    header = json.loads(package[start : start + int.from_bytes(package[start - 8 : start], "little")])
    assert header["inputs"] == [[0, [3, 9, 9], True]], "a convolution leaves its input alone"
    assert header["outputs"] == [[1, [8, 9, 9]]]
    assert "Convolution" in header["text"]


@pytest.mark.parametrize(
    "damage", [lambda package: package[:20], lambda package: package[:-4], lambda package: package.replace(b"Conv", b"Frob")]
)
def test_a_damaged_package_is_refused_and_crashes_nothing(damage):
    model = conv_relu()
    with pytest.raises(ToolchainError) as caught:
        get("ncnn").load(damage(get("ncnn").build(model, 1)), model.inputs, model.outputs, 1)
    assert caught.value.stage == "build"


def test_a_package_of_other_inputs_is_refused():
    package = get("ncnn").build(conv_relu(), 1)
    with pytest.raises(ToolchainError, match="the package has other inputs or outputs"):
        get("ncnn").load(package, [], conv_relu().outputs, 1)


def test_it_computes_in_float32_on_as_many_threads_as_it_is_given():
    options = ncnn.Option()
    for name, value in ncnn_kernel.option_values({"use_winograd_convolution": False}, 3).items():
        setattr(options, name, value)
    assert options.num_threads == 3
    assert not any(getattr(options, name) for name in dir(options) if name.startswith(("use_fp16", "use_bf16", "use_int8", "use_vulkan")))
    assert options.use_packing_layout
    assert options.lightmode
    assert not options.use_winograd_convolution


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_do_not_change_what_it_computes(threads: int):
    model = convolutions()
    inputs, outputs = ran(model, threads)
    want = reference(model, inputs)
    np.testing.assert_allclose(outputs[0], want[0], atol=2 * ncnn_build.LARGEST_ERROR * float(np.abs(want[0]).max()))


def test_which_variants_are_tried_depends_on_the_convolutions():
    def tried(model: SubModel) -> list[str]:
        network = imported(model)
        return [name for name in ncnn_build.VARIANTS if ncnn_build._makes_a_difference(network, name)]

    relu = sub_model([node("Relu", "x", "y")], [tensor("x", (3,))], [tensor("y", (3,))])
    one = sub_model([node("Conv", "x w", "y")], [tensor("x", (1, 3, 9, 9))], [tensor("y", (1, 8, 9, 9))], {"w": normal(8, 3, 1, 1)})
    assert tried(relu) == ["plain"]
    assert tried(one) == ["hints", "plain"]
    assert tried(convolutions()) == list(ncnn_build.VARIANTS)


def test_every_variant_computes_the_same_more_or_less_exactly():
    model, errors = convolutions(), {}
    network = imported(model)
    inputs, want = drawn(model.inputs), None
    for name in sorted(ncnn_build.VARIANTS, key=lambda name: name != "direct"):
        kernel, outputs = ncnn_kernel.NetworkKernel(ncnn_build._package(network, ncnn_build.VARIANTS[name]), 1), buffers(model)
        kernel.bind(inputs, outputs)
        kernel.run()
        want = want or outputs
        errors[name] = ncnn_build._error(outputs, want)
    assert all(error < 3e-6 for name, error in errors.items() if name not in ("plain", "winograd63")), errors
    assert max(errors.values()) < 3e-5


def test_a_variant_that_errs_too_much_is_not_taken():
    model = convolutions()
    packages = {name: ncnn_build._package(imported(model), ncnn_build.VARIANTS[name]) for name in ("plain", "direct")}
    assert ncnn_build._fastest(packages, model, 1, 1e-12) == "direct"


@pytest.mark.parametrize(("all_s", "runs"), [(1e6, dict.fromkeys(ncnn_build.VARIANTS, 5)), (0.0, dict.fromkeys(ncnn_build.LIKELY, 1))])
def test_when_the_time_is_over_the_likely_variants_get_one_run_each(all_s: float, runs: dict[str, int], monkeypatch: pytest.MonkeyPatch):
    """The first one is there before the time is over, and has all of its runs."""
    model, tried = convolutions(), dict[str, int]()
    packages = {name: ncnn_build._package(imported(model), options) for name, options in ncnn_build.VARIANTS.items()}
    name_of = {json.dumps([package.options, package.text]): name for name, package in packages.items()}

    def counted(kernel: ncnn_kernel.NetworkKernel, best_s: float, most_runs: int) -> float:
        tried[name_of[json.dumps([kernel._package.options, kernel._package.text])]] = most_runs
        return 1.0 if kernel._package is packages["winograd63"] else 2.0

    monkeypatch.setattr(ncnn_build, "ALL_S", all_s)
    monkeypatch.setattr(ncnn_build, "HOPELESS_AT_FIRST", 1e6)
    monkeypatch.setattr(ncnn_build, "_least_s", counted)
    assert ncnn_build._fastest(packages, model, 1, 1.0) == "winograd63"
    assert tried == runs | {"winograd43": 5}


@pytest.mark.parametrize(("windows", "most"), [([3, 3, 3], 3e-5), ([3, 1], 1e-5), ([1], 1e-5)])
def test_the_errors_of_many_convolutions_may_add_up(windows: list[int], most: float, monkeypatch: pytest.MonkeyPatch):
    """Otherwise deep networks would be left with direct convolution, which takes twice as long."""
    layers, weights = [], {}
    for number, window in enumerate(windows):
        weights[f"w{number}"] = normal(8, 8, window, window)
        layers.append(node("Conv", f"t{number} w{number}", f"t{number + 1}", pads=[window // 2] * 4))
    image = (1, 8, 20, 20)
    told: list[float] = []
    monkeypatch.setattr(ncnn_build, "_fastest", lambda packages, model, threads, most_error: told.append(most_error) or "plain")
    ncnn_build.fastest_package(sub_model(layers, [tensor("t0", image)], [tensor(f"t{len(windows)}", image)], weights), 1)
    assert told == pytest.approx([most])


def aliases() -> SubModel:
    """An input that leaves as it is, one that nobody reads, one that a layer would overwrite, and a tensor read inside that leaves too."""
    nodes = [
        node("Identity", "x", "same"),
        node("Reshape", "x s", "flat"),
        node("Relu", "x", "r"),
        node("Neg", "r", "n"),
        node("Add", "x n", "y"),
    ]
    image = (1, 4, 6, 8)
    outputs = [tensor("y", image), tensor("same", image), tensor("flat", (4, 48)), tensor("r", image)]
    return sub_model(nodes, [tensor("unused", (3,)), tensor("x", image)], outputs, {"s": np.array([4, 48])})


def test_tensors_that_are_the_same_memory_are_kept_apart():
    model = aliases()
    inputs, outputs = ran(model)
    assert_close(outputs, reference(model, inputs))
    np.testing.assert_array_equal(inputs[1], drawn(model.inputs)[1])


@pytest.mark.parametrize("size", [1, 3, 4, 7])
def test_channels_that_ncnn_would_pad_are_read_and_written_right(size: int):
    weight = {"w": normal(5, 3, 1, 1)}
    model = sub_model([node("Conv", "x w", "y")], [tensor("x", (1, 3, size, size))], [tensor("y", (1, 5, size, size))], weight)
    inputs, outputs = ran(model)
    assert_close(outputs, reference(model, inputs))


def test_memory_does_not_grow():
    model = convolutions(size=40)
    kernel = make(get("ncnn"), model)
    inputs, outputs = drawn(model.inputs), buffers(model)
    kernel.bind(inputs, outputs)

    def resident(runs: int) -> int:
        for _ in range(runs):
            kernel.run()
        return psutil.Process().memory_info().rss

    before = resident(20)
    assert resident(100) - before < 1 << 20


def test_a_kernel_can_be_dropped_before_and_after_it_ran(capfd: pytest.CaptureFixture[str]):
    for _ in range(3):
        weight = {"w": normal(8, 4, 3, 3)}
        model = sub_model([node("Conv", "x w", "y", group=2)], [tensor("x", (1, 8, 9, 9))], [tensor("y", (1, 8, 7, 7))], weight)
        make(get("ncnn"), model)
        ran(model)
    assert capfd.readouterr().err == "", "ncnn complains of memory that outlives its pool"


def test_a_run_that_fails_is_an_error():
    model = conv_relu()
    kernel = make(get("ncnn"), model)
    kernel.bind([np.zeros((1, 3, 9, 9), np.float32)], buffers(model))
    kernel._package = ncnn_kernel.Package(kernel._package.options, kernel._package.inputs, ((99, (8, 9, 9)),), "", b"")
    kernel.bind([np.zeros((1, 3, 9, 9), np.float32)], buffers(model))
    with pytest.raises(ToolchainError) as caught:
        kernel.run()
    assert (caught.value.stage, caught.value.message) == ("run", "ncnn could not run the network (code -1)")
    assert TOLERANCE < 1e-5
