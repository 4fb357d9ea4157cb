"""`make bench-calls`: what a call costs beyond its kernels, whether idle thread pools slow the busy one, telemetry, and start-up.

It takes `--only` and `--threads`. It prints eight tables, and PASS or FAIL for each goal; it exits with status 1 when one fails.
Contenders are timed in turn, round by round, and compared within each round. Every table's rows run in processes of their own. It takes
a few minutes. docs/benchmarks.md says what is measured and how.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bench_calls_builds import BATCHES, SAMPLES, contenders
from bench_calls_fresh import MOST_LATER_S, STEPS, alone_s, start_s
from bench_calls_models import MODELS, conv_chain, one_product, relu_chain, sum_of

from collage_core.base.processor import usable_cores
from collage_core.cost.database.records import machine_id
from collage_core.cost.measuring.intervals import confidence_interval
from collage_core.model.model import SubModel
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rewrite.runtime.manifest import MODULE, NATIVE, PIECES
from collage_core.rewrite.runtime.shaped_artifact import ShapedArtifact, open_artifact
from collage_core.rewrite.shaped_folder import folder_of, write_shaped
from collage_core.toolchains.abilities import takes_open_shapes
from collage_core.toolchains.buffers import aligned_empty
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Kernel, ToolchainError

TARGETS = ("onnxruntime", "openvino", "ncnn")
LIBRARIES = ("onednn", "blas")
ROUNDS = 41
POOL_ROUNDS = 15
BUILD_ROUNDS = 11
TELEMETRY_ROUNDS = 31
START_ROUNDS = 9
BATCH_S = 4e-3
"""In a round each contender runs for about that long, and the median of its calls counts."""
MOST_OVERHEAD = 0.03
MOST_CALL_S = 2e-6
MOST_NATIVE_CALL_S = 1e-6
LENGTHS = (1, 2, 5)
INPUTS, SIZES = (1, 2, 4), tuple(range(64, 577, 64))

Run = Callable[[], Any]


def main() -> int:
    """Run the parts that are asked for."""
    parts = {
        "one": one_partition,
        "partitions": partitions,
        "shapes": shapes,
        "builds": builds,
        "libraries": libraries,
        "pools": pools,
        "telemetry": telemetry,
        "start": start,
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=parts, action="append", help="one part; repeatable")
    parser.add_argument("--threads", default=f"1,{usable_cores()}" if usable_cores() > 1 else "1", help="numbers of threads: 1,2")
    given = parser.parse_args()
    print(f"{machine_id()}, {usable_cores()} usable\n")
    threads = [int(count) for count in given.threads.split(",")]
    verdicts = [verdict for name in given.only or parts for verdict in parts[name](threads)]
    print("\n".join(verdicts))
    return int(any(verdict.startswith("FAIL") for verdict in verdicts))


@dataclass(frozen=True)
class Ratio:
    """How many times as long one contender takes as another: the median of the rounds, with its 95 % interval; and both medians."""

    base_s: float
    seconds: float
    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:.3f} [{self.low:.3f}, {self.high:.3f}]"


def compared(base: Sequence[float], other: Sequence[float]) -> Ratio:
    """Return the ratio of the seconds of two contenders, round by round."""
    shares = [b / a for a, b in zip(base, other, strict=True)]
    low, high = confidence_interval(shares)
    return Ratio(statistics.median(base), statistics.median(other), statistics.median(shares), low, high)


def rounds(contenders: Mapping[str, Run], most: int = ROUNDS) -> dict[str, list[float]]:
    """Return the seconds of a call of each contender in each round; they take turns, and begin with another one each round."""
    counts = {name: _count(run) for name, run in contenders.items()}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for index in range(most):
        for name in names[index % len(names) :] + names[: index % len(names)]:
            seconds[name].append(_median_s(contenders[name], counts[name]))
    return seconds


def _count(run: Run) -> int:
    return max(5, int(BATCH_S / _median_s(run, 20)))


def _median_s(run: Run, count: int) -> float:
    samples, clock = [], time.perf_counter
    for _ in range(count):
        begin = clock()
        run()
        samples.append(clock() - begin)
    return statistics.median(samples)


def fresh(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what `function` returns in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def in_turn(openers: Mapping[str, Callable[[], list[Run]]], count: int) -> dict[str, list[list[float]]]:
    """Return for each opener, round by round, the seconds of what it opens. Each has a process of its own, and they take turns."""
    context, seconds = multiprocessing.get_context("spawn"), dict[str, list[list[float]]]()
    workers = {name: ProcessPoolExecutor(1, context) for name in openers}
    try:
        for name, opener in openers.items():
            workers[name].submit(_open, opener).result()
        for index in range(count):
            for name in [*workers][index % len(workers) :] + [*workers][: index % len(workers)]:
                seconds.setdefault(name, []).append(workers[name].submit(_opened_s).result())
    finally:
        for worker in workers.values():
            worker.shutdown()
    return seconds


_opened: list[tuple[Run, int]] = []


def _open(opener: Callable[[], list[Run]]) -> None:
    _opened.extend((run, _count(run)) for run in opener())


def _opened_s() -> list[float]:
    """Return, in the process of an opener, the seconds of a call of everything that is open."""
    return [_median_s(run, count) for run, count in _opened]


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table in Markdown."""
    print(f"## {title}\n")
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def micro(seconds: float) -> str:
    return f"{seconds * 1e6:.1f}"


