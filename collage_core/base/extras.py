"""`install_command`: the command that installs what an extra of this package brings.

It names the packages themselves, as the metadata of the installed package lists them. No registry has this package, so its own name with an
extra would install nothing.
"""

from __future__ import annotations

import re
import shlex
from importlib import metadata

_NAMES = ("collage-explorer", "collage-runtime")
"""The two packages that can be installed: all of this project, or only what runs artifacts."""


def install_command(extra: str) -> str:
    """Return the command that installs the packages of `extra`; a sentence where no metadata says which they are."""
    for name in _NAMES:
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        wanted = [line.partition(";") for line in lines]
        packages = [need.strip() for need, _, marker in wanted if re.search(rf"\bextra == [\"']{re.escape(extra)}[\"']", marker)]
        if packages:
            return f"pip install {shlex.join(packages)}"
    return f"install the packages of the extra {extra!r}, which docs/dependencies.md lists"
