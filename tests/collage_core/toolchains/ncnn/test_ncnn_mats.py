"""The shapes of the Mats that tensors are viewed as."""

from __future__ import annotations

import pytest

from collage_core.toolchains.ncnn.ncnn_mats import broadcast, groups_of, merged_permutation, product_shapes, usual_shape


@pytest.mark.parametrize(
    ("shape", "mat"),
    [((1, 3, 8, 9), (3, 8, 9)), ((2, 3, 8, 9), (6, 8, 9)), ((1, 7, 5), (7, 5)), ((2, 7, 5), (2, 7, 5)), ((4, 5), (4, 5)), ((), (1,))],
)
def test_the_mat_of_a_tensor_from_outside(shape: tuple[int, ...], mat: tuple[int, ...]):
    assert usual_shape(shape) == mat


@pytest.mark.parametrize(
    ("out", "shapes", "wanted", "views"),
    [
        ((1, 8, 5, 7), [(1, 8, 5, 7), (8, 1, 1)], None, [(8, 35), (8, 1)]),
        ((1, 8, 5, 7), [(1, 8, 5, 7), (8, 1, 1)], (8, 5, 7), [(8, 5, 7), (8, 1, 1)]),
        ((2, 8, 5, 7), [(2, 8, 5, 7), (8, 1, 1)], (16, 5, 7), [(2, 8, 35), (1, 8, 1)]),
        ((3, 4), [(3, 1), (4,)], None, [(3, 1), (1, 4)]),
        ((2, 3, 2, 3, 2), [(2, 1, 2, 1, 2), (1, 3, 1, 3, 1)], None, None),
        ((), [(), ()], None, [(1,), (1,)]),
    ],
)
def test_operands_of_unequal_ranks_get_equal_ones(out, shapes, wanted, views):
    assert broadcast(out, shapes, wanted) == views


def test_axes_that_stay_together_are_merged():
    assert merged_permutation((1, 6, 4, 5), (0, 2, 3, 1)) == ((6, 20), (1, 0))
    assert merged_permutation((2, 1, 3), (0, 2, 1)) == ((6,), (0,))
    assert groups_of((2, 3, 1, 4), (1, 3)) == [(2, False), (12, True)]


def test_rows_of_a_product_take_in_a_batch_that_the_other_operand_has_not():
    assert product_shapes((2, 3, 5, 7), (7, 4)) == ((30, 7), (7, 4))
    assert product_shapes((1, 3, 5, 7), (3, 7, 4)) == ((3, 5, 7), (3, 7, 4))
    assert product_shapes((7,), (7,)) == ((1, 7), (7, 1))
    assert product_shapes((5, 7), (3, 7, 4)) is None
