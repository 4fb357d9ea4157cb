"""Times one thing that runs a whole model: an exported artifact, or a toolchain alone as its own users run it.

It takes a kind (a key of `KINDS`), a path, a number of threads and a file of inputs as JSON on the command line, and prints one line of
JSON: the seconds (`paired_rounds.low_s` of its runs), or the reason why there are none. `fresh_process` starts it anew each time. Every
kind reads the same arrays where they lie, and all are timed in the same bursts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from collage_core.base.bursts import burst
from collage_core.cost.measuring.paired_rounds import low_s
from collage_core.toolchains.border import build_package, one_line
from collage_core.toolchains.toolchain import ToolchainError

WARM_UP_RUNS = 3
WARM_UP_S = 0.2
FEWEST_RUNS = 5
LONG_ENOUGH_S, LONGEST_S = 1.0, 5.0

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Runnable:
    """A model that is loaded: `run` does one inference, and `outputs` returns what an inference makes, by name."""

    run: Callable[[], Any]
    outputs: Callable[[], Arrays]


def timed(run: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Return the seconds of each run of the bursts after the warm-up: `FEWEST_RUNS` at least, and for `LONG_ENOUGH_S` at least.

    Of a run that takes seconds fewer are enough: the warm-up ends after `LONGEST_S`, and so do the others.
    """

    def bursts(fewest: int, long_enough_s: float) -> list[float]:
        seconds: list[float] = []
        while (len(seconds) < fewest or sum(seconds) < long_enough_s) and sum(seconds) < LONGEST_S:
            seconds += burst(run, clock=clock)
        return seconds

    bursts(WARM_UP_RUNS, WARM_UP_S)
    return bursts(FEWEST_RUNS, LONG_ENOUGH_S)


def artifact(path: Path, threads: int, arrays: Arrays) -> Runnable:
    """Open the artifact in the folder `path`; it was built for its number of threads."""
    from collage_core.rewrite.runtime.artifact import Artifact

    opened = Artifact.open(path)
    return Runnable(opened.bind(arrays), lambda: opened.run(arrays))


def onnxruntime(path: Path, threads: int, arrays: Arrays) -> Runnable:
    """Load the model into a session of ONNX Runtime with all optimisations, which are its defaults; its threads spin as they like."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    binding = session.io_binding()
    for name in [given.name for given in session.get_inputs()]:
        binding.bind_cpu_input(name, arrays[name])
    for name in names:
        binding.bind_output(name)
    run = partial(session.run_with_iobinding, binding)
    return Runnable(run, lambda: dict(zip(names, binding.copy_outputs_to_cpu(), strict=True)))


def openvino(path: Path, threads: int, arrays: Arrays, precision: str = "f32") -> Runnable:
    """Compile the model with OpenVINO for the least latency."""
    import openvino

    from collage_core.toolchains.openvino.openvino import reason

    config = {"INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
    core = openvino.Core()
    try:
        compiled = core.compile_model(core.read_model(path), "CPU", config)
    except RuntimeError as error:
        raise RuntimeError(reason(error)) from error
    request = compiled.create_infer_request()
    for port in compiled.inputs:
        request.set_tensor(port, openvino.Tensor(arrays[port.any_name], shared_memory=True))

    def outputs() -> Arrays:
        # A tensor may have several names, of which only one is that of the model's output.
        return {name: request.get_tensor(port).data.copy() for port in compiled.outputs for name in port.names}

    return Runnable(partial(request.infer, share_outputs=True), outputs)


def ncnn(path: Path, threads: int, arrays: Arrays) -> Runnable:
    """Import the whole model into ncnn as the toolchain `ncnn` does, since no importer comes with ncnn; its fastest variant runs."""
    from collage_core.graph.index_set import IndexSet
    from collage_core.model.onnx_model import load_model
    from collage_core.toolchains.buffers import aligned_empty
    from collage_core.toolchains.ncnn.ncnn import NcnnToolchain
    from collage_core.toolchains.ncnn.ncnn_operators import refusal

    model = load_model(path)
    refused = next(filter(None, (refusal(model.graph, node) for node in model.graph.nodes)), "")
    if refused:
        raise ToolchainError("import", refused)
    whole, toolchain = model.cut(IndexSet(range(len(model.graph)))), NcnnToolchain()
    kernel = toolchain.load(build_package(toolchain, whole, threads), whole.inputs, whole.outputs, threads)
    inputs, made = [aligned_empty(tensor.type) for tensor in whole.inputs], [aligned_empty(tensor.type) for tensor in whole.outputs]
    for tensor, array in zip(whole.inputs, inputs, strict=True):
        array[...] = arrays[tensor.name]
    kernel.bind(inputs, made)
    return Runnable(kernel.run, lambda: {tensor.name: array for tensor, array in zip(whole.outputs, made, strict=True)})


def tvm(path: Path, threads: int, arrays: Arrays) -> Runnable:
    """Load a library that TVM compiled of a whole model; it takes the arrays in their order. Its default pipeline uses one thread."""
    import tvm
    from tvm import relax

    machine = relax.VirtualMachine(tvm.runtime.load_module(str(path)), tvm.cpu())
    given = [tvm.runtime.tensor(np.require(array, requirements="C")) for array in arrays.values()]
    run = partial(machine["main"], *given)

    def outputs() -> Arrays:
        made = run()
        return {str(at): one.numpy() for at, one in enumerate([made] if isinstance(made, tvm.runtime.Tensor) else made)}

    return Runnable(run, outputs)


KINDS: Mapping[str, Callable[[Path, int, Arrays], Runnable]] = {
    "artifact": artifact,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
    "openvino@bf16": partial(openvino, precision="bf16"),
    "ncnn": ncnn,
    "tvm": tvm,
}


def measure(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of one task; writes the outputs where the task asks for them."""
    with np.load(task["inputs"], allow_pickle=False) as data:
        arrays = dict(data)
    made = KINDS[task["kind"]](Path(task["path"]), task["threads"], arrays)
    seconds = timed(made.run)
    if task.get("outputs"):
        np.savez(task["outputs"], **made.outputs())  # type: ignore[arg-type]
    return {"low_s": low_s(seconds), "runs": len(seconds)}


def main() -> int:
    """Measure the task in the first argument."""
    try:
        figures = measure(json.loads(sys.argv[1]))
    except Exception as error:  # noqa: BLE001 - whatever a toolchain raises is the reason why it does not run the model
        figures = {"low_s": None, "reason": one_line(error)}
    print(json.dumps(figures), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
