"""`collage toolchains --inspect`: builds the engines of a model with a toolchain of TensorRT, and shows their layers.

All that calls the library happens in a worker process. Needs no GPU; nothing is run and no time is measured.
"""

from __future__ import annotations

from typing import Any

from ..base.counted import counted
from ..base.isolation.worker_errors import WorkerError
from ..errors import CollageError
from ..toolchains.border import availability_of, one_line
from .json_output import print_json, prints_to_stderr
from .say import say

TIMEOUT_S = 1800.0


def show_engines(name: str, source: str, *, as_json: bool) -> None:
    """Print the engines that the toolchain `name` builds from the model `source`, and the nodes that its parser refuses.

    Raises:
        CollageError: the toolchain builds no engines or is not installed, the model cannot be loaded, or the library failed.
    """
    with prints_to_stderr():
        found = {"schema": 1, "toolchain": name, "model": source, **_inspected(name, source)}
    if as_json:
        print_json(found)
    else:
        say("\n".join(_lines(found)))


def _inspected(name: str, source: str) -> dict[str, Any]:
    from ..base.isolation.worker import Worker
    from ..toolchains.registry import get
    from ..toolchains.tensorrt.tensorrt import TensorRtRtxToolchain
    from ..toolchains.tensorrt.tensorrt_build import EngineSettings, inspect_model

    toolchain = get(name)
    if not isinstance(toolchain, TensorRtRtxToolchain):
        raise CollageError(f"the toolchain {name!r} builds no engines to inspect", "choose tensorrt_rtx or tensorrt", "bad_option")
    there = availability_of(toolchain)
    if not there.version:
        raise CollageError(f"{name} cannot build engines here: {there.reason}", there.hint, "target_unavailable")
    try:
        with Worker() as worker:
            settings = EngineSettings(toolchain.library, there.version, toolchain.capability, toolchain.lowers_precision)
            return {"version": there.version, "state": there.reason} | worker.call(
                inspect_model, settings, source, toolchain.engines(), timeout_s=TIMEOUT_S
            )
    except WorkerError as error:
        raise CollageError(f"{name} failed on {source!r}: {one_line(str(error))}", "try another model", "toolchain") from error


def _lines(found: dict[str, Any]) -> list[str]:
    """Return the text form of an inspected model."""
    built = [engine for engine in found["engines"] if "layers" in engine]
    inside = sum(engine["nodes"] for engine in built)
    nodes, engines = counted(found["nodes"], "node"), counted(len(built), "engine")
    lines = [f"{found['model']}: {inside} of {nodes} in {engines} of {found['toolchain']} {found['version']}"]
    lines.append(f"  {found['state']}")
    for number, engine in enumerate(found["engines"], 1):
        is_built = "layers" in engine
        size = f"{engine['bytes']} bytes, {counted(len(engine['layers']), 'layer')}" if is_built else f"not built: {engine['reason']}"
        lines.append(f"  engine {number}: {counted(engine['nodes'], 'node')}, {size}")
        lines += [f"    {layer}" for layer in engine.get("layers", ())]
    return lines + [f"  refused: {node['name']} ({node['op']}): {node['reason']}" for node in found["refused"]]
