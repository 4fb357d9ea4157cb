"""Activations as files: what is fetched, how much at once, and that nothing stays behind."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from collage_core.cost.measuring import activations
from collage_core.cost.measuring.activations import ActivationStore
from collage_core.errors import CollageError
from collage_core.graph.dataflow_graph import DataflowGraph, Node, OpPatternKind, Tensor, TensorType
from collage_core.model.row_sets import RowSet

VALUES: dict[str, np.ndarray] = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3),
    "half": np.array([1.5, -2.0], ml_dtypes.bfloat16),
    "flags": np.array([[True, False]]),
    "scalar": np.array(7, np.int64),
    "empty": np.zeros((0, 4), np.float32),
    "large": np.arange(1 << 19, dtype=np.float32),
    "odd/name with spaces": np.ones(3, np.uint8),
}

BOXES = np.arange(12).reshape(4, 3)
BOX_ROWS = RowSet(0, is_ordered=False, moves=0.25)
WORDS = np.array(["a", "b"], object)


class FakeModel:
    """Knows tensors by name, and which of them it was asked for together."""

    def __init__(self) -> None:
        types = {name: TensorType(array.shape, array.dtype.name) for name, array in VALUES.items()}
        types["words"] = TensorType((2,), "string")
        types["boxes"] = types["inner boxes"] = TensorType((15, 3), "int64", (0,))
        tensors = [Tensor(name, kind) for name, kind in types.items()]
        node = Node(0, "all", "Magic", OpPatternKind.OPAQUE, ("x",), tuple(tensors[1:]))
        self.graph = DataflowGraph((node,), (tensors[0],), ("large", "boxes"))
        self.asked: list[list[str]] = []
        self.is_moved = 0

    def row_sets(self, inputs: Mapping[str, np.ndarray]) -> Mapping[str, RowSet]:
        self.is_moved += 1
        return {"boxes": BOX_ROWS}

    def activations(self, inputs: Mapping[str, np.ndarray], names: Iterable[str]) -> dict[str, np.ndarray]:
        self.asked.append(list(names))
        return {name: (VALUES | {"boxes": BOXES, "inner boxes": BOXES, "words": WORDS})[name] for name in self.asked[-1]}


@pytest.fixture
def model() -> FakeModel:
    return FakeModel()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))
    return tmp_path


def store_of(model: FakeModel) -> ActivationStore:
    store: Any = ActivationStore(model, {"x": VALUES["x"]})  # type: ignore[arg-type]
    return store


def test_every_dtype_and_shape_comes_back_as_it_was(model: FakeModel, home: Path) -> None:
    store = store_of(model)
    store.fetch(VALUES)
    for name, array in VALUES.items():
        file = store.file(name)
        assert file is not None
        read = file.read()
        assert (read.dtype, read.shape) == (array.dtype, array.shape)
        assert np.array_equal(read, array)
    store.close()


def test_a_tensor_of_open_shape_has_the_shape_of_this_run(model: FakeModel, home: Path) -> None:
    store = store_of(model)
    store.fetch(["boxes"])
    file = store.file("boxes")
    assert file is not None
    assert file.tensor == Tensor("boxes", TensorType((4, 3), "int64", (0,)))
    assert file.rows == BOX_ROWS, "it is compared as the model says"
    np.testing.assert_array_equal(file.read(), BOXES)
    store.close()


def test_how_far_rows_move_is_asked_for_where_the_model_returns_them(model: FakeModel, home: Path) -> None:
    store = store_of(model)
    store.fetch(["boxes", "inner boxes", "flags"])
    assert store.file("inner boxes").rows == RowSet(0, is_ordered=True, origin=frozenset(["all"]))
    assert (store.file("flags").rows, model.is_moved) == (None, 0), "measuring can begin"
    assert (store.file("boxes").rows, model.is_moved) == (BOX_ROWS, 1)
    store.close()


def test_a_large_one_is_mapped_and_cannot_be_written(model: FakeModel, home: Path) -> None:
    store = store_of(model)
    store.fetch(["large"])
    file = store.file("large")
    assert file is not None
    with pytest.raises(ValueError, match="read-only"):
        file.read()[0] = 1
    store.close()


def test_inputs_are_not_asked_of_the_model_and_nothing_is_asked_twice(model: FakeModel, home: Path) -> None:
    store = store_of(model)
    store.fetch(["x", "half", "half"])
    store.fetch(["flags", "half"])
    assert model.asked == [["half"], ["flags"]]
    with pytest.raises(KeyError):
        store.file("scalar")
    store.close()


def test_what_is_no_plain_memory_comes_back_as_it_was(model: FakeModel, home: Path) -> None:
    store = store_of(model)
    store.fetch(["words", "flags"])
    assert store.file("words").read().tolist() == ["a", "b"]
    assert store.file("flags").read().tolist() == [[True, False]]
    store.close()


def test_only_so_much_is_in_memory_at_once(model: FakeModel, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activations, "CHUNK_BYTES", 10)
    store = store_of(model)
    store.fetch(["half", "flags", "large", "scalar"])
    assert model.asked == [["half", "flags"], ["large"], ["scalar"]]
    store.close()


@pytest.mark.parametrize("end", ["closed", "forgotten"])
def test_no_file_stays_behind(model: FakeModel, home: Path, end: str) -> None:
    store = store_of(model)
    store.fetch(["flags"])
    assert len(list((home / "scratch").iterdir())) == 1
    if end == "closed":
        store.close()
    del store
    gc.collect()
    assert list((home / "scratch").iterdir()) == []


def test_what_a_killed_process_left_behind_goes_with_the_next_folder(model: FakeModel, home: Path) -> None:
    gone, alive, foreign = (home / "scratch" / name for name in (f"{2**22 + 1}-abc", f"{os.getppid()}-abc", "notes"))
    for folder in (gone, alive, foreign):
        folder.mkdir(parents=True)
        (folder / "0.npy").touch()
    store = store_of(model)
    store.fetch(["flags"])
    assert not gone.exists()
    assert alive.exists()
    assert foreign.exists()
    store.close()


def test_full_disk_is_a_mistake_that_names_the_tensor(model: FakeModel, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    store = store_of(model)
    with pytest.raises(CollageError, match="the activations of 'flags' cannot be kept for measuring: No space left on device") as caught:
        store.fetch(["flags"])
    assert caught.value.hint == "make room on the disk, or set COLLAGE_HOME to another folder"
    store.close()
