"""`run_once`: the phases of a run in order, emitting events. `finish`: the last of them, for a run that has decided on its plan.

A model and `Options` enter; a `RunRecord` leaves, and with ``out`` a folder with plan, run and artifact (RFC 62, Collage, phases 1
to 4). Toolchains never run in this process. Modules that build are imported only when something is built.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from ..cost.estimators.function import CostFunction
from ..documents.verify import Nearest
from ..errors import AccuracyError, Cancelled, InfeasibleError
from ..events import Emit, Note
from ..options import Options
from ..rewrite.partition_models import PartitionModel
from ..rules.candidate import CandidatePartition
from ..search.constraints.constraints import allowed_indices
from ..toolchains.border import availability_of
from .apply import check_accuracy, make_folder
from .decision import Decision
from .loop.budget import Deadline, late_text
from .loop.search_and_merge import refused_by_constraints
from .record.record import RunRecord
from .searched_run import SearchedRun
from .whole.choose_finalists import another_plan

NEAREST_S = 60.0
"""So long the nearest toolchain may be looked for, however little of the run's time is left: it is the answer where no plan is right."""


def run_once(
    source: str | Path, options: Options, emit: Emit, function: CostFunction | None, should_stop: Callable[[], bool], waited_s: float = 0.0
) -> RunRecord:
    """Run all phases for one region at one shape; arguments and errors are those of `partition`.

    Measured costs go on to build, verify and time the plan and every target alone; with other costs that is done only
    with ``options.out``. A plan in which a described toolchain has a part is not built.
    """
    run = SearchedRun(source, options, emit, function, should_stop=should_stop, waited_s=waited_s)
    try:
        with closing(run):
            decision = run.search(run.cost())
    except InfeasibleError as error:
        if run.is_stopped():
            raise Cancelled from None
        raise with_nearest(run, error) from error
    record = finish(run, decision)
    late = late_text(run.phases.elapsed_s, run.whole_run_s + run.loop.tuned_s, run.budget.spent_s) if options.is_measured else ""
    if late:
        emit(Note(late))
    return record


def finish(run: SearchedRun, decision: Decision) -> RunRecord:
    """Build and compare the plan that is decided on, as far as the options of the run ask for that, and write what they ask for.

    Raises:
        CollageError, AccuracyError: as `run_once`.
    """
    options = run.options
    if options.builds and options.is_measured:
        from .next_plan import built_in_time

        decision = built_in_time(run, decision)
    record = run.record(decision)
    if options.out is not None:
        make_folder(options.out)
        record.save(options.out)
    if options.builds:
        from .next_plan import build_until_right

        try:
            decision, record, _ = build_until_right(run, decision, record)
        finally:
            run.close()  # comparing whole plans may have measured more
            run.remove_packages()
        record = replace(record, document=replace(record.document, cancelled=run.cancelled_document(record.document)))
        verify = record.document.verify
        if verify.max_rel_error is not None and not verify.max_rel_error <= record.plan.accuracy:
            verify = replace(verify, nearest=nearest_of(run, decision))
            record = replace(record, document=replace(record.document, verify=verify))
        if options.out is not None:
            record.save(options.out)
        try:
            check_accuracy(verify, record.plan.accuracy)
        except AccuracyError as error:
            error.document = record.document
            raise
    return record


def with_nearest(run: SearchedRun, error: InfeasibleError) -> InfeasibleError:
    """Return `error` with the target that alone comes nearest, where nodes are left since all that takes them errs too much."""
    from .whole.nearest import nearest_hint, nearest_text

    wrong = [item for item in run.loop.table.costed() if item.cost.stage == "numerics"]
    if not any(index in item.inside for item in wrong for index in error.uncovered):
        return error
    nearest = nearest_of(run, None)
    if nearest is None:
        return error
    return InfeasibleError(f"{error.message}; {nearest_text(nearest)}", nearest_hint(nearest), uncovered=error.uncovered)


def nearest_of(run: SearchedRun, decision: Decision | None) -> Nearest | None:
    """Return the target that alone comes nearest to the reference; None where none can have the whole model, or was tried in time.

    Args:
        decision: None where there is no plan.
    """
    from .whole.nearest import nearest_alone

    alone = {target: pieces for target in run.options.targets if (pieces := _pieces_alone(run, decision, target))}
    deadline = Deadline(max(run.deadline.left_s, NEAREST_S))
    terms = run.inputs, run.found.accuracy(), run.options.used_threads, run.options.value_policy
    return nearest_alone(run.found.model, alone, *terms, lambda: run.is_stopped() or deadline.is_over())


def _pieces_alone(run: SearchedRun, decision: Decision | None, target: str) -> list[PartitionModel]:
    """Return the partitions by which `target` has the whole model, though they err: one if it can; none where it cannot."""
    from .whole.assemble_and_verify import pieces_of

    graph, model = run.found.graph, run.found.model
    if not availability_of(run.found.toolchains[target]).usable:
        return []
    whole = [item for item in run.loop.table.costed() if item.target == target and len(item.inside) == len(graph)]
    # One that is wrong can be built and run; what is invalid for another reason cannot.
    can_run = [item.held for item in whole if not item.cost.is_invalid or item.cost.stage == "numerics"]
    held = [candidate for candidate in can_run if isinstance(candidate, CandidatePartition)]
    if held and not refused_by_constraints(graph, held[:1], run.found.toolchains, run.options.constraints):
        return [PartitionModel(target, tuple(node.name for node in graph.nodes), model.cut(held[0].inside), held[0].id)]
    chosen = None if decision is None else decision.baseline_plans.get(target)
    if decision is None or chosen is None:
        return []
    problem = decision.searched.problem
    if not set(allowed_indices(problem, run.plans.constraints(problem))).issuperset(chosen):
        return []
    return pieces_of(model, run.plan_of(another_plan(decision.searched, chosen), decision.bodies))
