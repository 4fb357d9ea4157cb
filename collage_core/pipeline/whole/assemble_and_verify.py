"""Phase 4 and its proof: the plan assembled, run, and compared with the reference.

Everything that touches a toolchain happens in worker processes; this file cuts the model, moves finished folders, and
writes down what came back.
"""

from __future__ import annotations

import errno
import math
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ...base.isolation.scratch import scratch_folder
from ...base.isolation.worker import Pool
from ...base.isolation.worker_errors import WorkerError
from ...cost.measuring.other_load import OtherLoad
from ...cost.measuring.paired_rounds import low_s
from ...cost.measuring.turns import timed_alone
from ...documents.plan import PlanPartition
from ...documents.verify import Verify
from ...errors import CollageError
from ...events import Emit, Note, Verified
from ...graph.index_set import IndexSet
from ...graph.value_policy import FINITE
from ...model.model import SubModel
from ...model.onnx_model import OnnxModel
from ...model.reference.accuracy import without_finite
from ...model.row_sets import RowSet
from ...rewrite.artifact_weights import bring_weights
from ...rewrite.assemble import assemble
from ...rewrite.partition_models import PartitionModel, run_order
from ...rewrite.plan import Plan
from ...rewrite.runtime.artifact import Profile
from ...rewrite.runtime.artifact_calls import MODULE_IMPORTS, RUNS_ONLY, profile_artifact, run_artifact, run_loader, time_artifact
from ...rewrite.runtime.manifest import MODULE, NAME, WEIGHTS
from ...toolchains.border import one_line
from ...toolchains.built_packages import BuiltPackages
from ...toolchains.native_files import LOADER
from ...toolchains.toolchain import ToolchainError
from ..discover import Phases
from ..inside.additive_error import additive_error_s
from .errors_by_set import ErrorsBySet, largest_errors, sets_text, worst_set
from .planned_bodies import control_model
from .references import Reference, references_of

BUILD_TIMEOUT_S = 900.0
RUN_TIMEOUT_S = 300.0
_START_S = 60.0


@dataclass
class Built:
    """A verified artifact, and what is needed to build others beside it, one of which may take its place.

    Attributes:
        plan, folder, verify: The plan, the folder of its artifact for now, and the `verify` document.
        took_s: Seconds that building and verifying the plan took.
        precision: That of the reference, where it is not the model's own.
        load: Counts what other processes do from before the plan is timed first.
        weight_bytes: Size of the weights of a large model, which each process that holds an artifact has once; 0 of a small one.
        packages: Those that were built while costs were measured.
    """

    model: OnnxModel
    plan: Plan
    inputs: Mapping[str, np.ndarray]
    folder: Path
    scratch: Path
    pool: Pool
    verify: Verify = field(default_factory=Verify)
    took_s: float = 0.0
    precision: str = ""
    load: OtherLoad = field(default_factory=OtherLoad)
    weight_bytes: int = 0
    packages: BuiltPackages | None = None

    @cached_property
    def references(self) -> list[Reference]:
        """Return what the model computes on each set of inputs; every artifact is compared with it, and timed on the first."""
        return references_of(self.model, self.inputs, self.plan.value_policy)

    @property
    def worst(self) -> Reference:
        """The set of inputs on which the plan errs most."""
        name = worst_set(self.verify)
        return next((one for one in self.references if one.name == name), self.references[0])

    @property
    def row_sets(self) -> Mapping[str, RowSet]:
        """How outputs whose length depends on values are compared."""
        return self.model.row_sets(self.inputs)

    @property
    def moves(self) -> dict[str, float]:
        """Output → how far rounding alone moves it in the model itself, for outputs whose length depends on values."""
        return {name: rows.moves for name, rows in self.row_sets.items() if rows.moves}

    @property
    def measured_s(self) -> float:
        """Seconds of one inference of the plan, which was timed when it was verified."""
        assert self.verify.measured_s is not None
        return self.verify.measured_s

    @property
    def is_right(self) -> bool:
        error = self.verify.max_rel_error
        return error is not None and error <= self.plan.accuracy


