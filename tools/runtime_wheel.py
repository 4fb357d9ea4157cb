"""Builds the wheel ``collage-runtime`` (``make runtime-wheel``): what runs and serves exported artifacts, and nothing else.

The sources enter; a wheel leaves. Its modules are this package's own, under the same names, so it is installed in place of
``collage-explorer`` and never beside it. It depends on numpy alone: the toolchains that an artifact needs, and the server
(`serve`), are extras, in the same versions.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "collage-runtime"
ROOMS = ("base", "graph", "model", "rewrite/runtime", "rules", "serving", "toolchains")
"""Folders of ``collage_core`` that are in the wheel, with the folders inside them, but for these:"""
LEFT_OUT = ("base/isolation", "model/relax", "model/relax/operators", "model/samples", "model/view", "toolchains/conformance")
FRONT_DOOR = ("__init__.py", "errors.py", "version.py", "rewrite/__init__.py")
EXTRAS = ("ncnn", "onednn", "openvino", "tvm")
"""Optional dependencies of the whole package that an artifact may need."""


def main() -> None:
    """Build the wheel into ``dist``, or into the folder that is given, and print its path."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    print(build(out))


def build(out: Path) -> Path:
    """Build the wheel into `out`, without asking the network, and return its path."""
    with tempfile.TemporaryDirectory(prefix="collage-runtime-") as folder:
        stage = Path(folder)
        copy_sources(stage)
        (stage / "pyproject.toml").write_text(project_text(tomllib.loads((ROOT / "pyproject.toml").read_text())))
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(stage / "made")]
        subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", *options, str(stage)], check=True)
        (made,) = (stage / "made").glob("*.whl")
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(made, out))


def folders() -> list[str]:
    """Return the folders of ``collage_core`` whose files are in the wheel, sorted."""
    source = ROOT / "collage_core"
    found = {path.parent.relative_to(source).as_posix() for room in ROOMS for path in (source / room).rglob("__init__.py")}
    return sorted(found - set(LEFT_OUT))


def copy_sources(stage: Path) -> None:
    """Copy the files of the wheel below `stage`."""
    source = ROOT / "collage_core"
    chosen = [source / name for name in FRONT_DOOR]
    for room in folders():
        chosen += [path for path in (source / room).iterdir() if path.suffix in (".py", ".c", ".h", ".json")]
    for path in chosen:
        copied = stage / path.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copied)
    shutil.copyfile(ROOT / "LICENSE", stage / "LICENSE")


def project_text(whole: Mapping[str, dict]) -> str:
    """Return the ``pyproject.toml`` of the wheel, from that of the whole package."""
    project = whole["project"]
    numpy = [line for line in project["dependencies"] if line.startswith("numpy")]
    onnxruntime = [line for line in project["dependencies"] if line.startswith("onnxruntime")]
    waitress = [line for line in project["dependencies"] if line.startswith("waitress")]
    extras = {"onnxruntime": onnxruntime, "serve": waitress, **{name: project["optional-dependencies"][name] for name in EXTRAS}}
    points = project["entry-points"]["collage.toolchains"]
    packages = ["collage_core", "collage_core.rewrite", *(f"collage_core.{room.replace('/', '.')}" for room in folders())]
    lines = [
        "[build-system]",
        f"requires = {json.dumps(whole['build-system']['requires'])}",
        'build-backend = "setuptools.build_meta"',
        "[project]",
        f'name = "{NAME}"',
        'description = "Runs and serves the artifacts of Collage Explorer"',
        f"license = {json.dumps(project['license'])}",
        'license-files = ["LICENSE"]',
        f"requires-python = {json.dumps(project['requires-python'])}",
        'dynamic = ["version"]',
        f"dependencies = {json.dumps(numpy)}",
        "[project.optional-dependencies]",
        *(f"{name} = {json.dumps(needs)}" for name, needs in extras.items()),
        "[project.scripts]",
        'collage-serve = "collage_core.serving.__main__:main"',
        '[project.entry-points."collage.toolchains"]',
        *(f"{json.dumps(name)} = {json.dumps(reference)}" for name, reference in points.items()),
        "[tool.setuptools]",
        f"packages = {json.dumps(packages)}",
        "[tool.setuptools.package-data]",
        '"collage_core.toolchains.libraries" = ["*.c", "*.h"]',
        '"collage_core.toolchains.values" = ["*.json"]',
        "[tool.setuptools.dynamic]",
        'version = { attr = "collage_core.version.__version__" }',
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
