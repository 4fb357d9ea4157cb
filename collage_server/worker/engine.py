"""`Engine`: everything that the server asks of the engine; `CollageEngine`: answers it with `collage_core`.

Files, plain data and records enter; records and plain data leave. An engine has no state: it is pickled and sent to a worker
process with each call. Its methods are called there and never in the server's process, since they import what takes seconds.
Tests and benchmarks give the server engines of their own (`ServerConfig.engine`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from collage_core.documents.compare import AgainstRequest
from collage_core.documents.dry_run import DryRun
from collage_core.documents.node_times import InsideTimes
from collage_core.documents.plan import PlanInfo
from collage_core.documents.run import RunDocument
from collage_core.events import Emit
from collage_core.what_if.questions import Asked, Question
from collage_core.what_if.terms import Terms

if TYPE_CHECKING:
    from collage_core.pipeline.record.record import RunRecord

R = TypeVar("R")
"""An engine's own record of a run; only the engine looks into it."""
A = TypeVar("A")
Q = TypeVar("Q")

Json = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """The facts of a record that the server needs.

    Attributes:
        document: All that the run says.
        machine: The machine that measured its costs.
        model: The model's id.
        created: ISO time.
    """

    document: RunDocument
    machine: str
    model: str
    model_name: str
    targets: list[str]
    constraints: list[Json]
    created: str


class Engine(Protocol[R]):
    """The engine as the server sees it. Every method may raise CollageError for a mistake of the user.

    Attributes:
        imports: The modules that most calls need, so that a process has them before it is asked for anything.
    """

    imports: ClassVar[Sequence[str]]

    def check_option(self, targets: Sequence[str], name: str, value: Any) -> None:
        """Raise CollageError where a run on `targets` cannot have this value of the option `name`."""

    def dry_run(self, model: Path, options: Json) -> DryRun:
        """Return what ``collage partition --dry-run --json`` prints; `options` as for `partition`."""

    def partition(self, model: Path, options: Json, out: Path, emit: Emit, should_stop: Callable[[], bool]) -> R:
        """Run the whole pipeline; leave record, plan and artifact in `out`.

        Args:
            options: Fields of `collage_core.options.Options` as JSON has them.
            should_stop: Asked often; once it is True, the run ends soon, with the best plan so far. Where there is none yet, it
                raises Cancelled.
        """

    def search_again(self, record: R, terms: Terms, emit: Emit, own: R | None = None) -> R:
        """Search alone, on the costs that `record` knows, unless the plan of the run holds the terms.

        Args:
            own: The run, where it is itself a search on the costs of `record`.
        """

    def measure_again(self, record: R, model: Path, candidate: str, terms: Terms, emit: Emit) -> R:
        """Measure one candidate afresh, and search on the costs that are known then."""

    def own_run(self, record: R, model: Path, given: AgainstRequest, emit: Emit) -> R:
        """Measure a plan of the user's own, and return a run that has it as its plan."""

    def decided(self, record: R, model: Path, limit_s: float, terms: Terms, emit: Emit) -> R:
        """Measure for some seconds what is undecided, and search on the costs that are known then."""

    def with_described(self, record: R, descriptions: Mapping[str, str], terms: Terms, emit: Emit) -> R:
        """Return `record` with candidates of described toolchains and their estimates; `search_again` on it gives the plan.

        Args:
            descriptions: Name of a text in a mistake → the text.
        """

    def build(self, record: R, model: Path, out: Path, form: str, emit: Emit) -> None:
        """Build the plan of `record` into `out` and verify it; the record says afterwards how that went.

        The plan is timed by itself (`VerifyInfo.apart`). `form` is that of the artifact, an `AskedForm`.
        """

    def load_record(self, folder: Path) -> R:
        """Read the record that is in `folder`."""

    def check_record(self, record: R) -> None:
        """Raise CollageError where a record that came from elsewhere contradicts itself."""

    def save_record(self, record: R, folder: Path) -> None:
        """Write the record and its plan into `folder`."""

    def outcome(self, record: R) -> Outcome:
        """Return what the server needs to know of `record`."""

    def plan(self, record: R) -> Json:
        """Return the plan of `record`, as its plan file holds it."""

    def graph(self, record: R) -> Json:
        """Return the model's graph, as `DataflowGraph.to_json` gives it."""

    def node_count(self, record: R) -> int:
        """Return how many nodes the model has."""

    def ask(self, record: R, question: Question[..., Q, A], request: Q, own: R | None = None) -> A:
        """Return the answer to `question` about `record`.

        Args:
            own: As in `search_again`.

        Raises:
            InfeasibleError: it is about other terms, and no plan holds them.
        """

    def candidate_table(self, record: R) -> Json:
        """Return the fields of `PackedCandidates`, but for the run."""

    def why_not_forms(self, record: R) -> dict[str, str]:
        """Return form of an artifact → why the plan cannot have it, of the forms that it cannot have."""

    def baseline_plan(self, record: R, name: str) -> PlanInfo:
        """Return the plan of the target `name` alone, or the greedy one."""

    def profile(self, artifact: Path) -> InsideTimes:
        """Run the artifact in the folder, and return the profile that ``collage run --profile --json`` prints."""

    def trace(self, record: R, file: Path, on_steps: Callable[[int], None]) -> None:
        """Search again what `record` is of, and write every step into `file`; `on_steps` hears how many there are so far."""


