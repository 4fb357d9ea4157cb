"""A fresh virtual environment that has the wheel of the runtime, numpy, and the toolchains that are named, without a network."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import runtime_wheel


def runtime_python(folder: Path, toolchains: Iterable[str]) -> Path:
    """Make the environment in `folder`, and return its Python. Packages of this environment are linked, as pip would install them."""
    venv.create(folder / "environment", symlinks=True)
    python = folder / "environment" / "bin" / "python"
    wheel = runtime_wheel.build(folder / "wheel")
    install = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install", "--quiet"]
    subprocess.run([*install, "--no-index", "--no-deps", str(wheel)], check=True)
    (site,) = (folder / "environment" / "lib").glob("python*/site-packages")
    for name in ("numpy", *toolchains):
        package = Path(find_spec(name).origin or "").parent  # type: ignore[union-attr]
        for path in package.parent.glob(f"{name}*"):
            (site / path.name).symlink_to(path)
    return python
