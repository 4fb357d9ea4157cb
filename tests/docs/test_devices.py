"""The example of `docs/devices.md`, run as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.command import in_this_process
from tests.helpers.paths import DOCS


def test_the_example_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (DOCS / "devices.md").read_text()
    example = re.search(r"```json devices\n(.*?)```", text, re.DOTALL)
    output = re.search(r"\$ collage devices devices.json\n(.*?)```", text, re.DOTALL)
    assert example
    assert output
    path = tmp_path / "devices.json"
    path.write_text(example[1])
    assert in_this_process(capsys, "devices", path)[:2] == (0, output[1])
