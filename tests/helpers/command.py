"""The command `collage` with a folder of data of its own and the test toolchains within reach: in a process of its own, or in this one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from brief_runs import shorten

from collage_core.cli.main import main
from tests.helpers.paths import PLUGINS

COLLAGE = Path(sys.executable).with_name("collage")


def environment(home: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(PLUGINS), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "COLLAGE_HOME": str(home), "PYTHONPATH": path, **more}


def collage(home: Path, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    command = [str(COLLAGE), *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(home, **more), check=False, timeout=600)


def brief_collage(home: Path, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    """As `collage`, in this process, where everything is imported already, and measuring briefly (`brief_runs`)."""
    out, err = io.StringIO(), io.StringIO()
    command = [str(argument) for argument in arguments]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(home, **more).items():
            patch.setenv(name, value)
        shorten(patch.setattr)
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main(command)
    return subprocess.CompletedProcess(command, int(ended.value.code or 0), out.getvalue(), err.getvalue())


def in_this_process(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of the command, with the folder of data that this process has."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def document_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    status, out, err = in_this_process(capsys, *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
