"""The environment of a worker: what toolchains and their libraries read, and none of the user's secrets.

A worker runs libraries of others on models of strangers, so tokens and passwords in the user's environment stay with the parent.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import MappingProxyType

_NAMES = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP", "VIRTUAL_ENV", "CONDA_PREFIX",
    "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CPATH", "LIBRARY_PATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH",
})  # fmt: skip
_EARLY_PREFIXES = (
    *("PYTHON", "COVERAGE_", "LC_", "LD_", "DYLD_", "MALLOC_", "GLIBC_", "ONNX", "TVM_"),
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "VECLIB_", "NUMEXPR_"),
)
_PREFIXES = (
    *(*_EARLY_PREFIXES, "COLLAGE_", "XDG_", "DNNL_", "ONEDNN_", "TBB_"),
    *("ORT_", "OV_", "OPENVINO_", "NCNN_", "CUDA_", "NVIDIA_", "TRT_", "TENSORRT_", "VK_"),
)
READ_BY_IMPORTS = ("PATH", "LANG", "TZ", "VIRTUAL_ENV", "CONDA_PREFIX", *_EARLY_PREFIXES)
"""Beginnings of the names of variables that the loader, Python and the libraries of a fork server may read when they are loaded."""
OPENBLAS_IDLE = "OPENBLAS_THREAD_TIMEOUT", "17"
"""Variable and value: an idle thread of OpenBLAS looks for work for two to the power of this many cycles, some 50 µs, before it sleeps."""
DEFAULTS = dict([OPENBLAS_IDLE])
"""Set where the user has not: the threads of numpy's OpenBLAS begin with its import, and each would keep its core busy for 0.1 s."""
DATABASE = "COLLAGE_COSTS"
"""Names the cost database, perhaps with a password: only a worker that opens it gets it (`database_access`)."""


def child_environment(more: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Return the environment of a worker of this process, which imports what this one does, with the variables of `more`."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return {**worker_environment(os.environ), "PYTHONPATH": path, **more}


def worker_environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return those variables of `given` that a worker gets, and `DEFAULTS`."""
    kept = {name: value for name, value in given.items() if (name in _NAMES or name.startswith(_PREFIXES)) and name != DATABASE}
    return {**DEFAULTS, **kept}


def database_access() -> dict[str, str]:
    """Return the variables of this process by which a worker of our own finds the cost database and its password."""
    return {name: value for name, value in os.environ.items() if name == DATABASE or name.startswith("PG")}
