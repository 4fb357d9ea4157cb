"""Python as it is where no toolchain was installed: imported by each process that has this folder in its ``PYTHONPATH``.

ONNX Runtime and SciPy stay: the program itself needs them, so that whoever has it has them too.
"""

from __future__ import annotations

from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

HIDDEN = frozenset({"tvm", "tvm_ffi", "openvino", "ncnn", "tensorrt", "tensorrt_rtx"})
PACKAGES = frozenset({"apache-tvm", "apache-tvm-ffi", "openvino", "ncnn", "onednn-cpu-gomp"})

_find, _distribution = PathFinder.find_spec, metadata.distribution


def find_spec(fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
    return None if fullname.partition(".")[0] in HIDDEN else _find(fullname, path, target)


def distribution(distribution_name: str) -> metadata.Distribution:
    if distribution_name in PACKAGES:
        raise metadata.PackageNotFoundError(distribution_name)
    return _distribution(distribution_name)


PathFinder.find_spec = find_spec  # type: ignore[assignment]
metadata.distribution = distribution
