"""`make bench-costs`: how far measured costs can be believed, and what lazy measuring saves; prints tables.

It takes the parts to measure and the models. It prints tables, and PASS or FAIL for each goal; it exits with status 1 when one
fails. Everything is measured into databases of its own, which are removed. It takes an hour, 20 minutes of that
for the ablation, and needs a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bench_ablation import BEGIN, END, FEWEST_RIGHT, computation_table, right_share, variant_table
from bench_recording import Recording, record
from recorded_costs import MEASURED_WHOLLY, RecordedCosts, computation_key
from suite import OTHERS as WHOLLY_RECORDED

from collage_core.base.isolation.worker import Worker
from collage_core.base.processor import usable_cores
from collage_core.cost.cost import PROFILE, Cost
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.records import Record, machine_id
from collage_core.cost.estimators.measure import MeasureEstimator
from collage_core.cost.measuring.noise_filter import HIGH_LATENCY
from collage_core.cost.measuring.repetitions import FEWEST
from collage_core.events import Event, StepStarted
from collage_core.graph.computation import Computations
from collage_core.graph.index_set import IndexSet
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.accuracy import default_accuracy
from collage_core.model.samples.registry import resolve
from collage_core.options import Options
from collage_core.pipeline.loop.certainty import together_s
from collage_core.pipeline.loop.measuring_policy import MeasuringPolicy
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.pipeline.searched_run import SearchedRun
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.spec import HOST_TARGET

TARGETS = ("onnxruntime", "openvino", "tvm")
MODELS = ("mini_mnist", "mnist", "lstm", "quantised", "bert", "gpt2", "resnet50", "inception", "squeezenet")
"""Small ones first: some parts are measured on the first ones, or on the first and the last."""
ABLATION_MODELS = ("mnist", "quantised", "lstm", "squeezenet", "gpt2", "resnet50")
"""Their whole takes 0.02 to 40 ms."""
ABLATION_S = 18 * 60.0
RECORDING = Path(".make/ablation.json.gz")
VISITS = 6
SMALL = 4
"""With no candidates of more nodes than this, many partitions must be put together, and many costs matter."""
TRIES = 20
TRIALS = 12
THREADED = ("onnxruntime", "tvm")
"""Targets whose kernels are timed at low and high core-to-core latency: one with threads of its own, and one with TVM's."""
AGREEING = 19
CALLS = 200
ESTIMATES = 20
MEDIAN_ERROR, WORST_ERROR = 0.1, 0.3
"""By so much estimates from profiles may miss later trials: in the median, and the worst of 95 % of them."""
NUMBERS_S, SMALL_MODEL = 10.0, 500
"""The candidates of a model of fewer nodes have a number so many seconds after the start of a run."""
DATABASE = "costs.sqlite3"

Row = Sequence[object]


def main() -> int:
    """Run the parts that are asked for."""
    parts: dict[str, Callable[[Sequence[str]], Iterator[str]]] = {
        "lazy": replayed,
        "live": live,
        "latency": low_and_high_latency,
        "aa": measured_twice,
        "profiles": estimated,
        "additive": additive,
        "workers": workers,
        "ablation": lambda models: ablation(models, given.recording, given.visits),
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=parts, action="append", help="one part; repeatable")
    parser.add_argument("--models", help="samples to measure: a,b,…")
    parser.add_argument("--recording", type=Path, help="ablation: evaluate this recording, and measure nothing")
    parser.add_argument("--visits", type=int, default=VISITS, help="ablation: measurements of each cost")
    given = parser.parse_args()
    print(f"{machine_id()}, {usable_cores()} usable\n")
    verdicts = []
    for name in given.only or parts:
        defaults = ABLATION_MODELS if name == "ablation" else MODELS
        verdicts += list(parts[name](given.models.split(",") if given.models else defaults))
    print("\n".join(verdicts))
    return int(any(verdict.startswith("FAIL") for verdict in verdicts))


def show(title: str, head: Row, rows: Sequence[Row]) -> None:
    """Print a table in Markdown."""
    print(f"## {title}\n")
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def verdict(is_met: bool, text: str) -> str:
    """Return a line that says whether a goal is met."""
    return f"{'PASS' if is_met else 'FAIL'}  {text}"


