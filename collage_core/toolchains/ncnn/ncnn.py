"""The toolchain `ncnn`: Tencent's ncnn on the CPU, in float32 (its own default is half precision where the processor has it).

`ncnn_operators` says which calls it takes, `ncnn_import` converts a sub-model, `ncnn_network` writes it down, `ncnn_build` makes
packages, and `ncnn_kernel` runs them. Only the last two import ncnn, and only what builds and loads imports them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.extras import install_command
from ...graph.dataflow_graph import Tensor
from ...model.model import SubModel
from ..toolchain import Availability, Kernel, Toolchain
from .ncnn_operators import CHECKS, REFUSALS_OF_VALUES

if TYPE_CHECKING:
    from ...rules.rule import PartitionRule, RuleOptions
    from ..native_files import NativeFiles
    from ..profiling import NodeTime

DEFAULT_DEPTH = 3
SUPPORTED_VERSION = "1.0.20261020"
"""The version whose layers `ncnn_operators` was verified with."""

IMPORTER_VERSION = "+collage.6"
"""Version of our importer, which the toolchain's version ends with: kernels depend on it too. Count up when kernels change, so that
their costs are measured again."""


class NcnnBase(Toolchain):
    """Takes the calls that ncnn computes right, in whole sub-graphs."""

    distributions = ("ncnn",)
    has_value_contract = True

    def availability(self) -> Availability:
        if util.find_spec("ncnn") is None:
            return Availability(False, reason="the package ncnn is not installed", hint=install_command("ncnn"), precision="float32")
        version = _version()
        if version != SUPPORTED_VERSION:
            reason = f"ncnn {version} is installed, {SUPPORTED_VERSION} is needed"
            return Availability(False, version, reason, install_command("ncnn"), precision="float32")
        return Availability(True, version + IMPORTER_VERSION, precision="float32")

    def rule(self, options: RuleOptions) -> PartitionRule:
        from ...rules.base_rules import OpCheck
        from ...rules.combinators import arbitrary_fusion

        return arbitrary_fusion(OpCheck(REFUSALS_OF_VALUES[options.value_policy], tuple(sorted(CHECKS))), options, DEFAULT_DEPTH)

    def build(self, model: SubModel, threads: int) -> bytes:
        from .ncnn_build import fastest_package

        return fastest_package(model, threads).to_bytes()

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        from .ncnn_kernel import loaded

        return loaded(package, len(inputs), len(outputs), threads)

    def profile(self, model: SubModel, inputs: Sequence[np.ndarray], threads: int) -> Sequence[NodeTime]:
        from .ncnn_profile import profiled

        return profiled(model, self.load(self.build(model, threads), model.inputs, model.outputs, threads), inputs)


class NcnnToolchain(NcnnBase):
    """ncnn with plain tensors at the ends of a sub-graph, as its own programs have them."""

    name = "ncnn"
    letter = "N"

    def native_files(self, model: SubModel, threads: int, is_alone: bool) -> NativeFiles:
        from .ncnn_build import fastest_package
        from .ncnn_native import files_of

        return files_of(fastest_package(model, threads), model, threads, _version())

    def open_native(self, path: Path, inputs: Sequence[Tensor], outputs: Sequence[Tensor], settings: Mapping[str, Any]) -> Kernel:
        from .ncnn_native import opened

        return opened(path, settings)


def _version() -> str:
    try:
        return metadata.version("ncnn")
    except metadata.PackageNotFoundError:
        return "of unknown version"
