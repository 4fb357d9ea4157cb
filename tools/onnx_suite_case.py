"""One operator test of the `onnx` package: its model through partition, build and run, compared with ONNX Runtime.

`run_case` belongs in a worker process: toolchains run in the process that calls it, and may end it. A test has one model and inputs; the
artifact runs on these, and on drawn and extreme inputs beside them.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper

from collage_core.errors import CollageError
from collage_core.events import ignore
from collage_core.graph.value_arrays import as_arrays
from collage_core.graph.value_policy import FINITE
from collage_core.model.nodes import RANDOM_OPS
from collage_core.model.reference.accuracy import COARSE_ACCURACY, output_errors
from collage_core.model.reference.ort_session import OrtSession
from collage_core.options import Options
from collage_core.pipeline.searched_run import SearchedRun
from collage_core.pipeline.whole.assemble_and_verify import pieces_of
from collage_core.pipeline.whole.references import references_of
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.runtime.artifact_calls import run_artifact

RIGHT, REFUSED, WRONG, FAILED, CRASHED, NOT_RUN = OUTCOMES = (
    "right",
    "refused",
    "wrong",
    "failed",
    "crashed or hung",
    "not run by ONNX Runtime",
)
NEWEST_OPSET = 26
"""Newest opset that ONNX Runtime reads; for its own run models of newer ones are marked as of this one."""
TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a test.

    Attributes:
        name: The test's name.
        kind: One of `OUTCOMES`.
        reason: Why it is not right; empty where it is.
    """

    name: str
    kind: str
    reason: str = ""

    @property
    def sort(self) -> str:
        """The reason without what differs from test to test."""
        return re.sub(r"'[^']*'|\[[^\]]*\]|\d[\d.e+-]*", "…", self.reason)

    def to_json(self) -> dict[str, str]:
        return asdict(self)


@cache
def _tests() -> dict[str, Any]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the expected outputs are computed here, some with infinities
        return {test.name: test for test in collect_testcases() if test.model and test.data_sets}


def names() -> list[str]:
    """Return the names of all tests with a model, in order."""
    return sorted(_tests())


def run_case(name: str, targets: Sequence[str]) -> Outcome:
    """Take the test `name` through the whole pipeline, with `targets`."""
    test = _tests()[name]
    model, inputs = _lowered(test.model), (value.name for value in test.model.graph.input)
    given = dict(zip(inputs, map(_array, test.data_sets[0][0]), strict=False))
    try:
        first, again = _reference(model, given), _reference(model, given)
    except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime, or the way to it, has against the model
        return Outcome(name, NOT_RUN, str(error))
    try:
        with tempfile.TemporaryDirectory(prefix="collage-suite-") as folder:
            got, tolerance, said = _through_collage(test.model, given, targets, Path(folder))
    except CollageError as error:
        return Outcome(name, REFUSED, error.message)
    except Exception as error:  # noqa: BLE001 - a fault of ours, which is what the suite looks for
        return Outcome(name, FAILED, f"{type(error).__name__}: {error}")
    said = _difference(got, first, again, tolerance) or said
    return Outcome(name, WRONG if said else RIGHT, said)


def _array(value: Any) -> Any:
    """Return a tensor as an array, and a sequence as a list of arrays; what is left out stays so."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, list | tuple):
        return [_array(part) for part in value]
    return np.asarray(value) if isinstance(value, np.generic) else value


def _lowered(model: ModelProto) -> ModelProto:
    made = ModelProto()
    made.CopyFrom(model)
    for entry in made.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = min(entry.version, NEWEST_OPSET)
    made.ir_version = min(made.ir_version, 10)
    return made


def _reference(model: ModelProto, given: Mapping[str, Any]) -> dict[str, Any]:
    names = [value.name for value in model.graph.output if value.name]
    return OrtSession(model).run(given, names)


def _through_collage(
    model: ModelProto, given: Mapping[str, Any], targets: Sequence[str], folder: Path
) -> tuple[dict[str, np.ndarray], float, str]:
    """Return what an artifact makes of `given`, the error that it may have, and by what it is wrong on other inputs, if it is."""
    source, inputs, out = folder / "model.onnx", folder / "inputs.npz", folder / "artifact"
    onnx.save(model, source)
    arrays = {key: array for name, value in given.items() for key, array in as_arrays(name, value).items()}
    np.savez(inputs, allow_pickle=False, **arrays)
    run = SearchedRun(source, Options(targets=tuple(targets), costs="roofline", inputs=inputs), ignore)
    try:
        decision = run.search(run.cost())
    finally:
        run.close()
    graph, plan = run.found.model.graph, run.record(decision).plan
    constants = {name: run.found.model.constant(name) for name in graph.outputs if name in graph.constants}
    assemble(pieces_of(run.found.model, plan), graph.inputs, graph.outputs, out, 1, constants=constants)
    tolerance = max(TOLERANCE, COARSE_ACCURACY.get(run.found.model.precision, 0.0))  # Toolchains sum halves in halves or in floats.
    return run_artifact(out, run.inputs), tolerance, _difference_beside(run, out)


def _difference_beside(run: SearchedRun, artifact: Path) -> str:
    """Return by what an artifact is wrong on drawn and extreme inputs; empty where it is not, or the model draws random numbers."""
    if any(node.op in RANDOM_OPS for node in run.found.graph.nodes):
        return ""
    for reference in references_of(run.found.model, run.inputs, FINITE)[1:]:
        errors = reference.errors(run_artifact(artifact, reference.inputs), FINITE)
        worst = max(errors, key=errors.__getitem__, default="")
        if errors and not errors[worst] <= run.found.accuracy():
            return f"on {reference.name} inputs: the output {worst!r} errs by {errors[worst]:.2g}"
    return ""


def _difference(got: Mapping[str, Any], wanted: Mapping[str, Any], again: Mapping[str, Any], tolerance: float = TOLERANCE) -> str:
    """Return by what `got` is not `wanted`; empty where it is. Values that differ between two runs of ONNX Runtime are random."""
    if list(got) != list(wanted):
        return f"it has the outputs {list(got)}, not {list(wanted)}"
    for name, value in wanted.items():
        if not isinstance(value, np.ndarray):
            continue  # its tensors are compared below
        if got[name].shape != value.shape or got[name].dtype != value.dtype:
            return f"the output {name!r} is {got[name].dtype}{list(got[name].shape)}, not {value.dtype}{list(value.shape)}"
    random = {name for name, error in output_errors(again, wanted).items() if error > 0}
    errors = {name: error for name, error in output_errors(got, wanted).items() if name not in random}
    worst = max(errors, key=errors.__getitem__, default="")
    return f"the output {worst!r} errs by {errors[worst]:.2g}" if errors and not errors[worst] <= tolerance else ""
