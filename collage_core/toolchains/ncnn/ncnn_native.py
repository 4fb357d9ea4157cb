"""ncnn's own files of a package, ``model.param`` and ``model.bin``: makes them with a loader, and opens them as a kernel again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...model.model import SubModel
from ..border import one_line
from ..native_files import NativeFiles, loader_text
from ..toolchain import Kernel, ToolchainError
from .ncnn_kernel import SPIN_COUNT, NetworkKernel, Package, option_values

PARAMETERS, WEIGHTS = "model.param", "model.bin"

_LOADER = """
import os
from pathlib import Path

os.environ.setdefault("GOMP_SPINCOUNT", {spin!r})
import ncnn
import numpy as np

INPUTS = {inputs}
OUTPUTS = {outputs}
net = ncnn.Net()
for name, value in {options}.items():
    setattr(net.opt, name, value)
folder = Path(__file__).parent
if net.load_param(str(folder / "{parameters}")) or net.load_model(str(folder / "{weights}")):
    raise RuntimeError("ncnn does not load the network")


def run(inputs):
    \"""Return arrays by output name for float32 arrays by input name.\"""
    extractor, made = net.create_extractor(), {{}}
    for name, (blob, shape) in INPUTS.items():
        extractor.input(blob, ncnn.Mat(np.ascontiguousarray(inputs[name], np.float32).reshape(shape)).clone())
    for name, (blob, shape) in OUTPUTS.items():
        code, mat = extractor.extract(blob)
        if code:
            raise RuntimeError(f"ncnn could not run the network (code {{code}})")
        made[name] = np.array(mat).reshape(shape)
    return made
"""


def files_of(package: Package, model: SubModel, threads: int, version: str) -> NativeFiles:
    """Return `package`, which is that of `model`, as files."""
    inputs = {
        tensor.name: (entry.blob, entry.shape) for tensor, entry in zip(model.inputs, package.inputs, strict=True) if entry.blob is not None
    }
    outputs = {tensor.name: (blob, tensor.type.shape) for tensor, (blob, _) in zip(model.outputs, package.outputs, strict=True)}
    body = _LOADER.format(
        spin=SPIN_COUNT,
        inputs=inputs,
        outputs=outputs,
        options=option_values(package.options, threads),
        parameters=PARAMETERS,
        weights=WEIGHTS,
    )
    settings = {"threads": threads, **package.described()}
    files = {PARAMETERS: package.text.encode(), WEIGHTS: package.weights}
    return NativeFiles(files, settings, loader_text("ncnn", f"ncnn {version} and numpy", body))


def opened(path: Path, settings: Mapping[str, Any]) -> Kernel:
    """Return the kernel of the files at `path`. Raises ToolchainError at stage ``build``."""
    try:
        package = Package.from_description(settings, path.read_text(), path.with_suffix(Path(WEIGHTS).suffix).read_bytes())
        threads = int(settings["threads"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ToolchainError("build", one_line(error)) from error
    return NetworkKernel(package, threads)
