"""Builds the rule trees that the bundled toolchains share, from the user's options.

After RFC 62 (Collage), "PartitionRule", on typical ways to combine rules. The fusion styles (none, tvm, arbitrary) are those of the
C++ implementation of Collage.
"""

from __future__ import annotations

from .combinators import Folds, OnlyValid, Primitive, Union
from .combine import ANYTHING, CLASSIC, Combine
from .rule import PartitionRule, RuleOptions
from .segments import Segments

COMBINERS = {"tvm": CLASSIC, "arbitrary": ANYTHING}
"""Fusion style → combiners."""
FUSION_STYLES = ("none", *COMBINERS)


def fusion_tree(calls: PartitionRule, options: RuleOptions, *, style: str, depth: int) -> PartitionRule:
    """Return a rule tree that finds single calls, combinations of them, and the largest regions.

    Args:
        calls: The rule that finds the single calls that the toolchain takes.
        options: Options of the user; the fusion style and depth in them override the toolchain's.
        style: The toolchain's own fusion style.
        depth: The toolchain's own bound for combined candidates.
    """
    style = options.fusion or style
    if style == "none":
        return Primitive(OnlyValid(calls, options.max_depth, options.max_exits, options.allow_taps))
    bound = depth if options.max_depth is None else options.max_depth
    combined = Combine(calls, COMBINERS[style], bound)
    valid = OnlyValid(combined, bound, options.max_exits, options.allow_taps)
    return Primitive(Union((valid, Segments(calls, options.max_depth))))


def classic_fusion(calls: PartitionRule, options: RuleOptions, depth: int) -> PartitionRule:
    """Return a rule tree that finds all sub-graphs that TVM's `FuseOps` could fuse, not only the largest."""
    return fusion_tree(calls, options, style="tvm", depth=depth)


def kernel_fusion(calls: PartitionRule, options: RuleOptions, depth: int, exits: int) -> PartitionRule:
    """Return a rule tree that finds what may become one kernel: `FuseOps`' sub-graphs, chains through an anchor, and parallel calls.

    There are no segments, since those are several kernels. What only constants feed is folded, and part of no kernel.
    """
    bound = depth if options.max_depth is None else options.max_depth
    combined = Combine(calls, (*CLASSIC, "vertical", "horizontal"), bound)
    return Primitive(Folds(OnlyValid(combined, bound, max(options.max_exits, exits), options.allow_taps)))


def arbitrary_fusion(calls: PartitionRule, options: RuleOptions, depth: int) -> PartitionRule:
    """Return a rule tree that finds all connected sub-graphs up to `depth`, for toolchains that take whole sub-graphs."""
    return fusion_tree(calls, options, style="arbitrary", depth=depth)