@contextmanager
def build_and_verify(
    model: OnnxModel,
    plan: Plan,
    inputs: Mapping[str, np.ndarray],
    phases: Phases,
    emit: Emit,
    out: Path | None,
    should_stop: Callable[[], bool] | None = None,
    pool: Pool | None = None,
    form: str = MODULE,
    packages: BuiltPackages | None = None,
    limit_s: float = BUILD_TIMEOUT_S,
) -> Iterator[Built]:
    """Assemble `plan`, run it and compare; on leaving, the artifact, if it is right, is moved into `out`.

    Args:
        pool: Workers that are there already, and stay; others unless given.
        form: Of the artifact (`rewrite.forms`).
        packages: Those that were built while costs were measured.
        limit_s: Longest that building it may take.

    Raises:
        CollageError: it cannot be built in that time, or it failed when it ran; the toolchain's own words.
        Cancelled: `should_stop` said so, which is asked about every 50 ms while a worker is busy.
    """
    with _scratch() as scratch, nullcontext(pool) if pool else Pool(should_stop=should_stop) as workers:
        built = Built(model, plan, inputs, scratch / "plan", scratch, workers, weight_bytes=model.external_bytes, packages=packages)
        with phases("rewrite"):
            assemble_plan(built, plan, built.folder, limit_s, form=form)
        with phases("verify"):
            by_set = errors_of(built, "plan", built.folder)
            if (built.folder / LOADER).is_file():
                by_set = errors_with_loader(built, by_set)
            built.precision = model.reference_precision
            built.load = OtherLoad()
            measured_s = low_s(time_plan(built.pool, "plan", built.folder, built.inputs))
            built.verify = verify_document(plan, by_set, measured_s, built.precision, built.moves)
            if built.moves:
                emit(Note(_moves_text(built.moves)))
            unproven = without_finite(built.references[0].wanted)
            if unproven:
                emit(Note(_unproven_text(unproven)))
            error = built.verify.max_rel_error
            emit(Verified(measured_s, error if error is not None and math.isfinite(error) else None, plan.accuracy))
        built.took_s = sum(phases.seconds[name] or 0.0 for name in ("rewrite", "verify"))
        yield built
        if out is not None and built.is_right:
            _move(built.folder, out)
            _bring_weights(out, emit)


@contextmanager
def _scratch() -> Iterator[Path]:
    """Make a folder that is gone afterwards; if this process is killed, the next one removes it."""
    folder = scratch_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pieces_of(model: OnnxModel, plan: Plan) -> list[PartitionModel]:
    """The plan's partitions cut out of the model, in an order in which they can run."""
    pieces = [
        PartitionModel(
            target=partition.target,
            names=partition.names,
            model=planned_model(model, plan, partition),
            id=partition.id,
            control=control_model(model, plan, partition, pieces_of),
        )
        for partition in plan.partitions
    ]
    return run_order(pieces)


def planned_model(model: OnnxModel, plan: Plan, partition: PlanPartition) -> SubModel:
    """Return a partition of `plan` cut out of the model, with its tuned schedules."""
    return replace(model.cut(IndexSet(partition.nodes)), tuning=plan.tuning_of(partition))


def about_artifact(model: OnnxModel, plan: Plan) -> dict[str, Any]:
    """Return what the manifest of an artifact says of its model, and of how the artifact was compared with it."""
    return {"model": about_model(model), "accuracy": plan.accuracy, "value_policy": plan.value_policy}


def about_model(model: OnnxModel) -> dict[str, Any]:
    """Return what the manifest of an artifact says of its model alone."""
    return {"name": model.name, "hash": model.hash, "fixed": model.fixed, "assumed": model.assumed}


