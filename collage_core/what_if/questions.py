"""The questions about a run that is over: the one table from which the server's routes, the command line and `Result` are made.

A question has a name, a function of the run's record and of what is asked besides, and the type of its answer (`collage_core.documents`).
To add one, write its record there, its function, and a row here. Functions are imported when a question is asked, since they need the
engine, and a server reads the table where the engine is not loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar, TypeVarTuple

from ..documents.bodies import RunBodies
from ..documents.candidates import NodeCandidates, RunEstimates, RunRegrets
from ..documents.compare import CostedPlan
from ..documents.explain import Explanation
from ..documents.node_times import RunNodeTimes
from ..documents.rules import RunRules
from ..documents.shapes import RunShapes
from ..documents.undecided import RunUndecided
from ..documents.what_if import Effects, OtherTerms, PlanUnderTerms
from ..documents.worth import Worth
from .terms import Terms

if TYPE_CHECKING:
    from ..pipeline.record.record import RunRecord

Asked = TypeVarTuple("Asked")
A = TypeVar("A")


@dataclass(frozen=True)
class Question(Generic[*Asked, A]):
    """A question about a run.

    Attributes:
        name: The last part of its path in the web API.
        answer: The type of the answer.
        ask: Answers it. Raises CollageError for a mistake in what is asked.
    """

    name: str
    answer: type[A]
    ask: Callable[[RunRecord, *Asked], A]


def _explain(record: RunRecord, node: str | None, candidate: str | None) -> Explanation:
    from .explanation import explain

    return explain(record, node, candidate)


def _candidates(record: RunRecord, node: int) -> NodeCandidates:
    return record.node_candidates(node)


def _regrets(record: RunRecord, candidates: Collection[str]) -> RunRegrets:
    return RunRegrets(tuple(record.regrets_of(set(candidates))))


def _estimates(record: RunRecord) -> RunEstimates:
    from .estimates import estimates

    return estimates(record)


def _node_times(record: RunRecord) -> RunNodeTimes:
    nodes = range(len(record.graph))
    targets = dict.fromkeys(target for _, target in record.alone_s)
    alone_s = {target: tuple(record.alone_s.get((node, target)) for node in nodes) for target in targets}
    return RunNodeTimes(tuple(record.node_times), alone_s)


def _shapes(record: RunRecord) -> RunShapes:
    from ..pipeline.shapes.run_shapes import run_shapes

    return run_shapes(record.document)


def _bodies(record: RunRecord) -> RunBodies:
    from ..pipeline.bodies.body_rows import run_bodies

    return run_bodies(record)


def _rules(record: RunRecord) -> RunRules:
    from ..pipeline.run_specs import run_rules

    return run_rules(record)


def _worth(record: RunRecord) -> Worth:
    from .worth import worth

    return worth(record)


def _undecided(record: RunRecord) -> RunUndecided:
    from .undecided import undecided_here

    return undecided_here(record)


def _what_if(record: RunRecord, terms: Terms, own: RunRecord | None) -> PlanUnderTerms:
    from .what_if import what_if

    return what_if(record, terms, own)


def _effects(record: RunRecord, terms: Terms, groups: Sequence[Sequence[int]]) -> Effects:
    from .what_if import effects

    return effects(record, terms, groups)


def _other_terms(record: RunRecord, terms: Terms) -> OtherTerms:
    from .other_terms import brought_by_terms

    return brought_by_terms(record, terms)


def _against(record: RunRecord, text: str, name: str, devices: Mapping[str, str]) -> CostedPlan:
    from .apparent_loss import costed_plan
    from .given_plan import given_from_text

    return costed_plan(record, given_from_text(text, name), devices)


EXPLAIN = Question("explain", Explanation, _explain)
CANDIDATES = Question("candidates", NodeCandidates, _candidates)
REGRETS = Question("regrets", RunRegrets, _regrets)
ESTIMATES = Question("estimates", RunEstimates, _estimates)
NODE_TIMES = Question("node-times", RunNodeTimes, _node_times)
SHAPES = Question("shapes", RunShapes, _shapes)
BODIES = Question("bodies", RunBodies, _bodies)
RULES = Question("rules", RunRules, _rules)
WORTH = Question("worth", Worth, _worth)
UNDECIDED = Question("undecided", RunUndecided, _undecided)
WHAT_IF = Question("what-if", PlanUnderTerms, _what_if)
EFFECTS = Question("effects", Effects, _effects)
OTHER_TERMS = Question("other-terms", OtherTerms, _other_terms)
AGAINST = Question("against", CostedPlan, _against)

PLAIN = (NODE_TIMES, SHAPES, BODIES, RULES, WORTH, UNDECIDED)
"""Those that ask nothing besides the run, and are answered as they are."""