def replay(recorded: RecordedCosts) -> tuple[int, int, float]:
    """Return how many distinct computations there are, how many were measured, and the plan's total over the least total."""
    loop = recorded.loop()
    loop.costs()
    total, least = recorded.best(loop.table.costed()).total, recorded.best().total
    distinct = len({computation_key(candidate) for candidate in recorded.candidates if candidate.target != HOST_TARGET})
    return distinct, len(recorded.asked), total / least


def replayed(models: Sequence[str]) -> Iterator[str]:
    """Print what lazy measuring saves and loses, over the recorded costs of every sample."""
    rows, shares, losses = [], [], []
    for name in sorted(case.name for case in WHOLLY_RECORDED):
        record = RunRecord.load(MEASURED_WHOLLY / f"{name}.json.gz")
        row: list[object] = [name]
        for most_nodes in (10**9, SMALL):
            distinct, asked, loss = replay(RecordedCosts(record, most_nodes))
            row += [distinct, asked, f"{asked / distinct:.0%}", f"{loss - 1:.2%}"]
            if most_nodes > SMALL:
                shares.append((asked, distinct))
                losses.append(loss)
        rows.append(row)
    few = f"at most {SMALL} nodes"
    head = ["sample", "distinct", "measured", "share", "lost", f"{few}: distinct", "measured", "share", "lost"]
    show("Lazy measuring, replayed over recorded costs", head, rows)
    share = sum(asked for asked, _ in shares) / sum(distinct for _, distinct in shares)
    yield verdict(
        share <= MeasuringPolicy().share,
        f"lazy: {share:.0%} of all distinct candidates of the samples measured, at most {MeasuringPolicy().share:.0%} may be",
    )
    yield verdict(max(losses) <= 1, f"lazy: the plan of all costs, on {sum(loss <= 1 for loss in losses)} of {len(losses)} samples")


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="collage-bench-") as folder:
        yield Path(folder)


def run_of(model: str, folder: Path, **more: Any) -> tuple[RunRecord, float]:
    """Return a run measured into a database of its own, and the seconds that measuring took."""
    record = partition(model, Options(TARGETS, costs_db=str(folder / DATABASE), **more))
    return record, record.document.phases.costs_s or 0.0


def wholly_run_of(model: str) -> tuple[RunRecord, float]:
    """As `run_of`, with every candidate measured: the recorded run, if that was on a machine like this one; else one measured now."""
    record = RunRecord.load(MEASURED_WHOLLY / f"{model}.json.gz")
    if record.machine == machine_id():
        return record, record.document.phases.costs_s or 0.0
    with scratch() as folder:
        return run_of(model, folder, measure_all=True)


def live(models: Sequence[str]) -> Iterator[str]:
    """Print the same samples measured lazily and wholly."""
    rows = []
    for model in models:
        with scratch() as folder:
            lazily, lazy_s = run_of(model, folder)
        wholly, whole_s = wholly_run_of(model)
        trials = [sum(row.measured for row in record.document.targets) for record in (lazily, wholly)]
        totals = [record.plan.total_s for record in (lazily, wholly)]
        same = {p.id for p in lazily.plan.partitions} == {p.id for p in wholly.plan.partitions}
        rows.append(
            [
                model, trials[1], trials[0], f"{trials[0] / trials[1]:.0%}", f"{whole_s:.0f}", f"{lazy_s:.0f}", f"{whole_s / lazy_s:.1f}",
                "the same" if same else "another", f"{totals[0] / totals[1]:.3f}",
            ]
        )  # fmt: skip
    head = ["sample", "trials, all", "lazy", "share", "seconds, all", "lazy", "times faster", "plan", "total, lazy / all"]
    show("Measured lazily and wholly", head, rows)
    yield from ()


class FirstNumbers:
    """The moment of a run at which profiles are taken: when that was, and how many of its candidates have a cost or an estimate then."""

    def __init__(self) -> None:
        self.run: SearchedRun | None = None
        self.seconds = math.nan
        self.numbered = self.candidates = 0
        self._began = time.perf_counter()

    def __call__(self, event: Event) -> None:
        if self.run is None or not isinstance(event, StepStarted) or event.step != "settle" or self.candidates:
            return
        table = self.run.loop.table
        table.set_estimates()
        costs = [item.cost for item in table.costed()]
        self.candidates, self.numbered = len(costs), sum(not (cost.is_unknown or cost.is_bound) for cost in costs)
        self.seconds = time.perf_counter() - self._began


