"""The shapes that are planned for: dimensions of one symbol, sizes of ranges, contradictions, and the shapes of real inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.base.sizes import shape_from
from collage_core.errors import CollageError
from collage_core.model.onnx_model import load_model
from collage_core.model.sizes.planned_shapes import MOST_SHAPES, planned_shapes, read_dimensions, traffic_shapes
from tests.helpers.dynamic_encoder import dynamic_encoder

FILE = {"ids": ["batch", "seq"], "mask": ["batch", "seq"], "image": ["batch", "3", "?", "?"]}


def shapes_of(**said: str) -> list[dict[str, tuple[int, ...]]]:
    _, shapes = planned_shapes(FILE, {name: shape_from(text, name) for name, text in said.items()})
    assert sum(shape.weight for shape in shapes) == pytest.approx(1)
    return [dict(shape.shapes) for shape in shapes]


def test_a_symbol_has_one_size_in_all_inputs() -> None:
    assert shapes_of(ids="1,{16,64}", mask="1,{16,64}") == [{"ids": (1, n), "mask": (1, n)} for n in (16, 64)]


def test_an_input_that_shares_a_symbol_follows_without_being_named(tmp_path: Path) -> None:
    path = dynamic_encoder(tmp_path)
    _, shapes = planned_shapes(read_dimensions(path), {"ids": shape_from("1,{16,64}", "ids")})
    for shape, length in zip(shapes, (16, 64), strict=True):
        inputs = {tensor.name: tensor.type.shape for tensor in load_model(path, shape.shapes).graph.inputs}
        assert inputs == {"ids": (1, length), "mask": (1, length)}
        assert shape.name == f"seq={length}"


def test_dimensions_without_a_symbol_are_not_tied() -> None:
    assert len(shapes_of(image="1,3,{32,64},{32,64}")) == 4


def test_a_range_is_taken_at_a_few_sizes_and_a_set_at_all() -> None:
    assert [shape["ids"][1] for shape in shapes_of(ids="1,1..8")] == [1, 2, 4, 8]
    assert [shape["ids"] for shape in shapes_of(ids="1..16,16..64")] == [(b, n) for b in (1, 4, 16) for n in (16, 32, 64)]
    assert len(shapes_of(ids="1,{1,2,3,5,8,13}")) == 6


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"ids": "1,{16,64}", "mask": "1,{16,32}"}, "'ids' and 'mask' share the dimension 'seq', and --shape gives it {16,64} and {16,32}"),
        ({"ids": "1,{16,64}", "mask": "1,16"}, "'ids' and 'mask' share the dimension 'seq', and --shape gives it {16,64} and 16"),
        ({"image": "1,1..3,9,9"}, "the shape '1,1..3,9,9' of input 'image' has 1..3 in dimension 1, the model fixes it to 3"),
        ({"ids": "1,{2,3},4"}, "the shape '1,{2,3},4' of input 'ids' has 3 dimensions, not 2"),
        ({"ids": "{1,2,3,4,5},{1,2,3,4}"}, f"these are 20 shapes (5 of batch times 4 of seq), at most {MOST_SHAPES} are planned for"),
    ],
)
def test_a_contradiction_is_one_line(said: dict[str, str], words: str) -> None:
    with pytest.raises(CollageError) as error:
        shapes_of(**said)
    assert words in error.value.message


def test_real_inputs_give_their_shapes_with_their_weights() -> None:
    files = [(Path(f"{n}-{number}.npz"), {"ids": (1, n), "mask": (1, n)}) for n in (64, 16) for number in range(3 if n == 16 else 1)]
    shapes, others = traffic_shapes(FILE, files)
    assert [(shape.shapes["ids"], shape.weight, str(shape.inputs)) for shape in shapes] == [
        ((1, 16), 0.75, "16-0.npz"),
        ((1, 64), 0.25, "64-0.npz"),
    ]
    assert others == 0


def test_of_many_real_shapes_the_most_frequent_are_taken() -> None:
    files = [(Path("a.npz"), {"ids": (1, n)}) for n in range(1, MOST_SHAPES + 5) for _ in range(1 + (n > 4))]
    shapes, others = traffic_shapes(FILE, files)
    assert [shape.shapes["ids"][1] for shape in shapes] == list(range(5, MOST_SHAPES + 5))
    assert others == pytest.approx(4 / len(files))


def test_real_inputs_that_contradict_themselves_are_named() -> None:
    with pytest.raises(CollageError, match="'ids' has 16 for 'seq', and 'mask' has 32") as error:
        traffic_shapes(FILE, [(Path("bad.npz"), {"ids": (1, 16), "mask": (1, 32)})])
    assert "'bad.npz'" in error.value.message
