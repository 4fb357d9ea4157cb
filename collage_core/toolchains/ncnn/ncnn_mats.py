"""Tensors as Mats of ncnn: the shapes that views of them have. Shapes enter and leave; ncnn is not imported.

A Mat has up to four axes, of which none is the batch. So neighbouring axes of a tensor are merged, the batch among them, wherever an
operator treats them as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

Shape = tuple[int, ...]


def fold(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    """Return how many elements lie outside `axis`, on it, and inside it."""
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def usual_shape(shape: Shape) -> Shape:
    """Return the shape of the Mat of a tensor from outside: of an image channels, with the batch among them, rows and columns."""
    if len(shape) > 3:
        return prod(shape[:-2]), shape[-2], shape[-1]
    if len(shape) == 3 and shape[0] == 1:
        return shape[1:]
    return shape or (1,)


def image(shape: Shape) -> Shape:
    """Return the Mat of a tensor [N, C, H, W] or [N, C, W]: its channels with the batch among them, rows and columns."""
    return (shape[0] * shape[1], *[1] * (4 - len(shape)), *shape[2:])


def groups_of(shape: Shape, axes: Sequence[int]) -> list[tuple[int, bool]]:
    """Return `shape` as runs of axes that are all in `axes`, or all not: the size of each run, and whether it is in `axes`.

    Axes of size 1 are in no run.
    """
    runs: list[tuple[int, bool]] = []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        inside = axis in axes
        if runs and runs[-1][1] == inside:
            runs[-1] = runs[-1][0] * size, inside
        else:
            runs.append((size, inside))
    return runs


def merged_permutation(shape: Shape, order: Sequence[int]) -> tuple[Shape, tuple[int, ...]]:
    """Return a transposition with axes merged that stay together, and without axes of size 1: the shape, and the order of its axes."""
    runs: list[list[int]] = []
    for axis in (axis for axis in order if shape[axis] != 1):
        follows = runs and all(shape[between] == 1 for between in range(runs[-1][-1] + 1, axis)) and axis > runs[-1][-1]
        if follows:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    ranked = sorted(runs)
    return tuple(prod(shape[axis] for axis in run) for run in ranked), tuple(ranked.index(run) for run in runs)


def broadcast_shape(one: Shape, other: Shape) -> Shape:
    """Return the shape that two shapes are broadcast to."""
    rank = max(len(one), len(other))
    pairs = zip((1,) * (rank - len(one)) + one, (1,) * (rank - len(other)) + other, strict=True)
    return tuple(b if a == 1 else a for a, b in pairs)


def broadcast(out: Shape, shapes: Sequence[Shape], wanted: Shape | None = None) -> list[Shape] | None:
    """Return operands that are broadcast to `out` as shapes of equal rank, with neighbours merged; None where that takes over 4 axes.

    Args:
        wanted: The shape of a Mat that an operand of shape `out` has already, whose axes are kept if every operand permits.
    """
    aligned = [(1,) * (len(out) - len(shape)) + shape for shape in shapes]
    kept = _cuts(out, wanted) if wanted is not None else None
    merged = [_merged(shape, out, kept) for shape in aligned] if kept else [None]
    if None in merged:
        real = [axis for axis, size in enumerate(out) if size != 1]
        kinds = [tuple(shape[axis] == 1 for shape in aligned) for axis in range(len(out))]
        cuts = [0, *(axis for before, axis in pairwise(real) if kinds[before] != kinds[axis]), len(out)]
        merged = [_merged(shape, out, cuts) for shape in aligned] if len(cuts) <= 5 else [None]
    whole = [shape for shape in merged if shape is not None]
    return whole if len(whole) == len(shapes) else None


def _cuts(out: Shape, wanted: Shape) -> list[int] | None:
    """Return where `out` is cut so that the products of its pieces are `wanted`; None where it cannot be."""
    cuts, axis = [0], 0
    for index, size in enumerate(wanted):
        total, is_last = 1, index == len(wanted) - 1
        while axis < len(out) and (is_last or total < size or (len(out) - axis > len(wanted) - index and out[axis] == 1)):
            total *= out[axis]
            axis += 1
        if total == size == 1 and axis == cuts[-1] and axis < len(out) and out[axis] == 1:
            axis += 1
        if total != size:
            return None
        cuts.append(axis)
    return cuts if axis == len(out) else None


def _merged(shape: Shape, out: Shape, cuts: Sequence[int]) -> Shape | None:
    """Return `shape` with the axes between `cuts` merged; None where only some of them are broadcast."""
    merged = []
    for first, last in pairwise(cuts):
        size = prod(shape[first:last])
        if size not in (1, prod(out[first:last])):
            return None
        merged.append(size)
    return tuple(merged)


def product_shapes(one: Shape, other: Shape) -> tuple[Shape, Shape] | None:
    """Return the operands of a matrix product as Mats of equal rank; None where ncnn has no such product.

    A batch is merged into one axis; rows of the left operand take in its batch where the right one has none.
    """
    left, right = (1, *one) if len(one) == 1 else one, (*other, 1) if len(other) == 1 else other
    if prod(right[:-2]) == 1:
        return (prod(left[:-1]), left[-1]), (right[-2], right[-1])
    rank = max(len(left), len(right))
    batches = [(1,) * (rank - len(shape)) + shape[:-2] for shape in (left, right)]
    if batches[0][-rank + 2 :] != batches[1][-rank + 2 :]:
        return None
    return (prod(left[:-2]), left[-2], left[-1]), (prod(right[:-2]), right[-2], right[-1])
