"""`BuiltPackages`: the packages that were built in a run, so that none is built twice: not for a repetition, and not for the artifact.

A toolchain and a sub-model enter, a package leaves. The artifact gets the very package whose cost was measured: a toolchain may choose
among variants by timing them as it builds. Worker processes share the packages as files of one folder.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path

from ..base.bounded_folder import BoundedFolder
from ..model.model import SubModel
from .border import build_package
from .toolchain import Toolchain

_FOLDER, _ENDING = "packages", ".package"
_BYTES_A_SECOND = 2e8
"""A package is kept where building it took longer than writing and reading it takes at this rate."""


@dataclass(frozen=True)
class BuiltPackages:
    """The packages of one run.

    Attributes:
        scratch: A folder of the run's; where it is gone, packages are built and not kept.
    """

    scratch: Path

    def built(self, toolchain: Toolchain, model: SubModel, threads: int) -> bytes:
        """Return the package of `model`, built now or before.

        Raises:
            ToolchainError: as `build_package`.
        """
        kept, key = BoundedFolder(self.scratch / _FOLDER, _ENDING), _key(toolchain, model, threads)
        stored = kept.get(key)
        if stored is not None:
            return stored
        start = time.perf_counter()
        package = build_package(toolchain, model, threads)
        if len(package) < (time.perf_counter() - start) * _BYTES_A_SECOND:
            kept.put(key, package)
        return package


def package_of(toolchain: Toolchain, model: SubModel, threads: int, packages: BuiltPackages | None) -> bytes:
    """Return the package of `model`, one of `packages` where these are given. Raises ToolchainError as `BuiltPackages.built`."""
    return build_package(toolchain, model, threads) if packages is None else packages.built(toolchain, model, threads)


def _key(toolchain: Toolchain, model: SubModel, threads: int) -> str:
    digest = hashlib.blake2b(f"{toolchain.name}\0{threads}\0{len(model.tuning)}\0".encode(), digest_size=16)
    digest.update(model.tuning)
    digest.update(model.onnx)
    return digest.hexdigest()
