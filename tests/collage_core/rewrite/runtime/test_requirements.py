"""The packages that an artifact needs: versions that pip has, and the command that brings them."""

from __future__ import annotations

from importlib import metadata

import pytest
from collage_test_toolchains import Numpy

from collage_core.rewrite.runtime.requirements import pip_command, released, requirements_text
from collage_core.toolchains.registry import get


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.31.1+collage.3", "1.31.1"),
        ("1.31.1+collage.3.int8.1", "1.31.1"),
        ("scipy-1.17.1+collage.1", "1.17.1"),
        ("0.27.0.post1+collage.5", "0.27.0.post1"),
        ("2023.2.0", "2023.2.0"),
    ],
)
def test_the_release_of_a_version_is_one_that_pip_has(version: str, expected: str) -> None:
    assert released(version) == expected


def test_each_package_is_listed_once_without_a_local_suffix(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {"numpy": "2.3.0", "onnxruntime": "1.31.1+cu12", "apache-tvm": "0.27.0", "apache-tvm-ffi": "0.1.14"}

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(metadata, "version", version)
    tools = [get("tvm"), get("onnxruntime@int8-dynamic"), get("onnxruntime"), get("blas")]
    assert requirements_text(tools) == "apache-tvm==0.27.0\napache-tvm-ffi==0.1.14\nnumpy==2.3.0\nonnxruntime==1.31.1\n"


def test_the_command_names_the_version_that_built() -> None:
    assert pip_command(get("tvm"), "0.27.0.post1+collage.5") == "pip install apache-tvm==0.27.0.post1"
    assert pip_command(Numpy(), "1") == "", "a toolchain of which nobody says where pip has it"