def verdict(is_met: bool, text: str) -> str:
    return f"{'PASS' if is_met else 'FAIL'}  {text}"


def artifact_of(models: Sequence[SubModel], targets: Sequence[str], threads: int, folder: Path) -> Artifact:
    """Return the artifact of models that follow each other, each on its target."""
    pieces = [PartitionModel(target, (), model, f"p{at}") for at, (model, target) in enumerate(zip(models, targets, strict=True))]
    assemble(pieces, models[0].inputs, [models[-1].outputs[0].name], folder, threads)
    return Artifact.open(folder)


def drawn(model: SubModel) -> np.ndarray:
    array = aligned_empty(model.inputs[0].type)
    array[...] = np.random.default_rng(0).standard_normal(array.shape)
    return array


def one_partition(threads: Sequence[int]) -> list[str]:
    """Compare a plan of one partition with its toolchain alone, as that is usually called: with arrays, and with buffers bound before."""
    verdicts, rows = [], []
    for count in threads:
        for target in TARGETS:
            for name in MODELS:
                try:
                    ratios = against_alone(name, target, count)
                except ToolchainError as error:
                    rows.append([name, target, str(count), error.message, "", "", "", "", ""])
                    continue
                cells = [cell for way in ("arrays", "bound") for cell in _cells(ratios[way])]
                rows.append([name, target, str(count), *cells])
                for way, ratio in ratios.items():
                    text = f"{name} on {target}, {count} thread{'s' * (count > 1)}, {way}: {ratio.middle - 1:+.1%}"
                    verdicts.append(verdict(ratio.low <= 1 + MOST_OVERHEAD, f"{text}, to be below {MOST_OVERHEAD:+.0%}"))
    head = ["model", "toolchain", "threads", "alone, arrays", "artifact", "ratio", "alone, bound", "artifact", "ratio"]
    show("A plan of one partition and its toolchain alone, µs", head, rows)
    return verdicts


def _cells(ratio: Ratio) -> list[str]:
    return [micro(ratio.base_s), micro(ratio.seconds), str(ratio)]


def against_alone(name: str, target: str, threads: int) -> dict[str, Ratio]:
    """Return the ratios of the artifact to the toolchain alone: with arrays, and with bound buffers.

    With one thread both are in one process, since two differ by some percent in where their memory lies. With more threads each has a
    process of its own, so that the threads of one do not spin while the other runs.
    """
    if threads == 1:
        alone, bound_alone, artifact, bound_artifact = fresh(_in_one_process, name, target)
    else:
        openers = {"alone": partial(_open_alone, name, target, threads), "artifact": partial(_open_artifact, name, target, threads)}
        (alone, bound_alone), (artifact, bound_artifact) = (zip(*series, strict=True) for series in in_turn(openers, ROUNDS).values())
    return {"arrays": compared(alone, artifact), "bound": compared(bound_alone, bound_artifact)}


def _in_one_process(name: str, target: str) -> list[list[float]]:
    """Return the seconds of the toolchain alone, with arrays and bound, and those of the artifact, on one thread."""
    runs = [*_open_alone(name, target, 1), *_open_artifact(name, target, 1)]
    return list(rounds(dict(zip("abcd", runs, strict=True))).values())


def _open_alone(name: str, target: str, threads: int) -> list[Run]:
    model = MODELS[name]()
    return list(ALONE[target](model, drawn(model), threads))


def _open_artifact(name: str, target: str, threads: int) -> list[Run]:
    model = MODELS[name]()
    with tempfile.TemporaryDirectory() as folder:
        artifact = artifact_of([model], [target], threads, Path(folder) / "artifact")
    given = {"x": drawn(model)}
    return [partial(artifact.run, given), artifact.bind(given)]


