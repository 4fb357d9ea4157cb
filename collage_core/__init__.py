"""Collage Explorer's engine: finds the fastest way to run a neural network over several toolchains at once.

``import collage_core as collage`` gives `collage.partition` and `collage.Options`. A library that takes long to import
is imported when it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from .api import partition
    from .options import Options
    from .pipeline.record import RunRecord

__all__ = ["Options", "RunRecord", "__version__", "partition"]

_OWNERS = {"Options": "options", "RunRecord": "pipeline.record", "partition": "api"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _OWNERS:
        return getattr(import_module(f"{__name__}.{_OWNERS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
