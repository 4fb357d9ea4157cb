"""Imports packages that are not always installed, or says in one line which is missing and what installs it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ..base.extras import install_command
from ..errors import CollageError


def needed(module: str, extra: str, purpose: str) -> ModuleType:
    """Import `module`, which the extra `extra` of this package brings; `purpose` begins the sentence about it.

    Raises:
        CollageError: it is not installed, with the line that installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        message = f"{purpose} needs the Python package {extra!r}, which is not installed"
        raise CollageError(message, install_command(extra), "not_installed") from error
