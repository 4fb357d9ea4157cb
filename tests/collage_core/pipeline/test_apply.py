"""`apply` verifies a plan on the user's own inputs, and `candidates` takes their shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.events import ignore
from collage_core.options import Options
from collage_core.pipeline.apply import apply
from collage_core.pipeline.discover import find
from collage_core.pipeline.searched_run import SearchedRun
from collage_core.pipeline.shapes.apply_shapes import apply as apply_shapes
from collage_core.pipeline.whole import assemble_and_verify
from collage_core.rewrite.plan import Plan, ShapePlan
from collage_core.rewrite.runtime.artifact_calls import describe_artifact, run_loader
from collage_core.rewrite.runtime.manifest import read_manifest
from collage_core.toolchains.registry import get
from tests.helpers.models import model_of, write

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)

TEXT = "g (float[n,4] x, int64[2] s) => (float[a,b] y) { [r] r = Relu(x) [t] y = Reshape(r, s) }"


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Path, Path]:
    """A plan that was made with the user's inputs, its model, and these inputs."""
    folder = tmp_path_factory.mktemp("own")
    source, inputs = write(folder, model_of(TEXT)), folder / "inputs.npz"
    np.savez(inputs, x=np.arange(12, dtype=np.float32).reshape(3, 4), s=np.array([6, 2]))
    run = SearchedRun(source, Options(targets=("onnxruntime",), costs="roofline", inputs=inputs), ignore)
    try:
        return run.record(run.search(run.cost())).plan, source, inputs
    finally:
        run.close()


@pytest.mark.long
def test_an_artifact_is_verified_on_the_users_inputs(planned: tuple[Plan, Path, Path], tmp_path: Path) -> None:
    plan, source, inputs = planned
    verify = apply(plan, source, tmp_path / "out", inputs=inputs)
    assert verify.max_rel_error == 0
    kept = describe_artifact(tmp_path / "out")["seeded"]
    assert (kept["x"][2, 3], kept["s"].tolist()) == (11, [6, 2])


def test_an_artifact_has_the_form_that_is_asked_for_and_its_loader_is_verified_too(
    planned: tuple[Plan, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, source, inputs = planned
    ran: list[str] = []
    plain = assemble_and_verify.in_worker

    def watched(pool: object, name: str, *given: object, **more: object) -> object:
        ran.append(name)
        return plain(pool, name, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(assemble_and_verify, "in_worker", watched)
    verify = apply(plan, source, tmp_path / "out", inputs=inputs, form="auto")
    assert verify.max_rel_error == 0
    assert "loader" in ran
    assert read_manifest(tmp_path / "out").form == "native"
    assert {"artifact.json", "load.py", "model.onnx", "plan.json"} <= {path.name for path in (tmp_path / "out").iterdir()}
    got = run_loader(tmp_path / "out" / "load.py", dict(np.load(inputs)))
    np.testing.assert_array_equal(got["y"], np.arange(12, dtype=np.float32).reshape(6, 2))


def test_a_file_of_the_users_own_is_not_replaced_by_native_files(planned: tuple[Plan, Path, Path], tmp_path: Path) -> None:
    plan, source, inputs = planned
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(CollageError) as caught:
        apply(plan, source, tmp_path, inputs=inputs, form="native")
    assert caught.value.message == f"the folder {str(tmp_path)!r} has a file 'README.md' of its own, which an artifact may have too"
    assert (tmp_path / "README.md").read_text() == "mine"


def test_a_plan_of_several_shapes_has_modules(planned: tuple[Plan, Path, Path], tmp_path: Path) -> None:
    plan, source, _ = planned
    several = plan.model_copy(update={"by_shape": (ShapePlan(name="one", weight=1.0, plan=plan),)})
    with pytest.raises(CollageError, match="an artifact for 1 shapes is made of modules, it cannot be native"):
        apply_shapes(several, source, tmp_path / "out", form="native")


def test_inputs_of_another_shape_than_the_plans_are_refused(planned: tuple[Plan, Path, Path], tmp_path: Path) -> None:
    plan, source, _ = planned
    np.savez(tmp_path / "other.npz", x=np.zeros((5, 4), np.float32), s=np.array([5, 4]))
    with pytest.raises(CollageError) as caught:
        apply(plan, source, tmp_path / "out", inputs=tmp_path / "other.npz")
    assert caught.value.message == "the input 'x' has shape [5, 4], not [3, 4]"
    assert not (tmp_path / "out").exists()


def test_candidates_have_the_shapes_of_the_users_inputs(planned: tuple[Plan, Path, Path]) -> None:
    _, source, inputs = planned
    found = find(source, Options(targets=("onnxruntime",), costs="none", inputs=inputs), ignore)
    assert [tensor.shape for tensor in found.model.inputs] == [(3, 4), (2,)]
    (tiled,) = found.model.outputs
    assert (tiled.shape, tiled.measured_shape) == ((None, None), (6, 2))
