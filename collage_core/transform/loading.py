"""The function that exported libraries call to load what their modules carry."""

from __future__ import annotations

import json
from typing import Any

import tvm
from tvm_ffi.registry import register_global_func

from .open_packages import OpenPackage
from .packages import LOADER, Carried, Package

_loaded: list[Any] = []
"""Functions that C code points to; nothing else holds them."""


def _load_package(data: Any, about: str) -> Any:
    kind: type[Package] | type[OpenPackage] = OpenPackage if "open" in json.loads(about) else Package
    package: Carried = kind.read(bytes(data), about)
    function = tvm.runtime.convert(package.function())
    _loaded.append(function)
    return function


def register_loader() -> None:
    """Register the function that exported libraries call."""
    register_global_func(LOADER, _load_package, override=True)
