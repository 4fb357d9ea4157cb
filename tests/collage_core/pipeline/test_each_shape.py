"""The dry run and the list of candidates over several shapes: each by itself, all together, and a mistake that names its shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.documents.json_form import to_json
from collage_core.errors import CollageError
from collage_core.events import Event, Note
from collage_core.options import Options
from collage_core.pipeline.dry_run import dry_run
from collage_core.pipeline.each_shape import dry_run_at_shapes, find_at_shapes
from tests.helpers.command import document_of, in_this_process
from tests.helpers.dynamic_encoder import dynamic_encoder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dynamic_encoder(tmp_path_factory.mktemp("encoder"))


def options(shape: str, **more: object) -> Options:
    return Options(("onnxruntime",), shapes={"ids": shape}, **more)  # type: ignore[dict-item,arg-type]


def test_the_dry_run_of_several_shapes_has_each_and_their_sums(encoder: Path) -> None:
    told: list[Event] = []
    found = to_json(dry_run_at_shapes(encoder, options("1,{8,32}", budget_s=60.0), told.append))
    alone = to_json(dry_run(encoder, options("1,8", budget_s=30.0)))
    assert list(found["shapes"]) == ["seq=8", "seq=32"]
    assert found["shapes"]["seq=8"]["targets"] == alone["targets"]
    assert found["shapes"]["seq=8"]["budget_s"] == 30.0
    for key in ("builds_at_most", "seconds_at_most", "budget_s"):
        assert found[key] == sum(one[key] for one in found["shapes"].values())
    assert found["targets"][0]["unique"] == sum(one["targets"][0]["unique"] for one in found["shapes"].values())
    assert found["model"]["inputs"][0]["shape"] == [1, 32]
    assert found["basis"].startswith("added up over 2 shapes, each like this: ")
    assert any("2 shapes are planned for" in event.text for event in told if isinstance(event, Note))


def test_the_candidates_of_several_shapes(encoder: Path) -> None:
    found = find_at_shapes(encoder, options("1,{8,32}", costs="none"))
    assert found.shapes is not None
    assert {name: one.model.inputs[0].shape for name, one in found.shapes.items()} == {"seq=8": (1, 8), "seq=32": (1, 32)}
    assert found.candidates == found.shapes["seq=32"].candidates != ()
    assert "shapes" not in to_json(find_at_shapes(encoder, options("1,8", costs="none")))


def test_a_mistake_names_its_shape(encoder: Path) -> None:
    with pytest.raises(CollageError, match=r"^at seq=300: "):
        dry_run_at_shapes(encoder, options("1,{8,300}", costs="roofline"))


def test_the_commands_print_every_shape(encoder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = (encoder, "--targets", "onnxruntime", "--shape", "ids=1,{8,32}")
    status, out, _ = in_this_process(capsys, "candidates", *given)
    assert status == 0
    assert [line for line in out.splitlines() if line.startswith("shape ")] == ["shape seq=8", "shape seq=32"]
    status, out, _ = in_this_process(capsys, "partition", *given, "--dry-run", "--costs", "roofline")
    assert status == 0
    assert [line for line in out.splitlines() if line.startswith(("shape ", "all "))] == [
        "shape seq=8",
        "shape seq=32",
        "all 2 shapes at most, since what they have in common is measured once:",
    ]
    assert list(document_of(capsys, "candidates", *given)["shapes"]) == ["seq=8", "seq=32"]
