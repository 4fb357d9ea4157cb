from __future__ import annotations

import os

import pytest

from collage_core.errors import CollageError
from collage_core.toolchains.onnxruntime_cores.core_sets import CORE_SETS, core_sets, core_text, on_cores


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3}, raising=False)
    monkeypatch.delenv(CORE_SETS, raising=False)


def test_the_users_sets_are_the_devices(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(CORE_SETS, "0-2;3")
    assert core_sets() == ((0, 1, 2), (3,))
    assert [core_text(cores) for cores in core_sets()] == ["0-2", "3"]


def test_without_sets_there_is_one_core_and_all_cores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("collage_core.toolchains.onnxruntime_cores.core_sets.usable_cores", lambda: 2)
    assert core_sets() == ((0,), (0, 1))
    monkeypatch.setattr("collage_core.toolchains.onnxruntime_cores.core_sets.usable_cores", lambda: 1)
    assert core_sets() == ((0,),)


@pytest.mark.parametrize("text", ["0-;1", "0;;1", "a", "0,9", "2-1"])
def test_other_texts_are_one_line(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv(CORE_SETS, text)
    with pytest.raises(CollageError) as error:
        core_sets()
    assert error.value.message == f"COLLAGE_CORE_SETS is {text!r}, it must list cores as in 0-1;2,3, of 0-3 here"


def test_a_thread_is_on_its_cores_only_meanwhile(monkeypatch: pytest.MonkeyPatch):
    asked: list[object] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda process, cores: asked.append(cores), raising=False)
    with on_cores((1,)):
        assert asked == [(1,)]
    assert asked == [(1,), {0, 1, 2, 3}]