class CollageEngine(Engine["RunRecord"]):
    """`collage_core` as an engine."""

    imports = (
        *("collage_core.model.relax.load", "collage_core.pipeline.partition", "collage_core.what_if.described_what_if"),
        *("collage_core.what_if.remeasure", "collage_core.what_if.search_again", "collage_core.what_if.undecided"),
    )

    def check_option(self, targets: Sequence[str], name: str, value: Any) -> None:
        from collage_core.options import Options

        Options(**options_from_json({"targets": targets, name: value}))

    def dry_run(self, model: Path, options: Json) -> DryRun:
        from collage_core.options import Options
        from collage_core.pipeline.each_shape import dry_run_at_shapes

        return dry_run_at_shapes(model, Options(**options_from_json(options)))

    def partition(self, model: Path, options: Json, out: Path, emit: Emit, should_stop: Callable[[], bool]) -> RunRecord:
        from collage_core.options import Options
        from collage_core.pipeline.partition import partition

        # A module of several regions was opened at one of them, so it need not be read once more.
        return partition(model, Options(**options_from_json(options), out=out), emit, should_stop=should_stop, regions=())

    def search_again(self, record: RunRecord, terms: Terms, emit: Emit, own: RunRecord | None = None) -> RunRecord:
        from collage_core.what_if.search_again import search_again

        return search_again(record, terms, emit, own)

    def measure_again(self, record: RunRecord, model: Path, candidate: str, terms: Terms, emit: Emit) -> RunRecord:
        from collage_core.what_if.remeasure import measure_again

        return measure_again(record, model, candidate, emit, terms)

    def own_run(self, record: RunRecord, model: Path, given: AgainstRequest, emit: Emit) -> RunRecord:
        from collage_core.what_if.given_plan import given_from_text
        from collage_core.what_if.own_run import own_run

        return own_run(record, given_from_text(given.text, given.name), given.devices, model, emit)

    def decided(self, record: RunRecord, model: Path, limit_s: float, terms: Terms, emit: Emit) -> RunRecord:
        from collage_core.what_if.undecided import decided

        return decided(record, model, limit_s, terms, emit)

    def with_described(self, record: RunRecord, descriptions: Mapping[str, str], terms: Terms, emit: Emit) -> RunRecord:
        from collage_core.what_if.described_what_if import with_described

        return with_described(record, descriptions, terms, emit)

    def build(self, record: RunRecord, model: Path, out: Path, form: str, emit: Emit) -> None:
        from collage_core.pipeline.shapes.apply_shapes import apply

        verify = replace(apply(record.plan, model, out, emit, form=form), apart=True)
        record.document = replace(record.document, verify=verify)

    def load_record(self, folder: Path) -> RunRecord:
        from collage_core.pipeline.record.record import RunRecord

        return RunRecord.load(folder)

    def check_record(self, record: RunRecord) -> None:
        from collage_core.pipeline.record.record_agreement import check_agreement

        check_agreement(record)

    def save_record(self, record: RunRecord, folder: Path) -> None:
        record.save(folder)

    def outcome(self, record: RunRecord) -> Outcome:
        plan = record.plan
        return Outcome(
            document=record.document,
            machine=record.machine,
            model=plan.model.hash,
            model_name=plan.model.name,
            targets=[target.name for target in plan.targets],
            constraints=[dict(item) for item in plan.constraints],
            created=record.created,
        )

    def plan(self, record: RunRecord) -> Json:
        return record.plan.to_json()

    def graph(self, record: RunRecord) -> Json:
        return record.graph.to_json()

    def node_count(self, record: RunRecord) -> int:
        return len(record.graph)

    def ask(self, record: RunRecord, question: Question[..., Q, A], request: Q, own: RunRecord | None = None) -> A:
        return question.function(Asked(record, request, own))

    def candidate_table(self, record: RunRecord) -> Json:
        from .candidate_table import candidate_table

        return candidate_table(record)

    def why_not_forms(self, record: RunRecord) -> dict[str, str]:
        from collage_core.rewrite.forms import why_not_forms

        return why_not_forms(record.plan, record.graph)

    def baseline_plan(self, record: RunRecord, name: str) -> PlanInfo:
        from collage_core.what_if.what_if import baseline_plan

        return baseline_plan(record, name)

    def profile(self, artifact: Path) -> InsideTimes:
        from collage_core.pipeline.inside.inside_times import profile_folder

        return profile_folder(artifact)

    def trace(self, record: RunRecord, file: Path, on_steps: Callable[[int], None]) -> None:
        from collage_core.trace.trace import trace

        trace(record, file, on_steps)


COLLAGE = CollageEngine()


def options_from_json(given: Json) -> Json:
    """Return options as JSON has them, with the tuples and sets of `collage_core.options.Options`."""
    read: dict[str, Callable[[Any], Any]] = {
        "targets": tuple,
        "constraints": tuple,
        "taps": frozenset,
        "toolchain_files": lambda paths: tuple(map(Path, paths)),
        "shapes": lambda shapes: {name: shape if isinstance(shape, str) else tuple(shape) for name, shape in shapes.items()},
    }
    return {name: read[name](value) if name in read else value for name, value in given.items()}
