"""`share_weights`: stores what the packages of several shapes have in common in their weights once, in a file that all artifacts hold.

Finished artifacts of one model enter, with packages of the whole model beside them; afterwards the packages of toolchains that can have
weights in files have them in one `WEIGHTS`, each content once. Every artifact has a hard link to that file, so that the disk and the page
cache hold it once, and each folder is still an artifact by itself. If anything fails, all is as it was. It runs toolchains, and therefore
belongs in a worker process.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..errors import CollageError
from ..model.files.external_data import Slice
from ..toolchains import registry
from ..toolchains.abilities import WeightsInFiles
from ..toolchains.border import uncancelled
from ..toolchains.onnx_models.external_package import found_in, is_external, moved, packed_slices_of, slices_of
from .artifact_weights import ALIGNED, copy_slices, list_anew
from .runtime.manifest import NAME, WEIGHTS, PartitionEntry, fingerprint, read_manifest

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class _Package:
    """A package in the folder of the artifact that it belongs to."""

    folder: Path
    path: Path
    target: str


@dataclass(frozen=True)
class _Outside:
    """A package with its weights in files, and the digest of the content of each of their slices."""

    package: _Package
    data: bytes
    digests: Mapping[Slice, str]


def share_weights(out: Path, folders: Sequence[Path], dynamic: Sequence[PartitionEntry], threads: int) -> int:
    """Let the packages of the artifacts in `folders`, and those of `dynamic` in `out`, have equal weights in one file; return its size.

    Returns:
        0 where no two packages have a toolchain in common that can have weights in files, or the disk cannot: all is as it was.
    """
    packages = [*_packages(folders), *(_Package(out, out / entry.package, entry.target) for entry in dynamic)]
    counts = Counter(package.target for package in packages)
    try:
        with tempfile.TemporaryDirectory(dir=out, prefix=".weights-") as scratch:
            store = _Store(Path(scratch))
            taken = [store.taken_out(package, threads, counts[package.target] > 1) for package in packages]
            outside = [stored for stored in taken if stored is not None]
            if len(outside) < 2:
                return 0
            return _published(outside, store.written(), folders)
    except OSError:
        return 0


def _packages(folders: Sequence[Path]) -> Iterator[_Package]:
    """Yield the packages of the artifacts in `folders`, and of the artifacts of bodies in them."""
    for folder in folders:
        for manifest in sorted(folder.rglob(NAME)):
            entries = read_manifest(manifest.parent).partitions
            yield from (_Package(manifest.parent, manifest.parent / entry.package, entry.target) for entry in entries if entry.package)


class _Store:
    """Contents of weights by their digests, each in a file of its own in the folder `scratch`."""

    def __init__(self, scratch: Path):
        self._scratch = scratch
        self._sizes: dict[str, int] = {}
        self._weights: set[str] = set()
        self._readers: Counter[str] = Counter()
        self._new: dict[str, Slice] = {}

    def taken_out(self, package: _Package, threads: int, has_others: bool) -> _Outside | None:
        """Return a package with its weights in files, whose contents are kept here; None where they stay inside.

        Weights that are in a file already move to the new one, whatever the toolchain: it takes the place of the old one.

        Args:
            has_others: Whether there are other packages of its toolchain, with which it could share weights.
        """
        with tempfile.TemporaryDirectory(dir=self._scratch) as files:
            whole = found_in(package.path.read_bytes(), package.folder)
            data = _in_files(package.target, whole, Path(files), threads) if has_others else None
            if data is None:
                data = whole
            if not is_external(data):
                return None
            weights, packed = slices_of(data), packed_slices_of(data)
            digests = {where: self._kept(where) for where in (*weights, *packed)}
        self._weights |= {digests[where] for where in weights}
        self._readers.update(set(digests.values()))
        return _Outside(package, data, digests)

    def _kept(self, where: Slice) -> str:
        digest = hashlib.sha256()
        for block in _blocks(where):
            digest.update(block)
        name = digest.hexdigest()
        if name not in self._sizes:
            self._sizes[name] = where.length
            copy_slices({where: Slice(Path(name), 0, where.length)}, self._scratch / name, where.length)
        return name

    def written(self) -> tuple[Path, Mapping[str, Slice]]:
        """Write all contents into one file, and return it, with where each has come to lie.

        A form in which kernels pack a weight is left out where one package alone reads it: it would only take disk.
        """
        new, end = dict[str, Slice](), 0
        for name, size in self._sizes.items():
            if name in self._weights or self._readers[name] > 1:
                new[name] = Slice(Path(WEIGHTS), end, size)
                end += -(-size // ALIGNED) * ALIGNED
        path = self._scratch / WEIGHTS
        copy_slices({Slice(self._scratch / name, 0, self._sizes[name]): where for name, where in new.items()}, path, end)
        return path, new


def _in_files(target: str, package: bytes, files: Path, threads: int) -> bytes | None:
    toolchain = registry.get(target)
    if not isinstance(toolchain, WeightsInFiles):
        return None
    try:
        with uncancelled():
            return toolchain.with_weights_in_files(package, files, threads)
    except CollageError:
        return None


def _blocks(where: Slice) -> Iterator[bytes]:
    with where.path.open("rb") as file:
        for start in range(0, where.length, _BLOCK_BYTES):
            yield os.pread(file.fileno(), min(_BLOCK_BYTES, where.length - start), where.offset + start)


def _published(outside: Sequence[_Outside], written: tuple[Path, Mapping[str, Slice]], folders: Sequence[Path]) -> int:
    """Put the file of all weights beside every package, let the packages name it, and list both; return the size of the file.

    Everything is written beside what it replaces first: a disk that is full then has changed nothing.
    """
    path, new = written
    beside = {folder / WEIGHTS: _beside(folder / WEIGHTS) for folder in dict.fromkeys(one.package.folder for one in outside)}
    try:
        for ready in beside.values():
            os.link(path, ready)
        for one in outside:
            beside[one.package.path] = ready = _beside(one.package.path)
            ready.write_bytes(moved(one.data, partial(_new_slice, new, one.digests)))
    except OSError:
        for ready in beside.values():
            ready.unlink(missing_ok=True)
        raise
    of_weights, changed = fingerprint(path), dict[Path, tuple[int, str]]()
    for final, ready in beside.items():
        changed[final] = of_weights if final.name == WEIGHTS else fingerprint(ready)
        ready.replace(final)
    for folder in folders:
        _list_changed(folder, changed)
    return of_weights[0]


def _beside(path: Path) -> Path:
    """Return a name beside `path` that is free."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}")


def _new_slice(new: Mapping[str, Slice], digests: Mapping[Slice, str], where: Slice) -> Slice | None:
    return new.get(digests[where])


def _list_changed(folder: Path, changed: dict[Path, tuple[int, str]]) -> None:
    """Write the manifests of the artifact in `folder`, and of those of bodies in it, anew; the innermost first, since others list them."""
    for manifest in sorted(folder.rglob(NAME), key=lambda path: -len(path.parts)):
        inside = {path: found for path, found in changed.items() if path.is_relative_to(manifest.parent)}
        if inside:
            list_anew(manifest.parent, inside)
            changed[manifest] = fingerprint(manifest)