def ort_alone(model: SubModel, x: np.ndarray, threads: int) -> tuple[Run, Run]:
    """Return how ONNX Runtime is called on arrays, and on bound buffers; with its own settings but for the number of threads."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.onnx, options, providers=["CPUExecutionProvider"])
    binding, y = session.io_binding(), aligned_empty(model.outputs[0].type)
    binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
    binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
    given, wanted = {"x": x}, ["y"]
    return lambda: session.run(wanted, given), lambda: (session.run_with_iobinding(binding), y)


def openvino_alone(model: SubModel, x: np.ndarray, threads: int) -> tuple[Run, Run]:
    """Return how OpenVINO is called on arrays, and on bound buffers; with its own settings but for float32 and the number of threads."""
    import openvino

    core = openvino.Core()
    config = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
    compiled = core.compile_model(core.read_model(model=model.onnx, weights=b""), "CPU", config)
    request, bound, y = compiled.create_infer_request(), compiled.create_infer_request(), aligned_empty(model.outputs[0].type)
    bound.set_input_tensor(0, openvino.Tensor(x, shared_memory=True))
    bound.set_output_tensor(0, openvino.Tensor(y, shared_memory=True))
    given = {0: x}
    return lambda: request.infer(given), lambda: bound.infer(share_outputs=True)


def ncnn_alone(model: SubModel, x: np.ndarray, threads: int) -> tuple[Run, Run]:
    """Return how ncnn is called on arrays, and on bound buffers; the network is that of our package, since ncnn reads no ONNX."""
    kernel: Any = get("ncnn").load(get("ncnn").build(model, threads), model.inputs, model.outputs, threads)
    y = aligned_empty(model.outputs[0].type)
    kernel.bind([x], [y])
    import ncnn

    entry, (out, _) = kernel._package.inputs[0], kernel._package.outputs[0]

    def on_arrays() -> np.ndarray:
        extractor = kernel._net.create_extractor()
        extractor.input(entry.blob, ncnn.Mat(x.reshape(entry.shape)))
        return np.array(extractor.extract(out)[1])

    return on_arrays, kernel.run


ALONE = {"onnxruntime": ort_alone, "openvino": openvino_alone, "ncnn": ncnn_alone}


def partitions(threads: Sequence[int]) -> list[str]:
    """Compare chains of Relus as artifacts with the same kernels called one after another from Python, on one thread."""
    verdicts, rows = [], []
    for first, target in [("", target) for target in TARGETS] + [("tvm", target) for target in TARGETS]:
        seconds = fresh(chain_s, first, target)
        each = [_each_s(*samples) for samples in zip(*seconds.values(), strict=True)]
        middle, (low, high) = statistics.median(each), confidence_interval(each)
        way = "after one of TVM" if first else "alone"
        medians = [micro(statistics.median(samples)) for samples in seconds.values()]
        cells = [f"{called} / {alone}" for called, alone in zip(medians[::2], medians[1::2], strict=True)]
        rows.append([target, way, *cells, f"{middle * 1e6:.2f} [{low * 1e6:.2f}, {high * 1e6:.2f}]"])
        verdicts.append(verdict(low < MOST_CALL_S, f"a partition of {target}, {way}: {middle * 1e6:.2f} µs, to be below 2"))
    head = ["target", "plan", *(f"{n} partition{'s' * (n > 1)}" for n in LENGTHS), "a partition beyond its kernel"]
    show("Calls of partitions of one Relu: artifact / kernels alone, µs", head, rows)
    return verdicts


def shapes(threads: Sequence[int]) -> list[str]:
    """Time what finds the artifact for the shapes of a call, among those of eight and a ninth shape; no kernel runs."""
    verdicts, rows = [], []
    for inputs in INPUTS:
        samples = fresh(dispatch_s, inputs)
        middle, (low, high) = statistics.median(samples), confidence_interval(samples)
        rows.append([str(inputs), f"{middle * 1e6:.2f} [{low * 1e6:.2f}, {high * 1e6:.2f}]"])
        verdicts.append(verdict(low < MOST_CALL_S, f"finding the artifact by {inputs} shapes: {middle * 1e6:.2f} µs, to be below 2"))
    show("Finding the artifact for the shapes of a call", ["inputs of several shapes", "µs"], rows)
    return verdicts


def builds(threads: Sequence[int]) -> list[str]:
    """Compare one build for any batch with a build of each, on the toolchains that can make both, on one thread."""
    rows = []
    for sample in SAMPLES:
        for target in (name for name in TARGETS if takes_open_shapes(get(name))):
            seconds = fresh(builds_s, sample, target)
            for batch in BATCHES:
                ratio = compared(seconds[f"each {batch}"], seconds[f"one {batch}"])
                rows.append([sample, target, str(batch), *_cells(ratio)])
    show("One build for any batch beside a build of each, µs", ["model", "toolchain", "batch", "of each", "for any", "ratio"], rows)
    return []


def builds_s(sample: str, target: str) -> dict[str, list[float]]:
    """Return, in a process of its own, the seconds of a call of both kinds of builds at each batch, in each round."""
    return rounds(contenders(sample, target), BUILD_ROUNDS)


def dispatch_s(inputs: int) -> list[float]:
    """Return, in a process of its own, the seconds of finding the artifact for a call, in each round."""
    with tempfile.TemporaryDirectory() as folder:
        for number, size in enumerate(SIZES):
            model = sum_of(inputs, size)
            piece = PartitionModel("onnxruntime", (), model, "p0")
            assemble([piece], model.inputs, ["y"], Path(folder) / folder_of(number), 1)
        write_shaped(Path(folder), [(f"n={size}", 1 / len(SIZES)) for size in SIZES], {}, 1)
        artifact = open_artifact(folder)
    assert isinstance(artifact, ShapedArtifact)
    given = {f"x{at}": np.zeros((1, SIZES[-1]), np.float32) for at in range(inputs)}
    return rounds({"find": partial(artifact.serving, given)})["find"]


def _each_s(*seconds: float) -> float:
    """Return the seconds of a partition beyond its kernel; given are those of each artifact and of its kernels, by length, of one round."""
    return ((seconds[-2] - seconds[-1]) - (seconds[0] - seconds[1])) / (LENGTHS[-1] - LENGTHS[0])


def chain_s(first: str, target: str) -> dict[str, list[float]]:
    """Return, in a process of its own, the seconds of each artifact, by length, and of its kernels alone, but for the `first` one."""
    contenders: dict[str, Run] = {}
    with tempfile.TemporaryDirectory() as folder:
        for count in LENGTHS:
            models = relu_chain(count + bool(first))
            artifact = artifact_of(models, [first][: bool(first)] + [target] * count, 1, Path(folder) / str(count))
            contenders[f"artifact {count}"] = artifact.bind({"t0": drawn(models[0])})
            contenders[f"kernels {count}"] = _in_a_row(target, models[-count:])
    return rounds(contenders)


def _in_a_row(target: str, models: Sequence[SubModel]) -> Run:
    kernels: list[Kernel] = []
    read = drawn(models[0])
    for model in models:
        kernel, made = get(target).load(get(target).build(model, 1), model.inputs, model.outputs, 1), aligned_empty(model.outputs[0].type)
        kernel.bind([read], [made])
        kernels.append(kernel)
        read = made

    def run() -> None:
        for kernel in kernels:
            kernel.run()

    return run


def libraries(threads: Sequence[int]) -> list[str]:
    """Time a product of two numbers on each library of calls, on one thread: next to nothing of it is work."""
    verdicts, rows = [], []
    for target in LIBRARIES:
        if not get(target).availability().usable:
            rows.append([target, get(target).availability().reason, "", ""])
            continue
        for caller, seconds_of, most_s in (("Python", product_s, MOST_CALL_S), ("a kernel of TVM", native_product_s, MOST_NATIVE_CALL_S)):
            seconds = fresh(seconds_of, target)
            middle, (low, high) = statistics.median(seconds), confidence_interval(seconds)
            rows.append([target, caller, f"{middle * 1e6:.2f}", f"[{low * 1e6:.2f}, {high * 1e6:.2f}]"])
            said = f"a call of {target} from {caller}: {middle * 1e6:.2f} µs, to be below {most_s * 1e6:g}"
            verdicts.append(verdict(low < most_s, said))
    show("A product of two numbers by a library, µs", ["target", "called from", "a call", "95 %"], rows)
    return verdicts


def native_product_s(target: str) -> list[float]:
    """As `product_s`, called from a kernel of TVM's."""
    from bench_calls_tvm import call_s

    return call_s(target, ROUNDS)


