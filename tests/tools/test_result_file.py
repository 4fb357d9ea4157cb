"""`ResultFile`: an interrupted benchmark goes on where it ended, on the same machine only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from result_file import ResultFile, this_machine

MACHINE = "a machine"


@dataclass(frozen=True)
class Figure:
    """A result."""

    seconds: float = 0.0
    failure: str = ""


def read(data: Mapping[str, Any]) -> Figure:
    return Figure(**data)


def opened(path: Path | None, machine: str = MACHINE) -> ResultFile[Figure]:
    return ResultFile(path, machine, read)


def test_an_interrupted_run_goes_on_without_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    first = opened(path)
    first.add("good", Figure(2.0))
    first.add("broken", Figure(failure="it broke"))
    second = opened(path)
    second.begin(resumes=True)
    assert second.results == {"good": Figure(2.0)}, "what failed is measured again"
    second.add("other", Figure(1.0))
    assert set(json.loads(path.read_text())["results"]) == {"good", "other"}
    assert list(tmp_path.iterdir()) == [path]


def test_results_of_another_machine_or_that_are_none_are_not_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    opened(path).resume()
    opened(path).add("good", Figure(2.0))
    with pytest.raises(ValueError, match=r"holds results of 'a machine', schema 1; this is 'another', schema 1"):
        opened(path, "another").resume()
    with pytest.raises(ValueError, match="is there already: add --resume to go on with it, or remove it"):
        opened(path).begin(resumes=False)
    path.write_text("[]")
    with pytest.raises(ValueError, match="cannot be read as results of this benchmark"):
        opened(path).resume()
    with pytest.raises(ValueError, match="--resume needs --json FILE"):
        opened(None).resume()


def test_without_a_file_results_are_kept_in_memory() -> None:
    file = opened(None)
    file.begin(resumes=False)
    file.add("good", Figure(2.0))
    assert file.results == {"good": Figure(2.0)}


def test_a_machine_is_named_with_its_versions() -> None:
    assert ", numpy 2" in this_machine(("numpy",))
