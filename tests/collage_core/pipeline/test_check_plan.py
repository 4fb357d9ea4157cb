"""`check_plan`: what is asked of an old plan, and what is said where it does not hold. Building it is `apply`'s, tested there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collage_core.cost.database.records import machine_id
from collage_core.documents.verify import Verify
from collage_core.errors import AccuracyError, CollageError
from collage_core.events import Event, Note
from collage_core.options import Options
from collage_core.pipeline import check_plan as checking
from collage_core.pipeline.check_plan import ATTEMPTS, SlowerError, check_plan
from collage_core.pipeline.partition import partition
from collage_core.pipeline.shapes.apply_shapes import apply
from collage_core.rewrite.plan import PlannedTarget, read_plan
from collage_core.toolchains import registry
from collage_core.version import __version__

Answers = Callable[..., None]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """The folder of a run over the mini-MNIST with costs from a file, as if this machine had measured them."""
    out, costs = tmp_path / "out", tmp_path / "costs.json"
    costs.write_text(json.dumps({"targets": {"onnxruntime": {"op_s": 1e-4}}}))
    record = partition("mini_mnist", Options(("onnxruntime",), costs=f"mock:{costs}"))
    record.plan = record.plan.model_copy(update={"machine": machine_id()})
    verify = replace(record.document.verify, measured_s=1e-3, interval_s=1e-5)
    record.document = replace(record.document, verify=verify)
    out.mkdir()
    record.save(out)
    return out


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Have the plan, once built, take these seconds, one after another."""

    def give(*seconds: float) -> Iterator[float]:
        left = iter(seconds)

        def built(*_: Any) -> Verify:
            return Verify(max_rel_error=1e-7, measured_s=next(left), interval_s=1e-5)

        monkeypatch.setattr(checking, "apply", built)
        return left

    return give  # type: ignore[return-value]


def test_a_plan_that_takes_as_long_as_it_did_holds(made: Path, answers: Answers) -> None:
    answers(1.04e-3)
    found = check_plan(made, "mini_mnist", 0.05)
    assert found.to_json() == {
        "schema": 1,
        "holds": True,
        "max_rel_error": 1e-7,
        "measured_s": 1.04e-3,
        "interval_s": 1e-5,
        "expected_s": 1e-3,
        "basis": "measured",
        "shipped": None,
        "changed": (),
        "sets": (),
    }


def test_one_that_is_slower_time_after_time_does_not(made: Path, answers: Answers) -> None:
    answers(*[1.2e-3] * ATTEMPTS)
    with pytest.raises(SlowerError, match=r"takes 1\.2 ms, 20% longer than the 1 ms measured when it was made; 5% is allowed") as caught:
        check_plan(made / "plan.json", "mini_mnist", 0.05)
    assert (caught.value.exit_status, caught.value.code) == (3, "slower")


def test_a_machine_that_is_busy_for_a_moment_is_no_reason(made: Path, answers: Answers) -> None:
    left = answers(2e-3, 1.01e-3)
    assert check_plan(made, "mini_mnist", 0.05).measured_s == 1.01e-3
    assert next(left, None) is None  # type: ignore[call-overload]


def test_what_both_times_may_be_off_is_no_difference(made: Path, answers: Answers) -> None:
    answers(1.061e-3)
    assert check_plan(made, "mini_mnist", 0.05).measured_s == 1.061e-3


def test_without_the_run_beside_it_the_prediction_counts(made: Path, answers: Answers, tmp_path: Path) -> None:
    alone = tmp_path / "alone.json"
    plan = read_plan(made / "plan.json")
    plan.write(alone)
    answers(plan.total_s)
    assert check_plan(alone, "mini_mnist", 0.05).basis == "predicted"


def test_times_of_another_machine_are_not_compared_and_the_rest_is(made: Path, answers: Answers) -> None:
    read_plan(made / "plan.json").model_copy(update={"machine": "a mainframe"}).write(made / "plan.json")
    answers(7.0)
    with pytest.raises(CollageError, match="times are those of a mainframe; this is"):
        check_plan(made, "mini_mnist", 0.05)
    assert check_plan(made, "mini_mnist").expected_s is None


def test_a_plan_that_does_not_fit_or_errs_says_so(made: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CollageError, match="the plan is for the model 'mini_mnist'"):
        check_plan(made, "mnist")

    def errs(*_: Any) -> dict[str, Any]:
        raise AccuracyError("the partitioned model is wrong")

    monkeypatch.setattr(checking, "apply", errs)
    with pytest.raises(AccuracyError, match="is wrong"):
        check_plan(made, "mini_mnist", 0.05)


def test_versions_that_changed_are_named(made: Path, answers: Answers) -> None:
    plan = read_plan(made / "plan.json")
    assert plan.version == __version__
    targets = (*(target.model_copy(update={"version": "1.0"}) for target in plan.targets), PlannedTarget(name="tvm", version="0.1"))
    plan.model_copy(update={"version": "0.0.9", "targets": targets}).write(made / "plan.json")
    answers(1e-3)
    told: list[Event] = []
    found = check_plan(made, "mini_mnist", None, told.append)
    now = registry.get("onnxruntime").availability().version
    assert [(one.name, one.then, one.now) for one in found.changed] == [
        ("collage-explorer", "0.0.9", __version__),
        ("onnxruntime", "1.0", now),
    ]
    assert Note(f"onnxruntime was 1.0 when the plan was made, and is {now} now") in told


def test_the_artifact_beside_the_plan_is_opened_as_it_lies_there(made: Path, answers: Answers) -> None:
    folder = made / "shipped"
    apply(read_plan(made / "plan.json"), "mini_mnist", folder, form="pieces")
    answers(*[1e-3] * 3)
    found = check_plan(folder, "mini_mnist")
    assert found.shipped is not None
    assert found.shipped.folder == str(folder)
    assert found.shipped.max_rel_error < 1e-3
    assert found.shipped.measured_s > 0

    manifest = (folder / "artifact.json").read_text()
    assert json.loads(manifest)["about"]["model"]["assumed"] == {"batch": 1}
    of_before = json.loads(manifest)
    of_before["partitions"][0]["version"] = "1.0"
    (folder / "artifact.json").write_text(json.dumps(of_before))
    with pytest.raises(CollageError, match=r"the artifact was built with onnxruntime 1\.0, run with") as caught:
        check_plan(folder, "mini_mnist")
    assert caught.value.code == "other_version"

    (folder / "artifact.json").write_text(manifest)
    package = next((folder / "partitions").iterdir())
    package.write_bytes(b"x" + package.read_bytes()[1:])
    with pytest.raises(CollageError, match=package.name) as caught:
        check_plan(folder, "mini_mnist")
    assert caught.value.code == "damaged"
