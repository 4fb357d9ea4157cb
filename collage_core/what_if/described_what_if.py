"""`with_described`: the what-if of a described toolchain, on the costs that a run knows. Nothing is measured or built.

A record and descriptions enter; a record leaves whose candidates are those of the run and of the described toolchains, with costs
estimated from their ``[cost]``. `search_again` on that record finds what the toolchains would gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..cost.estimators.roofline import RooflineEstimator
from ..documents.run import BaselineInfo, RunDocument, TargetInfo
from ..errors import CollageError
from ..events import CandidatesFound, Emit, Note, ignore
from ..graph.index_set import IndexSet
from ..pipeline.described_targets import described_options
from ..pipeline.discover import Phases
from ..pipeline.loop.search_and_merge import Planned, SearchSettings, merge_rounds, searched, with_locations
from ..pipeline.record.record import DESCRIBED, CostedCandidate, RunRecord, search_candidates
from ..pipeline.whole.baselines import baseline
from ..pipeline.whole.why_not_alone import why_not_alone
from ..rewrite.plan import PlannedTarget
from ..rules.candidate import CandidatePartition, RejectionLog
from ..rules.rule import RuleOptions
from ..rules.spec import HOST_TARGET, find_candidates, gather_specs, make_report
from ..search.problem import FEMTOSECONDS, SearchProblem
from ..toolchains.border import rule_of
from ..toolchains.described import DescribedToolchain, parse_description
from ..toolchains.registry import check_name_is_free
from .terms import Terms


def with_described(record: RunRecord, descriptions: Mapping[str, str], terms: Terms, emit: Emit = ignore) -> RunRecord:
    """Return `record` with the candidates of described toolchains, including those merged from neighbours under `terms`.

    A described toolchain of the run is replaced by the one of the same name.

    Args:
        descriptions: Name of a text in error messages → the text, as in a TOML file.

    Raises:
        CollageError: a description is not valid, has the name of an installed toolchain, or no ``[cost]``; a constraint is malformed.
        InfeasibleError: no plan holds the terms.
    """
    read = [parse_description(text, source) for source, text in descriptions.items()]
    own = {toolchain.name: toolchain for toolchain in read}
    for toolchain in read:
        _check_name(toolchain, record)
    estimator = RooflineEstimator(own, 1, emit)
    what_if = _DescribedWhatIf(record, own, estimator, Phases(emit), emit)
    what_if.find()
    costed = what_if.cost(terms)
    return replace(
        record,
        candidates=costed,
        problem=what_if.problem(costed),
        plan=record.plan.model_copy(update={"targets": what_if.targets, "options": what_if.options}),
        document=what_if.document(costed),
        rules=what_if.reports,
        regret_s={},
        has_newer_costs=True,
    )


def _check_name(toolchain: DescribedToolchain, record: RunRecord) -> None:
    check_name_is_free(toolchain)
    known = [target.name for target in record.plan.targets]
    if toolchain.name in known and toolchain.name not in record.plan.options.get(DESCRIBED, {}):
        message = f"{toolchain.source} describes {toolchain.name!r}, whose costs the run has measured"
        raise CollageError(message, "give it another name", "bad_rule")


@dataclass
class _DescribedWhatIf:
    """The steps of `with_described`, and their common data."""

    record: RunRecord
    own: Mapping[str, DescribedToolchain]
    estimator: RooflineEstimator
    phases: Phases
    emit: Emit

    def find(self) -> None:
        """Run phases 1 and 2 for the described toolchains alone."""
        with self.phases("specs"):
            rules = {name: rule_of(toolchain, RuleOptions()) for name, toolchain in self.own.items()}
            specs = [spec for spec in gather_specs(rules) if HOST_TARGET not in spec.targets]
        self.log = log = RejectionLog()
        self.found: dict[str, list[CandidatePartition]] = {}
        with self.phases("candidates"):
            for spec in specs:
                self.found.update(find_candidates(self.record.graph, spec, log))
            for note in log.notes:
                self.emit(Note(note.reason))
        reports = {name: make_report(name, rule, self.found[name], log) for name, rule in rules.items()}
        before = {name: made for name, made in self.record.rules.items() if name not in self.own}
        self.reports = {**{name: made for name, made in before.items() if name != HOST_TARGET}, **reports, HOST_TARGET: before[HOST_TARGET]}
        for name, candidates in self.found.items():
            rejected = sum(item["count"] for item in reports[name]["rejected"])
            self.emit(CandidatesFound(name, len(candidates), self._unique(name), rejected))

    def cost(self, terms: Terms) -> list[CostedCandidate]:
        """Return the run's costs and the estimates, those of merged neighbours on a described target included."""
        with self.phases("costs"):
            self.estimator.transitions(tuple(self.own))
            kept = [item for item in self.record.candidates if item.target not in self.own]
            found = [candidate for candidates in self.found.values() for candidate in candidates]
            first = [*kept, *self._estimated(found)]
            settings = SearchSettings.given(self.record.plan.options)

            def search(costed: list[CostedCandidate]) -> Planned:
                problem = self.problem(costed)
                result = searched(problem, terms.parse(problem), settings, ignore)
                return Planned(result, result, problem, costed)

            return merge_rounds(search(first), search, self._merged, ignore).costed

    def _merged(self, wanted: Sequence[tuple[str, int]]) -> list[CostedCandidate]:
        graph = self.record.graph
        mine = [(target, bits) for target, bits in wanted if target in self.own]
        return self._estimated([CandidatePartition(graph, target, IndexSet.from_bits(bits), f"{target}.merged") for target, bits in mine])

    def _estimated(self, candidates: Sequence[CandidatePartition]) -> list[CostedCandidate]:
        return [CostedCandidate(candidate, cost) for candidate, cost, _ in self.estimator.estimate(self.record.graph, candidates)]

    def problem(self, costed: list[CostedCandidate]) -> SearchProblem:
        """Return the problem that is searched; described targets come last in the order of priority."""
        known = tuple(name for name in self.record.problem.priorities if name not in self.own)
        candidates = search_candidates(costed, self.record.problem.lowered)
        problem = replace(self.record.problem, candidates=candidates, priorities=(*known, *self.own))
        return with_locations(problem, self.own)

    @property
    def targets(self) -> tuple[PlannedTarget, ...]:
        known = tuple(target for target in self.record.plan.targets if target.name not in self.own)
        return (*known, *(PlannedTarget(name=name) for name in self.own))

    @property
    def options(self) -> dict[str, Any]:
        return described_options(self.record.plan.options, {name: toolchain.text for name, toolchain in self.own.items()})

    def document(self, costed: list[CostedCandidate]) -> RunDocument:
        """Return the run's document, with rows for each described target: the counts of its candidates, and its total alone."""
        before = self.record.document
        targets = [row for row in before.targets if row.name not in self.own]
        baselines = [row for row in before.baselines if row.name not in self.own]
        problem = self.problem(costed)
        return replace(
            before,
            targets=(*targets, *(self._counts(name, costed) for name in self.own)),
            baselines=(*baselines, *(self._alone(name, problem, costed) for name in self.own)),
        )

    def _counts(self, name: str, costed: Sequence[CostedCandidate]) -> TargetInfo:
        return TargetInfo(
            name=name,
            candidates=len(self.found[name]),
            unique=self._unique(name),
            invalid=sum(item.cost.is_invalid for item in costed if item.target == name),
            measured=0,
            cache_hits=0,
        )

    def _alone(self, name: str, problem: SearchProblem, costed: Sequence[CostedCandidate]) -> BaselineInfo:
        result = baseline(name, problem, costed, SearchSettings.given(self.record.plan.options))
        total_s = None if result is None else result.total / FEMTOSECONDS
        reason = f"{name} is only described" if result else why_not_alone(self.record.graph, name, costed, self.log.sample)
        return BaselineInfo(name, total_s, None, reason)

    def _unique(self, name: str) -> int:
        return len({candidate.computation for candidate in self.found[name]})
