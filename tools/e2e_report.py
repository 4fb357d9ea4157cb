"""The tables and the goals of `make bench-e2e`: the results of its jobs enter, Markdown and PASS or FAIL leave. Measures nothing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench import table
from fresh_process import ALONE, LESS_PRECISE, MIX, Ratio, Rounds
from partitioned import baseline
from suite import NETWORKS, NOT_BEHIND, Case

MODEL_ACCURACY = "model"
"""The accuracy that a model's own plan needs; any other accuracy is a number as text."""

GEOMETRIC_MEAN = 1.5
"""Of the ratios of the nine networks."""
DRAWN_MEAN = {1: 1.5, 2: 1.3}
"""Threads → the same of drawn variants of them, where the best plans of few pieces reach it."""
PIECES = "pieces"
"""With a number behind it, the name of a plan that a search over few pieces found."""
BEST_OF_PIECES = 0.97
"""The least ratio of the best of these to the plan."""
LESS_PRECISE_RATIO = 1.6
"""Of the best float32 toolchain to the mix, where less precision is allowed, on convolutional models."""
MEDIAN_ERROR = 0.05
WORST_ERROR = 0.15
"""How far the measured time of a plan may be from the predicted one, as a share of the latter."""
FIRST_PLAN_S, FIRST_PLAN_NODES = 10.0, 500
"""A model of fewer nodes has a complete plan after so many seconds."""
MEDIAN_TOOK_S = 45.0
FEWEST_FOR_MEDIAN = 3
"""The median of the seconds of fewer runs says nothing of a suite."""
WORST_TOOK_S = 150.0


@dataclass(frozen=True)
class Job:
    """One model with one number of threads at one accuracy."""

    case: Case
    threads: int
    accuracy: str = MODEL_ACCURACY

    @property
    def key(self) -> str:
        return f"{self.case.name}, {self.group}"

    @property
    def group(self) -> str:
        accuracy = "float32 accuracy" if self.accuracy == MODEL_ACCURACY else f"--accuracy {self.accuracy}"
        return f"{accuracy}, {'one thread' if self.threads == 1 else f'{self.threads} threads'}"

    @property
    def is_less_precise(self) -> bool:
        return self.accuracy != MODEL_ACCURACY

    @property
    def least_ratio(self) -> float:
        """The ratio to the best float32 toolchain alone that the plan should reach."""
        return LESS_PRECISE_RATIO if self.is_less_precise and self.case.is_convolutional else self.case.least_ratio


@dataclass(frozen=True)
class Result:
    """Findings of a job.

    Attributes:
        facts: Of the run (`partitioned.facts_of`); empty where there is none.
        rounds: Of the artifact and the toolchains alone.
        errors: The largest error of each of them.
        accuracy: The accuracy that was asked for.
        seconds: How long the run took.
        reason: Why there is no artifact to measure; empty where there is one.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    rounds: Rounds = field(default_factory=Rounds)
    errors: Mapping[str, float] = field(default_factory=dict)
    accuracy: float = 0.0
    seconds: float = 0.0
    reason: str = ""

    @property
    def measured_s(self) -> float | None:
        """The seconds of the artifact over the rounds."""
        return self.rounds.time_s(MIX)

    @property
    def best(self) -> str | None:
        """The fastest toolchain alone, of those that compute in float32."""
        return self.rounds.best(ALONE)

    @property
    def ratio(self) -> Ratio | None:
        return self.rounds.ratio(self.best)

    @property
    def less_precise_ratio(self) -> Ratio | None:
        """The ratio of the fastest toolchain alone that computes in less precision, of those that are accurate enough."""
        return self.rounds.ratio(self.rounds.best([kind for kind in LESS_PRECISE if self.errors.get(kind, math.inf) <= self.accuracy]))

    @property
    def pieces_ratio(self) -> Ratio | None:
        """The ratio of the fastest plan of few pieces to the mix; None where none was looked for, or none runs."""
        return self.rounds.ratio(self.rounds.best([name for name in self.rounds.seconds if name.startswith(PIECES)]))

    @property
    def additive_error(self) -> float | None:
        """By what share the time that the run measured is above that of the parts as they were measured alone, before any correction."""
        error_s, measured_s = self.facts.get("additive_error_s"), self.facts.get("measured_s")
        return error_s / (measured_s - error_s) if error_s is not None and measured_s and measured_s > error_s else None

    @property
    def fresh_error(self) -> float | None:
        """By what share the time in fresh processes is above the predicted one."""
        total_s, measured_s = self.facts.get("total_s"), self.measured_s
        return measured_s / total_s - 1 if total_s and measured_s else None

    @property
    def greedy_s(self) -> float | None:
        """The seconds of greedy's plan, as fresh processes would measure them: as many times those of the mix as in the run."""
        greedy_s = baseline(self.facts, "greedy") if self.facts else None
        own_s, fresh_s = self.facts.get("measured_s"), self.measured_s
        return greedy_s / own_s * fresh_s if greedy_s and own_s and fresh_s else None

    @property
    def failure(self) -> str:
        """Why there is no ratio; empty where there is one."""
        return self.reason or self.rounds.reasons.get(MIX, "") or ("" if self.best else "no toolchain alone runs the model")


