"""The questions about a run that is over: the table from which routes, the page's requests, the command line and `Result` are made.

A question has a name, a record of what is asked besides the run, a record of the answer (both of `collage_core.documents`), and the
function that answers. To add one, write these, and a row here. Functions are imported when a question is asked, since they need the
engine, and a server reads the table where the engine is not loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar

from ..documents.bodies import RunBodies
from ..documents.candidates import NodeCandidates, NodeRequest, RegretRequest, RunEstimates, RunRegrets
from ..documents.compare import AgainstRequest, CostedPlan
from ..documents.explain import ExplainRequest, Explanation
from ..documents.node_times import RunNodeTimes
from ..documents.rules import RunRules
from ..documents.shapes import RunShapes
from ..documents.totals import RunTotals
from ..documents.undecided import RunUndecided
from ..documents.what_if import DeviceCurve, DeviceCurveRequest, Effects, OtherTerms, PlanUnderTerms, WhatIfRequest
from ..documents.worth import Worth
from ..errors import CollageError
from .terms import Terms

if TYPE_CHECKING:
    from ..pipeline.record.record import RunRecord

P = ParamSpec("P")
Q = TypeVar("Q")
A = TypeVar("A")


@dataclass(frozen=True)
class PlainRequest:
    """Asks nothing besides the run."""


@dataclass(frozen=True)
class Asked(Generic[Q]):
    """A question that is asked.

    Attributes:
        own: The run that is meant, where it is itself a search on the costs of `record`; None where `record` is.
    """

    record: RunRecord
    request: Q
    own: RunRecord | None = None


@dataclass(frozen=True)
class Question(Generic[P, Q, A]):
    """A question about a run.

    Attributes:
        name: The last part of its path in the web API.
        request: The type of what is asked besides the run.
        answer: The type of the answer.
        function: Answers it. Raises CollageError for a mistake in what is asked.
        method: How the web API is asked: with the request in the address, or as the body; None where it is not.
    """

    name: str
    request: Callable[P, Q]
    answer: type[A]
    function: Callable[[Asked[Q]], A]
    method: Literal["GET", "POST"] | None = "GET"

    def ask(self, record: RunRecord, *args: P.args, **kwargs: P.kwargs) -> A:
        """Return the answer about `record`; the other arguments are the fields of the request."""
        return self.function(Asked(record, self.request(*args, **kwargs)))


def _explain(asked: Asked[ExplainRequest]) -> Explanation:
    from .explanation import explain

    return explain(asked.record, asked.request.node, asked.request.candidate)


def _candidates(asked: Asked[NodeRequest]) -> NodeCandidates:
    node, count = asked.request.node, len(asked.record.graph)
    if not 0 <= node < count:
        raise CollageError(f"there is no node {node}: the model has {count}", "nodes are numbered from 0", "unknown_node")
    return asked.record.node_candidates(node)


def _regrets(asked: Asked[RegretRequest]) -> RunRegrets:
    return RunRegrets(tuple(asked.record.regrets_of(set(asked.request.candidates))))


def _estimates(asked: Asked[PlainRequest]) -> RunEstimates:
    from .estimates import estimates

    return estimates(asked.record)


def _node_times(asked: Asked[PlainRequest]) -> RunNodeTimes:
    record = asked.record
    nodes = range(len(record.graph))
    targets = dict.fromkeys(target for _, target in record.alone_s)
    alone_s = {target: tuple(record.alone_s.get((node, target)) for node in nodes) for target in targets}
    return RunNodeTimes(tuple(record.node_times), alone_s)


def _shapes(asked: Asked[PlainRequest]) -> RunShapes:
    from ..pipeline.shapes.run_shapes import run_shapes

    return run_shapes(asked.record.document)


def _bodies(asked: Asked[PlainRequest]) -> RunBodies:
    from ..pipeline.bodies.body_rows import run_bodies

    return run_bodies(asked.record)


def _rules(asked: Asked[PlainRequest]) -> RunRules:
    from ..pipeline.run_specs import run_rules

    return run_rules(asked.record)


def _worth(asked: Asked[PlainRequest]) -> Worth:
    from .worth import worth

    return worth(asked.record)


def _totals(asked: Asked[PlainRequest]) -> RunTotals:
    from .totals import totals

    return totals(asked.record.document)


def _undecided(asked: Asked[PlainRequest]) -> RunUndecided:
    from .undecided import undecided_here

    return undecided_here(asked.record)


def _terms(asked: Asked[WhatIfRequest]) -> Terms:
    return Terms.of(asked.request, (target.name for target in asked.record.document.targets))


def _what_if(asked: Asked[WhatIfRequest]) -> PlanUnderTerms:
    from .what_if import what_if

    return what_if(asked.record, _terms(asked), asked.own)


def _effects(asked: Asked[WhatIfRequest]) -> Effects:
    from .what_if import effects

    return effects(asked.record, _terms(asked), asked.request.groups)


def _other_terms(asked: Asked[WhatIfRequest]) -> OtherTerms:
    from .other_terms import brought_by_terms

    return brought_by_terms(asked.record, _terms(asked))


def _against(asked: Asked[AgainstRequest]) -> CostedPlan:
    from .apparent_loss import costed_plan
    from .given_plan import given_from_text

    return costed_plan(asked.record, given_from_text(asked.request.text, asked.request.name), asked.request.devices)


def _device_curve(asked: Asked[DeviceCurveRequest]) -> DeviceCurve:
    from .devices import device_curve

    terms = Terms([dict(item) for item in asked.record.plan.constraints])
    return device_curve(asked.record, terms, asked.request.location, asked.request.quantity)


EXPLAIN = Question("explain", ExplainRequest, Explanation, _explain, method=None)
CANDIDATES = Question("candidates", NodeRequest, NodeCandidates, _candidates)
RULES = Question("rules", PlainRequest, RunRules, _rules)
ESTIMATES = Question("estimates", PlainRequest, RunEstimates, _estimates)
NODE_TIMES = Question("node-times", PlainRequest, RunNodeTimes, _node_times)
SHAPES = Question("shapes", PlainRequest, RunShapes, _shapes)
BODIES = Question("bodies", PlainRequest, RunBodies, _bodies)
WORTH = Question("worth", PlainRequest, Worth, _worth)
TOTALS = Question("totals", PlainRequest, RunTotals, _totals)
UNDECIDED = Question("undecided", PlainRequest, RunUndecided, _undecided)
REGRETS = Question("regrets", RegretRequest, RunRegrets, _regrets, "POST")
WHAT_IF = Question("what-if", WhatIfRequest, PlanUnderTerms, _what_if, "POST")
EFFECTS = Question("effects", WhatIfRequest, Effects, _effects, "POST")
OTHER_TERMS = Question("other-terms", WhatIfRequest, OtherTerms, _other_terms, "POST")
AGAINST = Question("against", AgainstRequest, CostedPlan, _against, "POST")
DEVICE_CURVE = Question("device-curve", DeviceCurveRequest, DeviceCurve, _device_curve, "POST")

QUESTIONS: tuple[Question[..., Any, Any], ...] = (
    *(EXPLAIN, CANDIDATES, RULES, ESTIMATES, NODE_TIMES, SHAPES, BODIES, WORTH, TOTALS, UNDECIDED),
    *(REGRETS, WHAT_IF, EFFECTS, OTHER_TERMS, AGAINST, DEVICE_CURVE),
)
"""The table."""
