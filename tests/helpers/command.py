"""The command `collage` in a process of its own, with a folder of data of its own and the test toolchains within reach."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.helpers.paths import PLUGINS

COLLAGE = Path(sys.executable).with_name("collage")


def environment(home: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(PLUGINS), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "COLLAGE_HOME": str(home), "PYTHONPATH": path, **more}


def collage(home: Path, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    command = [str(COLLAGE), *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(home, **more), check=False, timeout=600)


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
