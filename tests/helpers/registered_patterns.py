"""A module that registers patterns of a user's with TVM as it is imported: one that takes, and two whose checks do not."""

from __future__ import annotations

from tvm.relax.backend.pattern_registry import register_patterns
from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import PatternCheckContext


def refuses(context: PatternCheckContext) -> bool:
    return False


def fails(context: PatternCheckContext) -> bool:
    raise ZeroDivisionError("division by zero")


x = wildcard()
relu = is_op("relax.nn.relu")(wildcard())
register_patterns(
    [
        ("mine.sigmoid_add", is_op("relax.add")(is_op("relax.sigmoid")(x), x)),
        ("refused.relu", relu, {}, refuses),
        ("failing.relu", relu, {}, fails),
    ]
)
