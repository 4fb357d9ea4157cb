"""A file that is a program is opened after a question, or with ``--trust``; each command that opens a model asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from collage_core.cli import trust
from collage_core.cli.main import collage
from collage_core.cli.trust import check_trust
from collage_core.errors import CollageError
from tests.helpers.command import in_this_process

WORDS = "is a program: opening it runs what is in it, which can do whatever you can on this machine"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "net.py"
    path.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    return path


COMMANDS = [
    ("partition", "{}", "--targets", "onnxruntime"),
    ("candidates", "{}", "--targets", "onnxruntime"),
    ("apply", "plan.json", "{}", "--out", "out"),
    ("check", "{}", "--against", "plan.json"),
    ("survey", "mini_mnist", "{}", "--targets", "onnxruntime"),
    ("explore", "{}"),
    ("explore", "run", "--model", "{}"),
    ("report", "run", "--model", "{}"),
    ("session", "{}", "-o", "out.collage"),
    ("session", "run", "-o", "out.collage", "--model", "{}"),
    ("explain", "plan.json", "--undecided", "--measure", "{}"),
    ("toolchains", "--inspect", "tensorrt", "{}"),
    ("export", "run", "--as", "onnx", "--model", "{}"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_each_command_asks(capsys: pytest.CaptureFixture[str], program: Path, command: tuple[str, ...]) -> None:
    status, _, errors = in_this_process(capsys, *(part.format(program) for part in command))
    assert status == 2
    assert errors.splitlines() == [f"error: '{program}' {WORDS}", "hint: give --trust if you trust its author"]
    assert not program.with_name("ran").exists()


def test_each_command_with_a_model_has_the_option() -> None:
    """None that takes a model's file is forgotten."""
    takes = {"model", "models", "run_model", "MODEL", "MODEL_OR_RUN", "NAME MODEL"}
    for name in collage.commands:
        parameters = collage.commands[name].params
        if any(parameter.name in takes or parameter.metavar in takes for parameter in parameters):
            assert any(parameter.name == "trust" for parameter in parameters), name


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A terminal whose user gives these answers."""
    answers, asked = list[str](), SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(trust, "sys", SimpleNamespace(stdin=asked, stderr=asked))

    def confirm(question: str, **_: Any) -> bool:
        assert question == "Open it?"
        return answers.pop() == "y"

    monkeypatch.setattr(click, "confirm", confirm)
    yield answers
    assert answers == []


def test_on_a_terminal_the_user_is_asked(terminal: list[str], program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.append("y")
    check_trust(str(program))
    assert capsys.readouterr().err == f"'{program}' {WORDS}.\n"
    terminal.append("n")
    with pytest.raises(CollageError, match="was not opened"):
        check_trust(str(program))


@pytest.mark.parametrize("name", ["net.onnx", "net.json", "net.tflite", "py"])
def test_other_files_are_no_programs(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    check_trust(str(tmp_path / name))
    check_trust(str(tmp_path / "missing.py"))
