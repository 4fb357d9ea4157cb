"""What importing the package does to the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from collage_core.model.samples.registry import SAMPLES

SESSION = """
import sys
import collage_core
import onnxruntime
onnxruntime.InferenceSession(sys.stdin.buffer.read())
"""


def test_onnx_runtime_keeps_nothing_about_the_users_models(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_DATA_HOME": str(tmp_path / "data")}
    model = SAMPLES["mini_mnist"].build().SerializeToString()
    subprocess.run([sys.executable, "-c", SESSION], input=model, env=environment, check=True, timeout=120)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
