"""The packages that an artifact needs from a registry: ``requirements.txt`` in its folder, and the pip command that brings other versions.

Toolchains and versions enter; text leaves. A version here is one that pip can install: without the suffix that counts up the changes of
this program (``1.31.1``, not ``1.31.1+collage.3``).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from importlib import metadata

from ...toolchains.toolchain import Toolchain

REQUIREMENTS = "requirements.txt"
ALWAYS = ("numpy",)
"""Packages that every artifact needs beside its toolchains."""


def released(version: str) -> str:
    """Return the version of the library in that of a toolchain: ``1.17.1`` of ``scipy-1.17.1+collage.1``."""
    return version.partition("+")[0].rpartition("-")[2]


def requirements_text(toolchains: Iterable[Toolchain]) -> str:
    """Return the content of ``requirements.txt``: each installed package of `toolchains` with its version, one a line."""
    packages = sorted({name for tool in toolchains for name in tool.distributions} | set(ALWAYS))
    lines = []
    for name in packages:
        try:
            lines.append(f"{name}=={metadata.version(name).partition('+')[0]}\n")
        except metadata.PackageNotFoundError:  # Such as SciPy, where the system's BLAS is used.
            continue
    return "".join(lines)


def pip_command(toolchain: Toolchain, version: str) -> str:
    """Return the command that installs the version of a toolchain's library that an artifact was built with; empty where pip has none."""
    if not toolchain.distributions:
        return ""
    return f"pip install {shlex.quote(f'{toolchain.distributions[0]}=={released(version)}')}"