def estimated(models: Sequence[str]) -> Iterator[str]:
    """Print by how much estimates from profiles miss trials that come later, of candidates drawn from all that were not measured.

    And how long it took from the start of the run until candidates had a number: a cost, or an estimate from a profile.
    """
    rows, every, firsts = [], list[float](), list[float]()
    for name in models:
        first = FirstNumbers()
        with scratch() as folder, closing(SearchedRun(name, Options(TARGETS, costs_db=str(folder / DATABASE)), first)) as run:
            first.run = run
            run.cost()
            table = run.loop.table
            table.set_estimates()
            guesses = {
                item.held: item.cost for item in table.costed() if item.cost.source == PROFILE and isinstance(item.held, CandidatePartition)
            }
            drawn = random.Random(0).sample(list(guesses), min(ESTIMATES, len(guesses)))
            run.budget.extend(math.inf)
            run.loop.get_known(drawn)
            pairs = [(guesses[candidate], table.seconds(candidate)) for candidate in drawn]
        errors = [abs((cost.seconds or 0.0) / seconds - 1) for cost, seconds in pairs if seconds]
        within = sum(abs((cost.seconds or 0.0) - seconds) <= (cost.interval_s or 0.0) for cost, seconds in pairs if seconds)
        every += errors
        firsts += [first.seconds] * (len(table.graph) < SMALL_MODEL)
        numbers = f"{first.seconds:.1f}", f"{first.numbered} of {first.candidates}"
        targets = ", ".join(sorted({candidate.target for candidate in guesses}))
        misses = (f"{share:.0%}" for share in spread(errors))
        rows.append([name, *numbers, targets, len(guesses), len(errors), *misses, f"{within} of {len(errors)}"])
    head = [
        "sample",
        "numbers after s",
        "have a number",
        "targets",
        "estimated",
        "tried",
        "median error",
        "worst of 95 %",
        "within the interval",
    ]
    show("Estimates from profiles beside later trials", head, rows)
    yield numbers_verdict(firsts)
    yield estimates_verdict(every)


def numbers_verdict(seconds: Sequence[float]) -> str:
    """Return whether the candidates of models had their numbers so many seconds after the start of a run as early as they should have."""
    worst = max(seconds, key=lambda one_s: math.inf if math.isnan(one_s) else one_s, default=math.nan)
    text = f"{worst:.1f} s after the start of a run at the latest, {NUMBERS_S:.0f} s may be"
    return verdict(worst <= NUMBERS_S, f"profiles: candidates of models under {SMALL_MODEL} nodes had a number {text}")


def spread(errors: Sequence[float]) -> tuple[float, float]:
    """Return the median of some errors and the worst of 95 % of them; 0 where there are none."""
    return (statistics.median(errors), sorted(errors)[math.ceil(0.95 * len(errors)) - 1]) if errors else (0.0, 0.0)


def estimates_verdict(errors: Sequence[float]) -> str:
    """Return whether estimates that miss their trials by these shares are as near as they should be."""
    middle, worst = spread(errors)
    text = f"{middle:.0%} in the median, at most {MEDIAN_ERROR:.0%} may be; worst of 95 %: {worst:.0%}, at most {WORST_ERROR:.0%} may be"
    is_met = bool(errors) and middle <= MEDIAN_ERROR and worst <= WORST_ERROR
    return verdict(is_met, f"profiles: estimates of {len(errors)} candidates miss their trials by {text}")


def parts_of(record: RunRecord) -> list[CandidatePartition]:
    return [
        CandidatePartition(record.graph, part.target, IndexSet(part.nodes), "plan")
        for part in record.plan.partitions
        if part.target != HOST_TARGET
    ]


def costs_of(model: OnnxModel, parts: Sequence[CandidatePartition], folder: Path, flushed: int | None = None) -> list[Cost]:
    """Return the costs of `parts`, measured afresh, in as many repetitions as for a plan that rests on them."""
    database, inputs = CostDatabase(folder / DATABASE), model.seeded_inputs()
    estimator = MeasureEstimator(model, inputs, usable_cores(), database, default_accuracy(model), flushed=flushed, is_afresh=True)
    try:
        known = {candidate: cost for candidate, cost, _ in estimator.estimate(model.graph, parts)}
        for _ in range(FEWEST):
            known.update((candidate, cost) for candidate, cost, _ in estimator.repeat(parts))
    finally:
        estimator.close()
    return [known[part] for part in parts]