def product_s(target: str) -> list[float]:
    """Return, in a process of its own, the seconds of a call in each round."""
    return rounds({target: _in_a_row(target, [one_product()])})[target]


PLANS = {"four toolchains": ("onnxruntime", "openvino", "ncnn", "tvm") * 2, "ncnn alone": ("ncnn",) * 8}
"""Plans of eight convolutions: their targets in turn."""
ORT_OWN = {"onnxruntime": "own"}
NCNN_OWN, TVM_OWN = {"GOMP_SPINCOUNT": "300000"}, {"TVM_THREAD_POOL_SPIN_COUNT": "300000"}
"""The values that the libraries take where these variables are not set."""
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "ours": {},
    "ONNX Runtime's own": ORT_OWN,
    "TVM's own": TVM_OWN,
    "ncnn's own": NCNN_OWN,
    "the own of all three": ORT_OWN | TVM_OWN | NCNN_OWN,
    "ncnn: GOMP_SPINCOUNT=300": {"GOMP_SPINCOUNT": "300"},
    "ncnn: GOMP_SPINCOUNT=0": {"GOMP_SPINCOUNT": "0"},
}
"""Row of the table → environment of its process; ``onnxruntime`` in it is no variable, but stands for the options of sessions."""


def pools(threads: Sequence[int]) -> list[str]:
    """Compare plans with and without the settings that let idle threads sleep soon."""
    columns = [(f"{plan}, {count} thread{'s' * (count > 1)}", spinning(plan, count)) for plan in PLANS for count in threads if count > 1]
    rows = []
    for name in SETTINGS:
        ratios = [compared(seconds["ours"], seconds[name]) for _, seconds in columns]
        rows.append([name, *(cell for ratio in ratios for cell in (f"{ratio.seconds * 1e3:.3f}", str(ratio)))])
    show("Eight convolutions, ms", ["settings", *(cell for title, _ in columns for cell in (title, "ratio"))], rows)
    return []


