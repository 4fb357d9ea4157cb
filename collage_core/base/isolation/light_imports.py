"""Lets a library be imported without others that it loads only in case somebody passes their objects, which can take longer than itself.

`spare` is called once in a child, before it imports anything large.
"""

from __future__ import annotations

import importlib.abc
import sys
import types
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder

SPARED: Mapping[str, str] = {"tvm_ffi": "torch"}
"""Library → what it does not import. TVM's foundation imports PyTorch wherever that is installed, which takes longer than TVM itself."""


def spare() -> None:
    """Have libraries in `SPARED` imported from now on as if the other one were not installed; that one can still be imported by others."""
    sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None) -> ModuleSpec | None:
        other = SPARED.get(name)
        if other is None or other in sys.modules:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, other)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads as `loader` does, while importing `other` fails."""

    def __init__(self, loader: importlib.abc.Loader, other: str):
        self._loader, self._other = loader, other

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        sys.modules[self._other] = None  # type: ignore[assignment]  # importing it raises ModuleNotFoundError
        try:
            self._loader.exec_module(module)
        finally:
            del sys.modules[self._other]

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)  # what the library reads of its loader: its files, its source
