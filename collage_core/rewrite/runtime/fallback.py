"""`folder_here`: which folder of an artifact runs on this machine: its own, or that of its plan for the host where a device is missing."""

from __future__ import annotations

from pathlib import Path

from ...errors import CollageError
from ...toolchains import registry
from ...toolchains.border import availability_of
from ...toolchains.toolchain import PROCESSOR
from .manifest import FALLBACK, NAME
from .shaped_manifest import read_manifests


def folder_here(folder: Path) -> tuple[Path, str]:
    """Return the folder to open, and what the user should know of it: the device that is missing; empty where none is.

    Raises:
        CollageError: the folder is no artifact, or a device is missing and there is no plan for the host.
    """
    entries = [entry for manifest in read_manifests(folder) for entry in manifest.partitions if entry.version]
    for target in dict.fromkeys(entry.target for entry in entries):
        known = availability_of(registry.get(target))
        if known.usable or known.device == PROCESSOR:
            continue
        missing = f"{target} is not usable here: {known.reason}"
        if not (folder / FALLBACK / NAME).is_file():
            message = f"the artifact {str(folder)!r} has no plan for the host, and {missing}"
            raise CollageError(message, "build it again with `collage partition --fallback`", "unavailable_target")
        return folder / FALLBACK, f"{missing}; its plan for the host runs in its place"
    return folder, ""