def assemble_plan(
    built: Built, plan: Plan, folder: Path, timeout_s: float = BUILD_TIMEOUT_S, worker: str = "assemble", form: str = MODULE
) -> None:
    """Build the artifact of `plan` in `folder` in this form, in the worker of this name.

    Raises:
        CollageError: it cannot be built in `timeout_s`.
    """
    model, graph = built.model, built.model.graph
    threads = int(plan.options.get("threads", 1))
    constants = {name: model.constant(name) for name in graph.outputs if name in graph.constants}
    what = pieces_of(model, plan), graph.inputs, graph.outputs, folder, threads, about_artifact(model, plan), constants, dict(built.inputs)
    given = *what, form, built.packages
    in_worker(built.pool, worker, assemble, *given, timeout_s=timeout_s, what="assembling the plan", imports=MODULE_IMPORTS)


def errors_of(built: Built, name: str, folder: Path, timeout_s: float = RUN_TIMEOUT_S) -> ErrorsBySet:
    """Return the error of each output of the artifact in `folder` on each set of inputs.

    On the first set it is the larger one of two runs: the second may differ from the first.

    Raises:
        CollageError: a run failed.
    """
    by_set: dict[str, dict[str, float]] = {}
    for reference in [*built.references, built.references[0]]:
        given = folder, dict(reference.inputs)
        what = f"running the artifact on {reference.name} inputs"
        got = run_in_worker(built.pool, name, run_artifact, *given, timeout_s=timeout_s, what=what)
        errors, known = reference.errors(got, built.plan.value_policy), by_set.get(reference.name, {})
        by_set[reference.name] = {output: max(error, known.get(output, 0.0)) for output, error in errors.items()}
    return by_set


def errors_with_loader(built: Built, by_set: ErrorsBySet) -> ErrorsBySet:
    """Return the errors of `by_set`, or those of the loader in the artifact's folder where they are larger.

    The loader runs in a process of its own.

    Raises:
        CollageError: it failed.
    """
    largest = {}
    for reference in built.references:
        given = built.folder / LOADER, dict(reference.inputs)
        got = in_worker(built.pool, "loader", run_loader, *given, timeout_s=RUN_TIMEOUT_S, what=f"running {LOADER}")
        own = reference.errors(got, built.plan.value_policy)
        largest[reference.name] = {output: max(error, own[output]) for output, error in by_set[reference.name].items()}
    return largest


def verify_document(
    plan: Plan, by_set: ErrorsBySet, measured_s: float, precision: str = "", moves: Mapping[str, float] = MappingProxyType({})
) -> Verify:
    """Return how a plan was verified that takes `measured_s` end to end.

    Args:
        by_set: The errors of its outputs, on each set of inputs.
        precision: That of the reference, where it is not the model's own.
        moves: As `Built.moves`; errors are what goes beyond it.
    """
    compared = "its finite values" if plan.value_policy == FINITE else "NaN and infinities too"
    errors = largest_errors(by_set)
    said = ["optimisation off", *([f"computed in {precision}"] if precision else []), compared, sets_text(by_set), *_fixed_texts(plan)]
    return Verify(
        measured_s=measured_s,
        additive_error_s=additive_error_s(plan, measured_s),
        max_rel_error=max(errors.values(), default=0.0),
        accuracy=plan.accuracy,
        errors=errors,
        sets={name: dict(one) for name, one in by_set.items()},
        moves=dict(moves),
        value_policy=plan.value_policy,
        reference=", ".join([f"onnxruntime {metadata.version('onnxruntime')}", *said]),
    )


def _moves_text(moves: Mapping[str, float]) -> str:
    names = ", ".join(map(repr, moves))
    return f"rounding alone moves {names} of the model itself by {max(moves.values()):.2g}: only what goes beyond that is an error"


def _unproven_text(outputs: Sequence[str]) -> str:
    names = ", ".join(map(repr, outputs))
    return (
        f"the reference holds no finite value in {names}, so its NaN and infinities were compared: that proves nothing of finite values; "
        "give other inputs with --inputs"
    )


def _fixed_texts(plan: Plan) -> list[str]:
    """Return what was fixed, such as ``sr = 16000``."""
    return [f"{name} = {list(value) if isinstance(value, tuple) else value}" for name, value in plan.model.fixed.items()]


