"""`built_package`: a flat Relax function as the package of the toolchain that builds it, in a worker process."""

from __future__ import annotations

import re
from contextlib import suppress

from tvm import relax

from ..base.isolation.worker import Worker
from ..base.isolation.worker_errors import WorkerError
from ..errors import CollageError
from ..model.model import SubModel
from ..model.relax.flat_model import flat_model, operators_of
from ..toolchains import registry
from ..toolchains.abilities import check_boundary
from ..toolchains.border import build_package
from ..toolchains.onnx_models.nchwc_models import REORDER_TARGET
from .blocked_tensors import reorder_of
from .packages import Package

_HINT = "leave it to another toolchain"
BUILD_S = 600.0
"""Longest that a toolchain may take to build a function."""


def built_package(target: str, name: str, function: relax.Function, threads: int, worker: Worker) -> Package:
    """Return the package that `target` builds of the flat `function`, whose shapes are fixed.

    Raises:
        CollageError: the function, or the binding that is named, cannot be taken by the toolchain.
    """
    model, order = flat_model(name, function)
    if target == REORDER_TARGET:
        model = reorder_of(function, model) or model
    tool = registry.get(target)
    try:
        check_boundary(tool, model)
        data = worker.call(_build, target, model, threads, timeout_s=BUILD_S)
    except (CollageError, WorkerError) as error:
        raise refused(target, name, function, str(error)) from error
    return Package(target, data, model.inputs, model.outputs, order, len(function.params), threads)


def refused(target: str, name: str, function: relax.Function, reason: str) -> CollageError:
    """Return the error of a toolchain that cannot take the flat `function`, called `name`, with the bindings that its reason is about.

    These are the ones of operators that the reason names.
    """
    words = set(re.findall(r"\w+", reason))
    with suppress(CollageError):
        about = dict.fromkeys(binding for binding, op in operators_of(name, function) if op in words)
        where = f", binding {', '.join(map(repr, about))}" if about else ""
        return CollageError(f"{target} cannot take the function {name!r}{where}: {reason}", _HINT, "toolchain")
    return CollageError(f"{target} cannot take the function {name!r}: {reason}", _HINT, "toolchain")


def _build(target: str, model: SubModel, threads: int) -> bytes:
    return build_package(registry.get(target), model, threads)
