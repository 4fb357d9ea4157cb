"""The rule trees that the bundled toolchains share, from the user's options.

Seeds: RFC 62 (0.81), "typical ways to combine `PartitionRule`s"; upstream's fusion styles (none, tvm, arbitrary).
"""

from __future__ import annotations

from .base import PartitionRule, RuleOptions
from .combinators import OnlyValid, Primitive, Union
from .combine import ANYTHING, CLASSIC, Combine
from .segments import Segments

COMBINERS = {"tvm": CLASSIC, "arbitrary": ANYTHING}


def fusion_tree(calls: PartitionRule, options: RuleOptions, *, style: str, depth: int) -> PartitionRule:
    """Single calls, what they combine to, and the largest regions.

    Args:
        calls: Finds the single calls that the toolchain takes.
        options: The user's; its fusion style and depth go before the toolchain's.
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
    """What TVM's `FuseOps` would make of `calls`, all of it instead of the largest only."""
    return fusion_tree(calls, options, style="tvm", depth=depth)


def arbitrary_fusion(calls: PartitionRule, options: RuleOptions, depth: int) -> PartitionRule:
    """Whatever touches, up to `depth`: for toolchains that take whole sub-graphs."""
    return fusion_tree(calls, options, style="arbitrary", depth=depth)
