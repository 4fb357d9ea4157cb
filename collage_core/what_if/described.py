"""Described toolchains beside what a run knows: what would one bring, on the costs that are there? Nothing is measured or built.

What enters is a record and descriptions; what leaves is a record whose candidates are those of the run and those of the
described toolchains, which cost what their ``[cost]`` estimates. `search_again` on it says what they bring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..cost.estimators.roofline import RooflineEstimator
from ..errors import CollageError
from ..events import CandidatesFound, Emit, Note, ignore
from ..graph.index_set import IndexSet
from ..pipeline.described import described_options
from ..pipeline.discover import Phases
from ..pipeline.record import DESCRIBED, CostedCandidate, RunRecord, search_candidates
from ..pipeline.run_specs import rule_reports
from ..pipeline.search_and_merge import Planned, SearchSettings, alone, merge_rounds, searched
from ..rewrite.plan import PlannedTarget
from ..rules import rule_report
from ..rules.base import RuleOptions
from ..rules.candidate import CandidatePartition, RejectionLog, make_candidate
from ..rules.spec import HOST_TARGET, find_candidates, gather_specs
from ..search.problem import FEMTOSECONDS, SearchProblem
from ..toolchains.described import DescribedToolchain, parse_description
from ..toolchains.registry import check_name_is_free
from .terms import Terms


def with_described(record: RunRecord, descriptions: Mapping[str, str], terms: Terms, emit: Emit = ignore) -> RunRecord:
    """`record` with the candidates of described toolchains, those merged from neighbours under `terms` too.

    A described toolchain that the run had is replaced by the one of its name.

    Args:
        descriptions: What a text is called in a mistake → the text, as a TOML file has it.

    Raises:
        CollageError: one does not read, has the name of a toolchain, or no ``[cost]``; a constraint is malformed.
        InfeasibleError: no plan holds the terms.
    """
    read = [parse_description(text, source) for source, text in descriptions.items()]
    own = {toolchain.name: toolchain for toolchain in read}
    for toolchain in read:
        _check_name(toolchain, record)
    estimator = RooflineEstimator(own, 1, emit)
    tried = _Tried(record, own, estimator, Phases(emit), emit)
    tried.find()
    costed = tried.cost(terms)
    return replace(
        record,
        candidates=costed,
        problem=tried.problem(costed),
        plan=record.plan.model_copy(update={"targets": tried.targets, "options": tried.options}),
        document=tried.document(costed),
        rules=tried.reports,
        regret_s={},
    )


def _check_name(toolchain: DescribedToolchain, record: RunRecord) -> None:
    check_name_is_free(toolchain)
    known = [target.name for target in record.plan.targets]
    if toolchain.name in known and toolchain.name not in record.plan.options.get(DESCRIBED, {}):
        message = f"{toolchain.source} describes {toolchain.name!r}, whose costs the run has measured"
        raise CollageError(message, "give it another name", "bad_rule")


@dataclass
class _Tried:
    """The steps of `with_described`, and what they hand to each other."""

    record: RunRecord
    own: Mapping[str, DescribedToolchain]
    estimator: RooflineEstimator
    phases: Phases
    emit: Emit

    def find(self) -> None:
        """Phases 1 and 2 for the described toolchains alone."""
        with self.phases("specs"):
            rules = {name: toolchain.rule(RuleOptions()) for name, toolchain in self.own.items()}
            specs = [spec for spec in gather_specs(rules) if HOST_TARGET not in spec.targets]
        log = RejectionLog()
        self.found: dict[str, list[CandidatePartition]] = {}
        with self.phases("candidates"):
            for spec in specs:
                self.found.update(find_candidates(self.record.graph, spec, log))
            for note in log.notes:
                self.emit(Note(note.reason))
        reports = {name: rule_report.make_report(name, rule, self.found[name], log) for name, rule in rules.items()}
        before = {name: made for name, made in rule_reports(self.record).items() if name not in self.own}
        self.reports = {**{name: made for name, made in before.items() if name != HOST_TARGET}, **reports, HOST_TARGET: before[HOST_TARGET]}
        for name, candidates in self.found.items():
            rejected = sum(item["count"] for item in reports[name]["rejected"])
            self.emit(CandidatesFound(name, len(candidates), self._unique(name), rejected))

    def cost(self, terms: Terms) -> list[CostedCandidate]:
        """What the run knows and the estimates, with neighbours on one described target taken together where a plan would have them so."""
        with self.phases("costs"):
            self.estimator.transitions(tuple(self.own))
            kept = [item for item in self.record.candidates if item.target not in self.own]
            found = [candidate for candidates in self.found.values() for candidate in candidates]
            first = [*kept, *self._estimated(found)]
            how = SearchSettings.given(self.record.plan.options)

            def search(costed: list[CostedCandidate]) -> Planned:
                problem = self.problem(costed)
                result = searched(problem, terms.parse(problem), how, ignore)
                return Planned(result, result, problem, costed)

            return merge_rounds(search(first), search, self._merged, ignore).costed

    def _merged(self, wanted: Sequence[tuple[str, int]]) -> list[CostedCandidate]:
        graph = self.record.graph
        mine = [(target, bits) for target, bits in wanted if target in self.own]
        return self._estimated([make_candidate(graph, target, IndexSet.from_bits(bits), f"{target}.merged") for target, bits in mine])

    def _estimated(self, candidates: Sequence[CandidatePartition]) -> list[CostedCandidate]:
        return [CostedCandidate(candidate, cost) for candidate, cost, _ in self.estimator.estimate(self.record.graph, candidates)]

    def problem(self, costed: list[CostedCandidate]) -> SearchProblem:
        """Return what is searched; described targets come last in the order of priority."""
        known = tuple(name for name in self.record.problem.priorities if name not in self.own)
        return replace(self.record.problem, candidates=search_candidates(costed), priorities=(*known, *self.own))

    @property
    def targets(self) -> tuple[PlannedTarget, ...]:
        known = tuple(target for target in self.record.plan.targets if target.name not in self.own)
        return (*known, *(PlannedTarget(name=name) for name in self.own))

    @property
    def options(self) -> dict[str, Any]:
        return described_options(self.record.plan.options, {name: toolchain.text for name, toolchain in self.own.items()})

    def document(self, costed: list[CostedCandidate]) -> dict[str, Any]:
        """Return the run's, with a row for each described target: what was found, and what it takes alone."""
        before = self.record.document
        rows = [self._counts(name, costed) for name in self.own]
        others = {key: [row for row in before[key] if row["name"] not in self.own] for key in ("targets", "baselines")}
        problem = self.problem(costed)
        baselines = [*others["baselines"], *(self._alone(name, problem) for name in self.own)]
        return {**before, "targets": [*others["targets"], *rows], "baselines": baselines}

    def _counts(self, name: str, costed: Sequence[CostedCandidate]) -> dict[str, Any]:
        mine = [item for item in costed if item.target == name]
        return {
            "name": name,
            "candidates": len(self.found[name]),
            "unique": self._unique(name),
            "deferred": 0,
            "invalid": sum(item.cost.is_invalid for item in mine),
            "measured": 0,
            "cache_hits": 0,
        }

    def _alone(self, name: str, problem: SearchProblem) -> dict[str, Any]:
        result = alone(problem, name, SearchSettings.given(self.record.plan.options))
        total_s = None if result is None else result.total / FEMTOSECONDS
        reason = f"{name} cannot take every node" if result is None else f"{name} is only described"
        return {"name": name, "total_s": total_s, "measured_s": None, "reason": reason}

    def _unique(self, name: str) -> int:
        return len({candidate.computation for candidate in self.found[name]})