def low_and_high_latency(models: Sequence[str]) -> Iterator[str]:
    """Print times of whole models on one target, in trials that know nothing of each other, at low and at high core-to-core latency."""
    rows = []
    for name in (models[0], models[-1]):
        model = load_model(resolve(name))
        whole = IndexSet(range(len(model.graph)))
        for target in THREADED:
            records = [trial_of(model, CandidatePartition(model.graph, target, whole, "whole")) for _ in range(TRIALS)]
            rows.append(
                [
                    name,
                    target,
                    *beside([(record.core_latency_s, statistics.median(record.samples)) for record in records if record.core_latency_s]),
                ]
            )
    columns = ["trials", "latency, ns", "median, ms", "±"]
    head = ["sample", "target", f"low: {columns[0]}", *columns[1:], f"high: {columns[0]}", *columns[1:], "times as long"]
    show("One kernel at low and at high core-to-core latency", head, rows)
    yield from ()


def beside(trials: Sequence[tuple[float, float]]) -> Row:
    """Return of trials (latency, seconds) at low latency how many, both medians, how far the seconds reach; the same at high latency."""
    most_s = (1 + HIGH_LATENCY) * min((core_latency_s for core_latency_s, _ in trials), default=0.0)
    groups = [trial for trial in trials if trial[0] <= most_s], [trial for trial in trials if trial[0] > most_s]
    cells: list[object] = []
    for latencies_s, seconds in (zip(*group, strict=True) if group else ((), ()) for group in groups):
        middle_s = statistics.median(seconds) if seconds else math.nan
        reach = f"{(max(seconds) - min(seconds)) / 2 / middle_s:.0%}" if seconds else ""
        cells += [
            len(seconds),
            f"{statistics.median(latencies_s) * 1e9:.0f}" if latencies_s else "",
            f"{middle_s * 1e3:.4g}" if seconds else "",
            reach,
        ]
    low, high = (statistics.median(seconds for _, seconds in group) if group else math.nan for group in groups)
    return [*cells, f"{high / low:.2f}" if math.isfinite(high / low) else ""]


def trial_of(model: OnnxModel, part: CandidatePartition) -> Record:
    """Return the record of one trial, in a new process and into a database of its own."""
    with scratch() as folder, CostDatabase(folder / DATABASE) as database:
        estimator = MeasureEstimator(model, model.seeded_inputs(), usable_cores(), database, default_accuracy(model))
        with closing(estimator):
            list(estimator.estimate(model.graph, [part]))
            return database.get([estimator.computation_key(part)])[estimator.computation_key(part)]


def interval_s(parts: Sequence[CandidatePartition], costs: Sequence[Cost]) -> float:
    """Return by how much the sum of the costs may be off."""
    return together_s((computation_key(part), cost.interval_s or 0.0) for part, cost in zip(parts, costs, strict=True))


def plan_in_parts(model: str, folder: Path) -> RunRecord:
    """Return a run whose plan has several partitions: no candidate has more than two nodes in a row, so none is a whole model."""
    return run_of(model, folder, max_depth={"": 2})[0]


def measured_twice(models: Sequence[str]) -> Iterator[str]:
    """Measure the parts of one plan twice (A/A); the two sums agree when they are within what they state."""
    rows, agreed_most = [], []
    for name in models[:2]:
        model = load_model(resolve(name))
        with scratch() as folder:
            parts = parts_of(plan_in_parts(name, folder))
            agreed, differences, intervals = 0, [], list[float]()
            for _ in range(TRIES):
                one, other = costs_of(model, parts, folder), costs_of(model, parts, folder)
                sums = [sum(cost.seconds or 0.0 for cost in costs) for costs in (one, other)]
                stated = math.hypot(*(interval_s(parts, costs) for costs in (one, other)))
                intervals.append(stated / sums[0])
                differences.append(abs(sums[0] - sums[1]) / sums[0])
                agreed += abs(sums[0] - sums[1]) <= stated
        shares = statistics.median(differences), max(differences), statistics.median(intervals)
        rows.append([name, len(parts), f"{agreed} of {TRIES}", *(f"{share:.1%}" for share in shares)])
        agreed_most.append(agreed)
    show(
        "The same plan measured twice", ["sample", "partitions", "agree", "median difference", "largest", "median of what is stated"], rows
    )
    for row, agreed in zip(rows, agreed_most, strict=True):
        yield verdict(
            agreed >= AGREEING, f"A/A {row[0]}: the sums agree within what they state in {agreed} of {TRIES} tries, {AGREEING} wanted"
        )


