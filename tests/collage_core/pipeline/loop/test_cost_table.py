"""`CostTable`: one cost for each computation, bounds for what is not known, and what a plan may rest on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collage_core.cost.cost import Cost
from collage_core.cost.error_limit import ErrorLimit
from collage_core.cost.profile import ProfiledPart
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.loop.cost_table import TOO_LATE, CostTable, is_settled
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.spec import HOST_TARGET
from tests.helpers.graphs import graph, typed

CHAIN = graph(["a: Relu <- x", "b: MatMul <- a", "c: Relu <- b", "d: Identity <- c"])
MEASURED = Cost(1e-3, "measured", interval_s=1e-4)


def on(target: str, *nodes: int) -> CandidatePartition:
    return CandidatePartition(CHAIN, target, IndexSet(nodes), "test")


FIRST, SECOND, THIRD, WHOLE, HOST = on("tvm", 0), on("tvm", 1), on("tvm", 2), on("tvm", 0, 1, 2, 3), on(HOST_TARGET, 3)


@pytest.fixture
def table() -> CostTable:
    """Of the single nodes, the first and the third are one computation."""
    return CostTable(CHAIN, [FIRST, SECOND, THIRD, WHOLE, HOST], lambda one: (one.target, one.sub_graph.label))


def costs(table: CostTable) -> dict[CandidatePartition, Cost]:
    return {item.held: item.cost for item in table.costed()}  # type: ignore[misc]


def test_equal_computations_share_a_cost_and_the_host_costs_nothing(table: CostTable) -> None:
    table.learn({FIRST: MEASURED})
    assert costs(table) == {FIRST: MEASURED, SECOND: TOO_LATE, THIRD: MEASURED, WHOLE: TOO_LATE, HOST: Cost(0.0, "host")}
    assert (table.distinct, table.to_measure, table.share_known) == (4, 4, 0.5)


def test_what_is_not_known_is_bounded_and_says_so(table: CostTable) -> None:
    table.learn({FIRST: MEASURED})
    table.set_bounds(0.5)
    bound = costs(table)[SECOND]
    assert (bound.source, bound.reason) == ("bound", Cost.bound(0.0).reason)
    assert bound.is_bound
    assert table.spared(["tvm", "openvino"]) == {"tvm": 2, "openvino": 0}
    assert table.drop_bounds() == 2
    assert costs(table)[SECOND] == TOO_LATE


def profiled(table: CostTable) -> CostTable:
    """`table`, where the profiler of TVM told of the whole model that each of its nodes takes 2 ms."""
    table.learn_profile(ProfiledPart(WHOLE, tuple(((node,), 2e-3) for node in range(4))))
    return table


def test_what_is_not_known_is_estimated_where_it_was_profiled_and_says_so(table: CostTable) -> None:
    beside = on("openvino", 0)
    table = profiled(CostTable(CHAIN, [*table.candidates, beside], lambda one: (one.target, one.sub_graph.label)))
    table.learn({FIRST: MEASURED})
    assert not table.has_estimates
    table.set_estimates()
    found = costs(table)
    assert (found[SECOND].source, found[SECOND].reason) == ("profile", "not measured: estimated from a profile of its target")
    assert found[SECOND].is_guess
    assert found[SECOND].seconds == pytest.approx(2e-3, rel=0.6)
    assert (found[SECOND].interval_s or 0.0) > 0
    assert found[WHOLE].seconds == pytest.approx(4 * (found[SECOND].seconds or 0.0), rel=0.1)
    assert (found[FIRST], found[beside]) == (MEASURED, TOO_LATE), "what was measured stays, and nobody profiled the other target"
    assert not table.is_known(SECOND)
    assert table.is_open(SECOND)
    assert not is_settled(found[SECOND])
    assert table.share_known == 2 / 5, "an estimate is no known cost"


def test_an_estimate_is_not_below_the_bound_and_goes_where_bounds_come(table: CostTable) -> None:
    profiled(table).learn({FIRST: replace(MEASURED, seconds=1.0)})
    table.set_bounds(1.0)
    bound = costs(table)[SECOND].seconds
    table.set_estimates()
    assert (costs(table)[SECOND].seconds or 0.0) >= (bound or 0.0) > 0
    assert table.spared(["tvm"]) == {"tvm": 2}
    table.set_bounds(0.5)
    assert costs(table)[SECOND].is_bound


def test_estimates_stand_for_what_is_not_known_when_the_time_is_over(table: CostTable) -> None:
    profiled(table).learn({FIRST: MEASURED})
    table.set_bounds(0.5)
    assert table.drop_bounds() == 2
    assert costs(table)[SECOND].source == "profile"
    merged = on("tvm", 0, 1)
    table.add_merged([merged])
    assert costs(table)[merged].source == "profile", "fusing adjacent partitions needs no trial to be expected"


def test_a_described_toolchains_estimate_is_no_bound_and_makes_nothing_faster(table: CostTable) -> None:
    hook = on("hook", 0)
    beside = CostTable(CHAIN, [*table.candidates, hook], lambda one: (one.target, one.sub_graph.label))
    beside.recall({hook: Cost(1e-12, "estimate", reason="its own")})
    for each in (table, beside):
        each.learn({FIRST: MEASURED})
        each.set_bounds(0.5)
    assert not costs(beside)[hook].is_bound
    assert {one: cost for one, cost in costs(beside).items() if one is not hook} == costs(table)
    assert beside.share_known == table.share_known, "an estimate counts for nothing"


def test_the_best_whole_is_known(table: CostTable) -> None:
    assert table.best_s is None
    table.learn({WHOLE: MEASURED})
    table.learn({on("onnxruntime", 0, 1, 2, 3): replace(MEASURED, seconds=2e-3)})
    assert table.best_s == 1e-3


def test_the_best_whole_is_one_that_a_plan_may_hold(table: CostTable) -> None:
    """A repetition may find it slower, or wrong; and it may err too much in the end."""
    other = on("onnxruntime", 0, 1, 2, 3)
    table.learn({WHOLE: MEASURED, other: replace(MEASURED, seconds=5e-3)})
    table.learn({WHOLE: replace(MEASURED, seconds=2e-3)})
    assert table.best_s == 2e-3
    table.learn({WHOLE: Cost.invalid("numerics", "it errs")})
    assert table.best_s == 5e-3
    table.set_own(other, Cost.invalid("numerics", "it errs"))
    assert table.best_s is None


def test_a_trial_that_was_ended_early_in_an_earlier_run_is_open_until_it_is_measured(table: CostTable) -> None:
    rough = replace(MEASURED, stopped_early=True)
    table.recall({FIRST: rough})
    assert table.is_known(FIRST)
    assert table.is_open(THIRD)
    assert not is_settled(rough)
    table.learn({THIRD: rough})
    assert not table.is_open(FIRST), "it was tried in this run, and is sure to lose"


def test_an_excluded_candidate_stays_so_and_others_of_its_computation_do_not(table: CostTable) -> None:
    wrong = Cost.invalid("numerics", "it errs")
    table.learn({FIRST: MEASURED})
    table.set_own(FIRST, wrong)
    table.learn({THIRD: replace(MEASURED, seconds=2e-3)})
    assert costs(table)[FIRST] == wrong
    assert costs(table)[THIRD].seconds == 2e-3


def test_what_runs_alike_on_two_targets_is_corrected_on_both() -> None:
    plain, blocked = on("ort", 0, 1, 2, 3), on("ort@nchw16c", 0, 1, 2, 3)
    fused, fused_blocked = on("ort", 0, 1), on("ort@nchw16c", 0, 1)
    table = CostTable(CHAIN, [plain, blocked, FIRST], lambda one: (one.target.partition("@")[0], one.sub_graph.label))
    table.add_merged([fused, fused_blocked])
    table.learn({plain: MEASURED, fused: MEASURED})
    inside = replace(MEASURED, seconds=2e-3)
    table.set_own(blocked, inside)
    table.set_own(fused, inside)
    assert [costs(table)[one] for one in (plain, blocked, fused, fused_blocked)] == [inside] * 4
    assert table.best_s == 2e-3


def test_merged_candidates_are_forgotten_and_their_costs_are_not(table: CostTable) -> None:
    merged = on("tvm", 0, 1)
    table.add_merged([merged])
    table.learn({merged: MEASURED})
    assert costs(table)[merged] == MEASURED
    table.restart_merging()
    assert merged not in costs(table)
    assert table.is_known(on("tvm", 0, 1))


def test_without_a_key_each_candidate_has_a_cost_of_its_own() -> None:
    table = CostTable(CHAIN, [FIRST, THIRD], None)
    table.learn({FIRST: MEASURED})
    assert not table.is_known(THIRD)


def test_another_layout_is_bounded_by_what_is_measured_on_the_plain_target() -> None:
    """The kernels are the same, so the first looks at the plain target are enough."""
    other = {name: [on(name, 0), on(name, 1), on(name, 0, 1, 2, 3)] for name in ("ncnn", "ncnn@nchw16c")}
    listed = [candidate for found in other.values() for candidate in found]
    told, untold = (CostTable(CHAIN, listed, lambda one: one.id, layouts) for layouts in ({"ncnn@nchw16c": "ncnn"}, None))
    for table in (told, untold):
        table.learn({candidate: Cost(1e-5, "measured") for candidate in other["ncnn"]})
        table.set_bounds(0.5)
    bounds = [costs(table)[other["ncnn@nchw16c"][0]].seconds or 0.0 for table in (told, untold)]
    assert bounds[0] > bounds[1]
    assert (list(told.by_target), list(untold.by_target)) == (["ncnn"], list(other))


def test_a_computation_that_failed_stays_failed_whatever_its_cost_is_said_to_be() -> None:
    """An estimator without computations of its own knows each candidate by itself, and merging makes new ones of the same nodes."""
    table = CostTable(CHAIN, [FIRST, SECOND, THIRD, WHOLE, HOST], None)
    table.learn(dict.fromkeys([FIRST, SECOND, THIRD, WHOLE], MEASURED))
    failed = Cost.invalid("build", "no converter")
    table.fail(FIRST, failed)
    made_anew = on("tvm", 0)
    table.add_merged([made_anew])
    table.learn({made_anew: MEASURED, FIRST: MEASURED})

    assert costs(table) == {FIRST: failed, SECOND: MEASURED, THIRD: failed, WHOLE: MEASURED, HOST: Cost(0.0, "host"), made_anew: failed}
    assert table.is_known(made_anew)
    assert table.seconds(THIRD) is None
    table.fail(WHOLE, failed)
    assert table.best_s is None


def test_what_holds_a_failing_node_fails_with_it() -> None:
    table = CostTable(CHAIN, [FIRST, SECOND, WHOLE, on("ncnn", 0, 1)], None)
    failed = Cost.invalid("numerics", "it is wrong")
    table.fail_nodes("tvm", IndexSet([0, 2]), failed)
    assert [item.cost == failed for item in table.costed()] == [True, False, True, False]
    table.add_merged([on("tvm", 1, 2)])
    assert table.costed()[-1].cost == failed


def test_no_guess_stands_for_what_ends_at_a_sum_of_integer_products() -> None:
    """It costs what a trial says, once a plan cannot do without it."""
    dynamic = typed(["q: DynamicQuantizeLinear <- x", "sum: MatMulInteger <- q", "y: Cast <- sum"], q="uint8", sum="int32")
    whole, before, behind, first = (CandidatePartition(dynamic, "tvm", IndexSet(one), "test") for one in ((0, 1, 2), (0, 1), (2,), (0,)))
    table = CostTable(dynamic, [whole, before, behind, first], lambda one: one.inside)
    table.learn_profile(ProfiledPart(whole, tuple(((node,), 2e-3) for node in range(3))))
    table.set_bounds(0.5)
    assert [costs(table)[one].source for one in (whole, before, behind, first)] == ["bound", "unknown", "unknown", "bound"]
    table.drop_bounds()
    assert [costs(table)[one].source for one in (whole, before, behind, first)] == ["profile", "unknown", "unknown", "profile"]
    assert costs(table)[before].reason.startswith("not tried: it begins or ends at a sum of integer products")
    table.learn({before: MEASURED})
    assert costs(table)[before] == MEASURED


def test_what_goes_beyond_the_limit_of_a_target_costs_what_a_trial_says(table: CostTable) -> None:
    """Of several runs the last one counts that holds all of a candidate; nothing is said of other targets."""
    beside = on("openvino", 0, 1)
    table = profiled(CostTable(CHAIN, [*table.candidates, beside, on("tvm", 1, 2)], lambda one: (one.target, one.inside)))
    table.learn_limit(ErrorLimit("tvm", IndexSet(range(4)), 0, 0.1, 0.2, 0.01))
    table.learn_limit(ErrorLimit("tvm", IndexSet((2, 3)), 3, 0.0, 0.0, 0.01))
    table.set_estimates()
    sources = {one.sub_graph.label: cost.source for one, cost in costs(table).items() if one.target == "tvm"}  # type: ignore[attr-defined]
    assert sources == {"Relu": "profile", "MatMul": "unknown", "MatMul+Relu": "unknown", "Relu+MatMul+Relu+Identity": "unknown"}
    assert "err by 0.2, at most 0.01 may be" in costs(table)[SECOND].reason
    assert table.is_open(SECOND), "a plan that cannot do without it asks for its trial"
    table.learn({SECOND: MEASURED})
    assert costs(table)[SECOND] == MEASURED
