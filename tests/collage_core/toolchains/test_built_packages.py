"""The same is built once: one sub-model, number of threads and set of schedules. It is not kept where it is quick to build."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from collage_core.model.model import SubModel
from collage_core.model.probe import relu_model
from collage_core.rules.base_rules import Explicit
from collage_core.rules.rule import PartitionRule, RuleOptions
from collage_core.toolchains import built_packages
from collage_core.toolchains.built_packages import BuiltPackages
from collage_core.toolchains.toolchain import Availability, Kernel, Toolchain, ToolchainError

MODEL = relu_model(8)


class Counting(Toolchain):
    """Builds packages that say how many were built before."""

    name = "counting"

    def __init__(self, name: str = "counting", package: object = None) -> None:
        self.name, self.builds, self.package = name, 0, package

    def availability(self) -> Availability:
        return Availability(True, "1")

    def rule(self, options: RuleOptions) -> PartitionRule:
        return Explicit(())

    def build(self, model: SubModel, threads: int) -> bytes:
        self.builds += 1
        return f"{self.name} {self.builds}".encode() if self.package is None else self.package  # type: ignore[return-value]

    def load(self, *given: object) -> Kernel:
        raise NotImplementedError


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuiltPackages:
    """Packages of a machine where each build takes a second."""
    seconds = count()
    monkeypatch.setattr(built_packages, "time", SimpleNamespace(perf_counter=lambda: float(next(seconds))))
    return BuiltPackages(tmp_path)


def test_the_same_is_built_once_and_whatever_differs_again(packages: BuiltPackages) -> None:
    tool = Counting()
    first = packages.built(tool, MODEL, 1)
    others = [
        packages.built(tool, MODEL, 2),
        packages.built(tool, relu_model(9), 1),
        packages.built(tool, replace(MODEL, tuning=b"schedules"), 1),
        packages.built(Counting("counting@other"), MODEL, 1),
    ]
    assert len({first, *others}) == 5
    assert BuiltPackages(packages.scratch).built(tool, MODEL, 1) == first
    assert tool.builds == 4


def test_what_is_built_sooner_than_written_is_not_kept(packages: BuiltPackages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built_packages, "_BYTES_A_SECOND", 5)
    tool = Counting()
    assert packages.built(tool, MODEL, 1) != packages.built(tool, MODEL, 1)


def test_where_the_folder_is_gone_it_is_built_again(packages: BuiltPackages) -> None:
    tool = Counting()
    packages.scratch.rmdir()
    assert [packages.built(tool, MODEL, 1) for _ in range(2)] == [b"counting 1", b"counting 2"]


def test_what_is_no_package_is_refused_in_one_line(packages: BuiltPackages) -> None:
    with pytest.raises(ToolchainError, match=r"^it gave a int as a package, not bytes$"):
        packages.built(Counting(package=3), MODEL, 1)