Results = Mapping[str, tuple[Job, Result]]
"""Key of a job → the job and its result, in the order of the suite."""


@dataclass(frozen=True)
class Goal:
    """A number, and the bound that it should keep."""

    name: str
    value: float | None
    bound: float
    is_least: bool = True
    is_share: bool = False
    detail: str = ""

    @property
    def is_reached(self) -> bool:
        return self.value is not None and (self.value >= self.bound if self.is_least else self.value <= self.bound)

    def __str__(self) -> str:
        form = (lambda number: f"{number:.1%}") if self.is_share else (lambda number: f"{number:.3f}")
        value = "no figure" if self.value is None else form(self.value)
        wanted = f"{'at least' if self.is_least else 'at most'} {form(self.bound)}"
        return f"{'PASS' if self.is_reached else 'FAIL'}  {self.name}: {value}{self.detail and f' ({self.detail})'}, wanted {wanted}"


def goals(results: Results) -> list[Goal]:
    """Return every goal that the results say something about: of the mixes on one thread, of the additive error in each group."""
    made: list[Goal] = []
    for group in groups(results):
        found = [(job, result) for job, result in results.values() if job.group == group]
        if found[0][0].threads == 1 or found[0][0].case.is_drawn:
            made += _ratio_goals(group, found)
        errors = [abs(error) for _, result in found if (error := result.additive_error) is not None]
        made += _time_goals(group, [result for _, result in found if not result.reason])
        if errors:
            made.append(Goal(f"{group}, additive error, median of {len(errors)}", statistics.median(errors), MEDIAN_ERROR, False, True))
            made.append(Goal(f"{group}, additive error, worst", max(errors), WORST_ERROR, False, True))
    return made


def _time_goals(group: str, found: Sequence[Result]) -> Iterator[Goal]:
    if not found:
        return
    took = [result.seconds for result in found]
    if len(took) >= FEWEST_FOR_MEDIAN:
        yield Goal(f"{group}, seconds of a run, median of {len(took)}", statistics.median(took), MEDIAN_TOOK_S, is_least=False)
    yield Goal(f"{group}, seconds of a run, worst", max(took), WORST_TOOK_S, is_least=False)
    firsts = [result.facts["first_plan_s"] for result in found if result.facts["nodes"] < FIRST_PLAN_NODES]
    if firsts:
        worst = None if None in firsts else max(firsts)
        yield Goal(f"{group}, seconds until the first plan, worst of {len(firsts)}", worst, FIRST_PLAN_S, is_least=False)


def _ratio_goals(group: str, found: Sequence[tuple[Job, Result]]) -> Iterator[Goal]:
    for job, result in found:
        yield _ratio_goal(f"{job.key}, best float32 toolchain alone / mix", result.ratio, job.least_ratio, result)
        if result.less_precise_ratio is not None:
            yield _ratio_goal(f"{job.key}, best less precise one / mix", result.less_precise_ratio, NOT_BEHIND, result)
        if job.case.is_drawn:
            yield _ratio_goal(f"{job.key}, best plan of few pieces / mix", result.pieces_ratio, BEST_OF_PIECES, result)
    yield from _drawn_mean(group, found)
    networks = {job.case.name: result.ratio for job, result in found if job.case.by_hand is not None and not job.is_less_precise}
    if len(networks) == len(NETWORKS):
        values = [ratio.value for ratio in networks.values() if ratio is not None]
        mean = statistics.geometric_mean(values) if len(values) == len(NETWORKS) else None
        yield Goal(f"{group}, geometric mean of the nine networks", mean, GEOMETRIC_MEAN)


def _drawn_mean(group: str, found: Sequence[tuple[Job, Result]]) -> Iterator[Goal]:
    """Yield the goal of the mean over drawn models: what it should be, or what the best plans of few pieces reach where that is less."""
    known = [
        (result.ratio.value, result.pieces_ratio.value)
        for job, result in found
        if job.case.is_drawn and not job.is_less_precise and result.ratio is not None and result.pieces_ratio is not None
    ]
    if known:
        mean = statistics.geometric_mean(ratio for ratio, _ in known)
        allowed = statistics.geometric_mean(ratio / pieces for ratio, pieces in known)
        wanted = min(DRAWN_MEAN.get(found[0][0].threads, max(DRAWN_MEAN.values())), BEST_OF_PIECES * allowed)
        detail = f"few pieces reach {allowed:.3f}"
        yield Goal(f"{group}, geometric mean of {len(known)} drawn models", mean, wanted, detail=detail)


