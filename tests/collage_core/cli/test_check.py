"""`collage check`: its option, and a whole check with a real toolchain."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.cli.check import share
from collage_core.errors import CollageError
from tests.helpers.command import brief_collage, collage, document


@pytest.mark.parametrize(("text", "found"), [("5%", 0.05), ("0.05", 0.05), ("0%", 0.0), ("150%", 1.5)])
def test_a_share_is_percent_or_a_number(text: str, found: float) -> None:
    assert share(text) == pytest.approx(found)


@pytest.mark.parametrize("text", ["-1%", "nan", "inf", "a lot", "", "%"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(CollageError, match="--slower-than is"):
        share(text)


@pytest.mark.long
def test_a_plan_of_this_machine_holds_and_another_model_is_told(tmp_path: Path) -> None:
    home, out = tmp_path / "home", tmp_path / "out"
    brief_collage(home, "partition", "mini_mnist", "--targets", "onnxruntime", "--out", out)
    found = document(collage(home, "check", "mini_mnist", "--against", out, "--slower-than", "900%", "--json"))
    assert found["holds"]
    assert found["basis"] == "measured"
    assert (found["shipped"]["folder"], found["shipped"]["max_rel_error"] < 1e-3, found["changed"]) == (str(out), True, [])
    assert found["verdict"].startswith("onnxruntime alone")
    other = collage(home, "check", "mnist", "--against", out)
    assert other.returncode == 2
    assert "the plan is for the model 'mini_mnist'" in other.stderr