def spinning(plan: str, threads: int) -> dict[str, list[float]]:
    """Return for each of `SETTINGS` the seconds of a call in each round."""
    openers = {name: partial(_open_plan, plan, threads, environment) for name, environment in SETTINGS.items()}
    return {name: [seconds for (seconds,) in series] for name, series in in_turn(openers, POOL_ROUNDS).items()}


def _open_plan(plan: str, threads: int, environment: Mapping[str, str]) -> list[Run]:
    """Open `plan` in a process that has loaded no toolchain yet, with the settings of a row."""
    from collage_core.toolchains.onnxruntime import onnxruntime as toolchain

    os.environ.update(environment)
    if ORT_OWN.items() <= environment.items():
        toolchain.SPIN_CONFIG = {}
    targets = PLANS[plan]
    models = conv_chain(len(targets))
    with tempfile.TemporaryDirectory() as folder:
        return [artifact_of(models, targets, threads, Path(folder) / "artifact").bind({"t0": drawn(models[0])})]


def telemetry(threads: Sequence[int]) -> list[str]:
    """Compare ONNX Runtime with its telemetry off, as we have it, and on: fresh processes in turns, the first thread count alone."""
    model = MODELS["conv"]()
    seconds: dict[str, list[list[float]]] = {"off": [], "on": []}
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "conv.onnx"
        path.write_bytes(model.onnx)
        np.save(f"{path}.npy", drawn(model))
        for index in range(TELEMETRY_ROUNDS):
            for name in ("off", "on") if index % 2 else ("on", "off"):
                seconds[name].append(alone_s(path, threads[0], is_off=name == "off"))
    rows = []
    for step, off, on in zip(STEPS, zip(*seconds["off"], strict=True), zip(*seconds["on"], strict=True), strict=True):
        ratio = compared(off, on)
        rows.append([step, f"{ratio.base_s * 1e3:.4g}", f"{ratio.seconds * 1e3:.4g}", str(ratio)])
    show("ONNX Runtime's telemetry, ms", ["step", "off", "on", "ratio"], rows)
    return []


def start(threads: Sequence[int]) -> list[str]:
    """Compare how long a fresh process takes that opens and runs an artifact, beside one that does the same with its toolchains alone."""
    model, rows, verdicts = MODELS["conv"](), [], []
    for form in (NATIVE, PIECES, MODULE):
        with tempfile.TemporaryDirectory() as home:
            assemble(
                [PartitionModel("onnxruntime", (), model, "all")], model.inputs, [model.outputs[0].name], Path(home), threads[0], form=form
            )
            (Path(home) / "alone.onnx").write_bytes(model.onnx)
            np.save(Path(home) / "x.npy", drawn(model))
            seconds = start_s(Path(home), form, START_ROUNDS)
        more = [with_ours - without for without, with_ours in zip(*seconds, strict=True)]
        low, high = confidence_interval(more)
        rows.append([form, *(f"{statistics.median(one) * 1e3:.0f}" for one in (*seconds, more)), f"{low * 1e3:.0f} to {high * 1e3:.0f}"])
        said = f"{form}: a process starts {statistics.median(more):.3f} s later, to be at most {MOST_LATER_S:g} s"
        verdicts.append(verdict(low <= MOST_LATER_S, said))
    show("A process that opens an artifact and calls it once, ms", ["form", "toolchains alone", "artifact", "more", "95 %"], rows)
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