def time_plan(pool: Pool, name: str, folder: Path, inputs: Mapping[str, np.ndarray]) -> list[float]:
    """Return the seconds of a burst of inferences, in the process that already holds the artifact.

    Raises:
        CollageError: one of them failed.
    """
    seconds: list[float] = run_in_worker(pool, name, time_artifact, folder, dict(inputs), what="timing the artifact")
    return seconds


def time_alone(built: Built, name: str, folder: Path, verify: Verify) -> Verify:
    """Return how an artifact was verified with its time over rounds, for a plan that is compared with no other.

    Raises:
        CollageError: an inference failed.
    """
    time, _ = timed_alone(lambda: time_plan(built.pool, name, folder, built.inputs))
    error_s = additive_error_s(built.plan, time.value)
    return replace(verify, measured_s=time.value, interval_s=time.half, rounds=time.rounds, additive_error_s=error_s)


def profile_plan(pool: Pool, name: str, folder: Path, inputs: Mapping[str, np.ndarray]) -> Profile:
    """Return where the time of an inference goes, in the process that already holds the artifact. Raises as `time_plan`."""
    profile: Profile = run_in_worker(pool, name, profile_artifact, folder, dict(inputs), what="timing the artifact")
    return profile


def run_in_worker(
    pool: Pool, name: str, function: Any, *arguments: Any, timeout_s: float = RUN_TIMEOUT_S, what: str = "running the artifact"
) -> Any:
    """Call one of `artifact_calls` as `in_worker` does, in a worker that builds nothing."""
    return in_worker(pool, name, function, *arguments, timeout_s=timeout_s, what=what, environment=RUNS_ONLY, imports=MODULE_IMPORTS)


def in_worker(
    pool: Pool,
    name: str,
    function: Any,
    *arguments: Any,
    timeout_s: float,
    what: str,
    environment: Mapping[str, str] | None = None,
    imports: Sequence[str] = (),
) -> Any:
    """Call `function` in the worker of that name, which begins with `environment` and `imports`.

    Raises:
        CollageError: it failed, or took too long.
    """
    try:
        return pool.worker(name, environment, imports).call(function, *arguments, timeout_s=timeout_s)
    except (WorkerError, ToolchainError) as error:
        hint = "veto the target that fails, or leave it out of --targets"
        raise CollageError(f"{what} failed: {one_line(error)}", hint, "toolchain") from error


def _bring_weights(out: Path, emit: Emit) -> None:
    """Bring the weights of a large model into the artifact `out`; where there is no room for them, say what it needs then."""
    try:
        brought = bring_weights(out)
    except CollageError as error:
        emit(Note(f"{error.message}: the artifact reads them from the model's own files, which must stay where they are"))
        return
    if brought:
        emit(Note(f"the artifact holds {brought / 1e9:.2f} GB of weights, as {WEIGHTS}: it does not need the model's files"))


def _move(folder: Path, out: Path) -> None:
    """Move what is in `folder` into `out`, over what an earlier run left there.

    All of it is brought to the disk of `out` before anything there is replaced, and the manifest comes last: where there is no room, what
    was there stays, and no half of an artifact looks like one.

    Raises:
        CollageError: `out` cannot be written, or has no room.
    """
    beside = out / f".{secrets.token_hex(6)}"
    try:
        _bring(folder, beside)
        (out / NAME).unlink(missing_ok=True)
        for entry in sorted(beside.iterdir(), key=lambda entry: entry.name == NAME):
            target = out / entry.name
            if target.is_dir():
                shutil.rmtree(target)
            entry.replace(target)
    except OSError as error:
        said = f"cannot write the artifact {str(out)!r}: {error.strerror or error}"
        raise CollageError(said, "make room there, or give another folder with --out; what was measured is stored", "unwritable") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _bring(source: Path, target: Path) -> None:
    """Rename `source` to `target`, or copy it where that is on another disk."""
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        if not source.is_dir():
            shutil.copy2(source, target)
            return
        target.mkdir()
        for entry in source.iterdir():
            _bring(entry, target / entry.name)
