"""Makes packages of ncnn.

A sub-model enters; a package leaves: a network with its weights, and the variant of ncnn's options that was the fastest here. `ncnn_import`
gives ncnn only what it is known to compute right, since ncnn prints what it does not understand, goes on, and crashes later.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

import numpy as np

from ...model.model import SubModel
from ..border import one_line
from ..buffers import aligned_empty
from ..toolchain import ToolchainError
from .ncnn_import import ImportedNetwork, imported
from .ncnn_kernel import HINTS, WINOGRAD, Entry, NetworkKernel, Package

VARIANTS: Mapping[str, Mapping[str, bool]] = {
    "winograd43": {HINTS: True, "use_winograd23_convolution": False, "use_winograd63_convolution": False},
    "hints": {HINTS: True},
    "plain": {},
    "winograd63": {HINTS: True, "use_winograd23_convolution": False, "use_winograd43_convolution": False},
    "winograd23": {HINTS: True, "use_winograd43_convolution": False, "use_winograd63_convolution": False},
    "direct": {"use_winograd_convolution": False, **dict.fromkeys(WINOGRAD, False)},
}
"""Options that are tried for convolutions, the likeliest winners first, and last the one that the others are compared with; networks
without convolutions have ``plain`` alone."""

MOST_RUNS = 5
LONGEST_S, ALL_S = 0.5, 3.0
"""How often each variant is run to find the fastest, and how long that may take; two runs in any case. After so long in all, once there is
one that is exact enough, those in `LIKELY` get one run each beside their first, and the others none."""

LIKELY = ("winograd43", "hints", "plain", "winograd63")
"""Variants one of which was the fastest for each large network of the samples; the others took 1.2 to 6 times as long."""

HOPELESS, HOPELESS_AT_FIRST = 1.25, 2.0
"""A variant that takes so many times as long as the fastest is run no more: after some runs, and after the first, which is slower."""

LARGEST_ERROR = 1e-5
"""The largest error for each convolution that Winograd's algorithm computes, relative to the largest output of direct convolution, up to
which a variant is taken: errors of deep networks add up. One convolution errs by 1e-6 as F(2,3), by 3e-6 as F(4,3), and by 5e-6 to
3e-5 as F(6,3)."""


def fastest_package(model: SubModel, threads: int) -> Package:
    """Return the package of `model` whose variant is the fastest on this machine.

    Raises:
        ToolchainError: at stage ``import`` or ``build``.
    """
    try:
        network = imported(model)
    except ToolchainError:
        raise
    except Exception as error:  # a sub-model that is broken: ncnn has not seen it
        raise ToolchainError("import", one_line(error)) from error
    packages = {name: _package(network, options) for name, options in VARIANTS.items() if _makes_a_difference(network, name)}
    try:
        return packages[_fastest(packages, model, threads, LARGEST_ERROR * max(1, _winograds(network)))]
    except ToolchainError as error:
        raise ToolchainError("build", error.message) from error


def _makes_a_difference(network: ImportedNetwork, name: str) -> bool:
    """Return whether the variant could change anything in `network`."""
    if name == "plain":
        return True
    if name == "hints":
        return any(layer.type == "Convolution" for layer in network.network.layers)
    return _winograds(network) > 0


def _winograds(network: ImportedNetwork) -> int:
    """Return how many convolutions Winograd's algorithm may compute."""
    convolutions = [layer.parameters for layer in network.network.layers if layer.type == "Convolution"]
    return sum(all(parameters[key] == value for key, value in _WINOGRAD_WINDOW.items()) for parameters in convolutions)


_WINOGRAD_WINDOW = {1: 3, 11: 3, 2: 1, 12: 1, 3: 1, 13: 1}
"""Kernel, dilations and strides of a convolution that Winograd's algorithm computes."""


def _package(network: ImportedNetwork, options: Mapping[str, bool]) -> Package:
    finished = network.network
    inputs = tuple(
        Entry(None if blob is None else finished.index_of[blob], shape, blob is not None and finished.may_share(blob))
        for blob, shape in zip(network.inputs, network.shapes, strict=True)
    )
    outputs = tuple(zip(finished.outputs, network.outputs, strict=True))
    return Package(options, inputs, outputs, finished.text(options.get(HINTS, False)), finished.weights())


def _fastest(packages: Mapping[str, Package], model: SubModel, threads: int, most_error: float) -> str:
    """Return the variant that runs the fastest; one that errs more than `most_error` is left out. One is loaded at a time.

    Raises:
        ToolchainError: ncnn does not load or run the network.
    """
    random = np.random.default_rng(0)
    inputs = [aligned_empty(tensor.type) for tensor in model.inputs]
    for array in inputs:
        array[...] = random.standard_normal(array.shape)
    start = time.perf_counter()
    *_, exact = _first_run(list(packages.values())[-1], model, inputs, threads)
    seconds: dict[str, float] = {}
    for name, package in packages.items() if len(packages) > 1 else ():
        is_late = bool(seconds) and time.perf_counter() - start > ALL_S
        if is_late and name not in LIKELY:
            continue
        kernel, first_s, outputs = _first_run(package, model, inputs, threads)
        best_s = min(seconds.values(), default=math.inf)
        if _error(outputs, exact) <= most_error and first_s < HOPELESS_AT_FIRST * best_s:
            seconds[name] = _least_s(kernel, best_s, 1 if is_late else MOST_RUNS)
        del kernel
    return min(seconds or packages, key=lambda name: seconds.get(name, 0.0))


def _first_run(
    package: Package, model: SubModel, inputs: Sequence[np.ndarray], threads: int
) -> tuple[NetworkKernel, float, list[np.ndarray]]:
    """Return the kernel of `package`, the seconds of its first run, and its outputs."""
    kernel, outputs = NetworkKernel(package, threads), [aligned_empty(tensor.type) for tensor in model.outputs]
    kernel.bind(inputs, outputs)
    before = time.perf_counter()
    kernel.run()
    return kernel, time.perf_counter() - before, outputs


def _error(outputs: Sequence[np.ndarray], exact: Sequence[np.ndarray]) -> float:
    """Return the largest difference, relative to the largest element of its output; infinite where that is not a number."""
    errors = [float(np.abs(got - want).max()) / max(float(np.abs(want).max()), 1e-30) for got, want in zip(outputs, exact, strict=True)]
    return max((error if np.isfinite(error) else np.inf for error in errors), default=0.0)


def _least_s(kernel: NetworkKernel, best_s: float, most_runs: int) -> float:
    """Return the least seconds of at most `most_runs` runs, where the fastest variant so far takes `best_s`."""
    least_s, start = math.inf, time.perf_counter()
    for number in range(most_runs):
        before = time.perf_counter()
        if number >= 2 and (before - start > LONGEST_S or least_s > HOPELESS * best_s):
            break
        kernel.run()
        least_s = min(least_s, time.perf_counter() - before)
    return least_s