def _ratio_goal(name: str, ratio: Ratio | None, bound: float, result: Result) -> Goal:
    detail = f"{ratio.low:.3f} to {ratio.high:.3f} in {ratio.rounds} rounds" if ratio else result.failure
    return Goal(name, ratio.value if ratio else None, bound, detail=detail)


def groups(results: Results) -> list[str]:
    """Return the groups that have results, in order."""
    return list(dict.fromkeys(job.group for job, _ in results.values()))


HEADER = (
    "model",
    *ALONE,
    *LESS_PRECISE,
    "greedy",
    "predicted",
    "measured",
    "off by",
    "fresh",
    "alone / mix",
    "pieces / mix",
    "mix of",
    "candidates",
    "first plan s",
    "took s",
)


def row(job: Job, result: Result) -> tuple[str, ...]:
    """Return the cells of one job as `HEADER` names them; times in milliseconds."""
    facts = result.facts
    counts = " / ".join(f"{facts[key]:,}" for key in ("candidates", "distinct", "measured")) if facts else "-"
    return (
        job.case.name,
        *(_bold(_ms(result.rounds.time_s(kind)), kind == result.best) for kind in (*ALONE, *LESS_PRECISE)),
        _ms(result.greedy_s),
        _ms(facts.get("total_s")),
        _ms(result.measured_s),
        *("-" if error is None else f"{error:+.1%}" for error in (result.additive_error, result.fresh_error)),
        str(result.ratio or "-"),
        str(result.pieces_ratio or "-"),
        f"{facts['partitions']}: {' + '.join(facts['targets'])}" if facts else "-",
        counts,
        f"{facts['first_plan_s']:.1f}" if facts and facts["first_plan_s"] is not None else "-",
        f"{result.seconds:.0f}",
    )


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.3g}" if seconds < 1 else f"{seconds * 1e3:.0f}"


def _bold(text: str, is_bold: bool) -> str:
    return f"**{text}**" if is_bold else text


def notes(job: Job, result: Result) -> Iterator[str]:
    """Yield what the cells of a job leave unsaid: who does not run the model and why, and who errs more than is allowed."""
    model = job.case.name
    if result.reason:
        yield f"{model}: {result.reason}"
    for kind, reason in result.rounds.reasons.items():
        yield f"{model}: {_contender(kind)} does not run it: {reason}"
    for kind, error in result.errors.items():
        if not error <= result.accuracy and kind in result.rounds.seconds:
            yield f"{model}: {_contender(kind)} errs by {error:.2g}, {result.accuracy:g} is allowed"


def _contender(kind: str) -> str:
    return "the artifact" if kind == MIX else f"{kind} alone"


def summary(group: str, results: Results) -> str:
    """Return, in one line, the geometric mean of the networks, the least ratio of the others, and the additive errors."""
    found = [(job, result) for job, result in results.values() if job.group == group]
    networks = [result.ratio.value for job, result in found if job.case.by_hand is not None and result.ratio]
    others = {job.case.name: result.ratio.value for job, result in found if job.case.by_hand is None and result.ratio}
    errors = {job.case.name: abs(error) for job, result in found if (error := result.additive_error) is not None}
    said = []
    if networks:
        said.append(f"geometric mean of {len(networks)} of {len(NETWORKS)} networks: {statistics.geometric_mean(networks):.2f}")
    if others:
        least = min(others, key=lambda name: others[name])
        said.append(f"least of {len(others)} others: {others[least]:.3f} ({least})")
    if errors:
        worst = max(errors, key=lambda name: errors[name])
        said.append(f"additive error: median {statistics.median(errors.values()):.1%}, worst {errors[worst]:.1%} ({worst})")
    return "; ".join(said)


def report(results: Results) -> str:
    """Return the table, the notes and the summary of each group, as Markdown."""
    parts = []
    for group in groups(results):
        found = [(job, result) for job, result in results.values() if job.group == group]
        lines = [f"- {note}" for job, result in found for note in notes(job, result)]
        shown = table(HEADER, [row(job, result) for job, result in found])
        parts.append("\n\n".join(filter(None, [f"### {_capital(group)}", shown, "\n".join(lines), _capital(summary(group, results))])))
    return "\n\n".join(parts)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