def additive(models: Sequence[str]) -> Iterator[str]:
    """Print the sum of a plan's parts beside the whole measured end to end: with caches as they will be in the model, and warm."""
    rows = []
    for name in models:
        model = load_model(resolve(name))
        with scratch() as folder:
            record = plan_in_parts(name, folder)
            parts = parts_of(record)
            warm = sum(cost.seconds or 0.0 for cost in costs_of(model, parts, folder, flushed=0))
        whole, total = record.document.verify.measured_s, record.plan.total_s
        assert whole is not None, f"the plan of {name} was not timed end to end"
        moved = total - sum(part.cost_s or 0.0 for part in record.plan.partitions)
        rows.append(
            [
                name,
                len(parts),
                f"{whole * 1e3:.4g}",
                f"{total * 1e3:.4g}",
                f"{whole / total - 1:+.1%}",
                f"{whole / (warm + moved) - 1:+.1%}",
            ]
        )
    head = ["sample", "partitions", "end to end, ms", "sum of parts, ms", "error, caches as in the model", "error, caches warm"]
    show("Additive error", head, rows)
    yield from ()


def workers(models: Sequence[str]) -> Iterator[str]:
    """Print what it costs that a trial runs in a process of its own."""
    with Worker() as worker:
        began = time.perf_counter()
        worker.call(math.sqrt, 4.0, timeout_s=60.0)
        start_s = time.perf_counter() - began
        began = time.perf_counter()
        for _ in range(CALLS):
            worker.call(math.sqrt, 4.0, timeout_s=60.0)
        call_s = (time.perf_counter() - began) / CALLS
    rows = []
    for name in models[:2]:
        model = load_model(resolve(name))
        with scratch() as folder:
            parts = parts_of(plan_in_parts(name, folder))
            began = time.perf_counter()
            database = CostDatabase(folder / "overhead.sqlite3")
            estimator = MeasureEstimator(model, model.seeded_inputs(), usable_cores(), database, default_accuracy(model))
            count = len(list(estimator.estimate(model.graph, parts)))
            wall_s = time.perf_counter() - began
            spent_s = sum(
                record.seconds_spent
                for _, record in database.of_computations(model.graph.derive(Computations).key(p.inside) for p in parts)
            )
            estimator.close()
        rows.append([name, count, f"{wall_s:.1f}", f"{spent_s:.1f}", f"{(wall_s - spent_s) / count * 1e3:.0f}"])
    show("Trials in workers", ["sample", "trials", "seconds in all", "building, checking and timing", "the rest for each, ms"], rows)
    print(f"A worker starts in {start_s:.2f} s, a call takes {call_s * 1e3:.2f} ms.\n")
    yield from ()


def ablation(models: Sequence[str], given: Path | None, visits: int) -> Iterator[str]:
    """Print what each piece of the noise machinery does to the A/A difference, to the stated interval, and to the time."""
    if given is None:
        recording = record(models, visits, ABLATION_S, machine_id())
        recording.save(RECORDING)
        print(f"recorded in {RECORDING}; --recording {RECORDING} evaluates it once more\n")
    else:
        recording = Recording.load(given)
    print(f"{BEGIN}\n")
    show("Ablation: what each piece of the noise machinery brings", *variant_table(recording))
    show("With every piece on, by computation", *computation_table(recording))
    print(f"{END}\n")
    share = right_share(recording)
    text = f"ablation: two measurements agree within what they state in {share:.1%} of all tries, {FEWEST_RIGHT:.0%} wanted"
    yield verdict(share >= FEWEST_RIGHT, text)


if __name__ == "__main__":
    sys.exit(main())
