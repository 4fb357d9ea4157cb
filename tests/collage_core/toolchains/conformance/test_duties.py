"""An author's run of the duties: the toolchain of docs/toolchains.md passes, and one that errs fails where it does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.paths import DOCS, ROOT

PACKAGE = ROOT / "examples" / "toolchain"


def failed(folder: Path, reference: str, test: str) -> tuple[set[str], str]:
    """Run the file `test` as an author would, outside of this repository; return the tests that fail, and all that pytest wrote."""
    (folder / "test_mine.py").write_text(test)
    path = os.pathsep.join([str(folder), str(PACKAGE)])
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "--import-mode=importlib", "test_mine.py"]
    variables = {**os.environ, "PYTHONPATH": path, "COLLAGE_TOOLCHAINS": reference}
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=variables)
    assert "passed" in ran.stdout, ran.stdout + ran.stderr
    return set(re.findall(r"^FAILED test_mine\.py::\w+::(\w+)", ran.stdout, re.M)), ran.stdout


@pytest.mark.long
def test_the_toolchain_of_the_page_does_its_duties(tmp_path: Path):
    page = (DOCS / "toolchains.md").read_text()
    found = re.search(r"<!-- example: test_numpy_toolchain.py -->\n```python\n(.*?)```", page, re.S)
    assert found
    test = found[1].replace("    @pytest.fixture", "    every = 40\n    chains = 5\n\n    @pytest.fixture")
    failures, text = failed(tmp_path, "numpy_toolchain:NumpyToolchain", test)
    assert failures == set(), text
    assert "skipped" not in text


WRONG = """
import numpy as np
from numpy_toolchain import NumpyToolchain

class Wrong(NumpyToolchain):
    name = "wrong"

    def load(self, package, inputs, outputs, threads):
        return {fault}(super().load(package, inputs, outputs, threads))

class Copies:
    def __init__(self, kernel):
        self.kernel = kernel

    def bind(self, inputs, outputs):
        self.kernel.bind([np.array(inputs[0])], outputs)

    def run(self):
        self.kernel.run()

class Changes:
    def __init__(self, kernel):
        self.kernel, self.bind = kernel, kernel.bind

    def run(self):
        self.kernel.run()
        self.kernel.arrays[0][...] = 0
"""

TEST = """
import pytest
from collage_core.toolchains.conformance.duties import ToolchainDuties
from wrong import Wrong

class TestWrong(ToolchainDuties):
    @pytest.fixture
    def toolchain(self):
        return Wrong()
"""


@pytest.mark.parametrize(
    ("fault", "duty"),
    [
        ("Copies", "test_reads_and_writes_the_bound_buffers"),
        pytest.param("Changes", "test_takes_buffers_that_are_not_aligned_and_inputs_that_are_read_only", marks=pytest.mark.long),
    ],
)
def test_a_toolchain_that_errs_fails_in_that_duty(tmp_path: Path, fault: str, duty: str):
    (tmp_path / "wrong.py").write_text(WRONG.replace("{fault}", fault))
    failures, text = failed(tmp_path, "wrong:Wrong", TEST)
    assert duty in failures, text
