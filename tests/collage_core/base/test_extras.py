"""The commands that install an extra name packages that a registry has."""

from __future__ import annotations

import subprocess
import tomllib
from importlib import metadata

import pytest

from collage_core.base.extras import install_command
from tests.helpers.paths import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_shell_reads_the_command_as_the_packages_of_the_extra(extra: str):
    words = subprocess.run(["sh", "-c", f"printf '%s\\n' {install_command(extra)}"], capture_output=True, text=True, check=True)
    assert words.stdout.splitlines() == ["pip", "install", *(line.partition(";")[0] for line in EXTRAS[extra])]


def test_the_wheel_that_only_runs_artifacts_is_asked_where_the_whole_package_is_absent(monkeypatch: pytest.MonkeyPatch):
    def requires(name: str) -> list[str]:
        if name == "collage-runtime":
            return ["numpy>=2.0", "ncnn==1; extra == 'ncnn'", "ncnn-more; extra == 'ncnn-more'"]
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert install_command("ncnn") == "pip install ncnn==1"
    assert install_command("tvm") == "install the packages of the extra 'tvm', which docs/dependencies.md lists"
