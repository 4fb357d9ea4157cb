"""The toolchain `tvm@fusion`: TVM in fusion mode, in which every candidate is exactly one kernel and the search chooses the fusions.

Its candidates are what TVM's `FuseOps` may fuse, and beyond that chains through an anchor and parallel calls on one tensor; and the
kernels that `FuseOps` does make of the model, however large, so that no plan is worse than these. The plan's
fusions are what is compiled: one PrimFunc a partition, whatever `FuseOps` would have made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...base.processor import usable_cores
from ...model.model import SubModel
from ..values.wrong_calls import TVM_REFUSALS
from .tvm import TvmToolchain
from .tvm_operators import OPERATORS

if TYPE_CHECKING:
    import tvm

    from ...rules.rule import PartitionRule, RuleOptions

DEPTH = 4
FUSE_OPS = "FuseOps"
"""The partitioning of the kernels that TVM makes by itself."""
MOST_EXITS = 3
"""Parallel calls have as many exits as they are."""


class TvmFusionToolchain(TvmToolchain):
    """Takes what one kernel of TVM's can compute."""

    name = "tvm@fusion"
    letter = "F"
    takes_merged = False

    def rule(self, options: RuleOptions) -> PartitionRule:
        from ...rules.base_rules import OpCallByKind
        from ...rules.combinators import MatchCheck, kernel_fusion

        return kernel_fusion(MatchCheck(TVM_REFUSALS[options.value_policy], OpCallByKind("O", OPERATORS)), options, DEPTH, MOST_EXITS)

    def partitionings(self, model: SubModel) -> Mapping[str, Sequence[Sequence[str]]]:
        from .tvm_fuse_ops import fuse_ops_groups

        return {FUSE_OPS: fuse_ops_groups(model)}

    def build(self, model: SubModel, threads: int) -> bytes:
        from .tvm_build import compile_library
        from .tvm_one_kernel import one_kernel

        return compile_library(one_kernel(model, threads), threads)

    def relax_module(self, model: SubModel) -> tvm.IRModule:
        from .tvm_one_kernel import one_kernel

        return one_kernel(model, usable_cores())

    def prepare(self, module: tvm.IRModule) -> tvm.IRModule:
        """Return the function as a call of one PrimFunc. It reads the weights packed, so this comes before they are parameters."""
        from ..relax_attributes import TUNING
        from .tvm_one_kernel import as_one_kernel, named_by_content

        tuning = str((module["main"].attrs or {}).get(TUNING, "")).encode()
        return named_by_content(as_one_kernel(module, usable_cores(), tuning))

    def _unscheduled(self, model: SubModel, threads: int) -> tvm.IRModule:
        from .tvm_one_kernel import one_unscheduled

        return one_unscheduled(model, threads)
