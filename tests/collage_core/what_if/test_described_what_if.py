"""A described toolchain beside the costs of a run: its candidates, their costs, refusals, and the record."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from collage_core.documents.run import BaselineInfo
from collage_core.documents.verdict import verdict
from collage_core.errors import CollageError, InfeasibleError
from collage_core.events import Event, Note
from collage_core.model.onnx_model import load_model
from collage_core.model.samples.registry import resolve
from collage_core.options import Options
from collage_core.pipeline.apply import apply
from collage_core.pipeline.loop.search_and_merge import make_problem
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.pipeline.run_specs import run_rules
from collage_core.search.memory import plan_memory
from collage_core.search.problem_json import problem_from_json
from collage_core.toolchains.described import DescriptionError, parse_description
from collage_core.what_if.described_what_if import with_described
from collage_core.what_if.search_again import search_again
from collage_core.what_if.terms import Terms
from collage_core.what_if.what_if import what_if
from collage_core.what_if.worth import worth

HOOK = """
name = "hook"
[[pattern]]
label = "conv_relu"
match = "Relu(Conv(*, *) | Add(Conv(*, *), *))"
[cost]
launch_s = 1e-9
flops_per_s = 4e12
"""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    mock = tmp_path_factory.mktemp("mock") / "mock.json"
    mock.write_text(json.dumps({"targets": {"onnxruntime": {"op_s": 3, "decay": 0.9}, "tvm": {"op_s": 2}}}))
    return partition("mini_mnist", Options(("onnxruntime", "tvm"), costs=f"mock:{mock}"))


def tried(record: RunRecord, text: str = HOOK, constraints: list[dict[str, object]] | None = None) -> RunRecord:
    terms = Terms(constraints or [])
    return search_again(with_described(record, {"it": text}, terms), terms)


def test_it_takes_what_it_is_said_to_take_and_the_rest_keeps_its_costs(record: RunRecord) -> None:
    after = tried(record)
    mine = [partition for partition in after.plan.partitions if partition.target == "hook"]
    assert [partition.ops for partition in mine] == [("Conv", "Relu")]
    assert {partition.source for partition in mine} == {"estimate"}
    assert after.plan.total_s < record.plan.total_s
    before = {item.id: item.cost for item in record.candidates}
    assert all(item.cost == before[item.id] for item in after.candidates if item.target != "hook")
    assert all(item.cost.source == "estimate" for item in after.candidates if item.target == "hook")
    assert after.document.search.optimal
    assert after.document.verify.measured_s is None


def test_a_candidate_says_what_its_estimate_rests_on(record: RunRecord, tmp_path: Path) -> None:
    tried(record).save(tmp_path)
    after = RunRecord.load(tmp_path)
    conv = next(node.index for node in after.graph.nodes if node.op == "Conv")
    rows = after.node_candidates(conv).candidates
    estimate_basis = next(row for row in rows if row.target == "hook").estimate_basis
    cost = next(row for row in rows if row.target == "hook").cost.seconds
    assert (estimate_basis.launch_s, estimate_basis.operations_per_s, estimate_basis.bytes_per_s) == (1e-9, 4e12, None)
    assert cost == pytest.approx(1e-9 + estimate_basis.operations / 4e12)
    assert estimate_basis.bytes > 0
    assert {row.estimate_basis for row in rows if row.target != "hook"} == {None}


def test_the_record_says_what_it_was_and_reads_back(record: RunRecord, tmp_path: Path) -> None:
    tried(record).save(tmp_path)
    after = RunRecord.load(tmp_path)
    assert [target.name for target in after.plan.targets] == ["onnxruntime", "tvm", "hook"]
    assert after.plan.options["described"] == {"hook": HOOK}
    row = next(row for row in after.document.targets if row.name == "hook")
    assert (row.candidates, row.measured) == (1, 0)
    why_not = "hook cannot take 4 of 6 nodes (MaxPool, Reshape, MatMul …): no rule of it takes MaxPool ('pool1')"
    assert after.document.baselines[-1] == BaselineInfo("hook", None, None, why_not)
    specs = run_rules(after).specs
    assert [spec.targets for spec in specs] == [("onnxruntime",), ("tvm",), ("hook",), ("host",)]
    assert specs[2].tree.candidates == 1
    assert [item.name for item in after.document.targets] == ["onnxruntime", "tvm", "hook"]
    with pytest.raises(CollageError, match="'hook' is only described: nothing can be built for it"):
        apply(after.plan, "mini_mnist", tmp_path / "out")


def test_tried_again_it_takes_the_place_of_the_one_before(record: RunRecord) -> None:
    slower = HOOK.replace("launch_s = 1e-9", "launch_s = 1e5")
    again = tried(tried(record), slower)
    assert again.plan.total_s == record.plan.total_s
    assert sum(row.name == "hook" for row in again.document.targets) == 1
    assert all(item.cost.seconds == pytest.approx(1e5) for item in again.candidates if item.target == "hook")
    assert tried(again).plan.total_s == tried(record).plan.total_s


def test_neighbours_are_taken_together(record: RunRecord) -> None:
    text = 'name = "hook"\nfusion = "arbitrary"\n[rule]\nrule = "op_predicate"\n[cost]\nlaunch_s = 1e-9\n'
    single = tried(record, text.replace('fusion = "arbitrary"\n', ""))
    assert {len(partition.nodes) for partition in single.plan.partitions if partition.target == "hook"} == {1}
    pattern = 'name = "hook"\nfusion = "none"\n[[pattern]]\nmatch = "Conv(*, *)"\n[[pattern]]\nmatch = "Relu(*)"\n[cost]\nlaunch_s = 1\n'
    merged = tried(record, pattern.replace('"none"', '"arbitrary"'))
    assert any(len(partition.nodes) > 1 for partition in merged.plan.partitions if partition.target == "hook")


def test_constraints_hold_and_collide(record: RunRecord) -> None:
    off = {"kind": "veto", "target": "hook"}
    assert tried(record, constraints=[off]).plan.total_s == record.plan.total_s
    with pytest.raises(InfeasibleError):
        tried(record, constraints=[off, {"kind": "pin", "op": "Conv", "target": "hook"}])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HOOK.replace('"hook"', '"tvm"'), "'tvm' is the name of a toolchain that is installed"),
        (HOOK.replace('"hook"', '"../hook"'), "it must be a word"),
        (HOOK.replace('"hook"', '"host"'), "it must be a word"),
        (HOOK.partition("[cost]")[0], "has no \\[cost\\]"),
        (HOOK.replace("Relu(Conv", "Relu(Cov"), "it, line 5: pattern\\[0\\].match is 'Cov'"),
        ("name = ", "'it' is not TOML"),
    ],
)
def test_what_cannot_be_tried_is_told(record: RunRecord, text: str, said: str) -> None:
    with pytest.raises(CollageError, match=said):
        tried(record, text)


def test_a_toolchain_that_was_measured_cannot_be_described_away(record: RunRecord) -> None:
    targets = tuple(target.model_copy(update={"name": "former"}) if target.name == "tvm" else target for target in record.plan.targets)
    other = replace(record, plan=record.plan.model_copy(update={"targets": targets}))
    with pytest.raises(CollageError, match="describes 'former', whose costs the run has measured"):
        tried(other, HOOK.replace('"hook"', '"former"'))


def test_rules_that_find_nothing_change_nothing_and_say_so(record: RunRecord) -> None:
    events: list[Event] = []
    known = with_described(record, {"it": HOOK.replace("Relu(Conv(*, *) | Add(Conv(*, *), *))", "Softmax(*)")}, Terms(), events.append)
    assert search_again(known, Terms()).plan.total_s == record.plan.total_s
    told = [event.text for event in events if isinstance(event, Note)]
    assert any("matches nothing in the model, which has no Softmax" in text for text in told)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('name = "a"\nname = "b"\n', 2),
        ('name = "a"\n\npattern = [', 3),
        ("", 1),
        ('name = "a"\n[[pattern]]\nmatch = "Relu(*)"\n\n[cost]\nflops = 3\n', 6),
    ],
)
def test_a_mistake_knows_its_line(text: str, line: int) -> None:
    with pytest.raises(DescriptionError) as caught:
        parse_description(text, "it")
    assert caught.value.line == line
    assert caught.value.message in (f"it, line {line}: {caught.value.reason}", f"'it' {caught.value.reason.removeprefix('it ')}")


def test_a_description_that_is_too_large_is_refused_unread() -> None:
    with pytest.raises(DescriptionError) as caught:
        parse_description("#" * 300_000, "hook.toml")
    assert caught.value.message == "'hook.toml' is too large: it has 300000 characters, at most 262144 are read"


LINKS = "from_host = {fixed_s = 1e-5}\nto_host = {per_byte_s = 1e-9}\n"


@pytest.mark.parametrize(
    ("location", "key", "message"),
    [
        (f'name = "host"\n{LINKS}', "location.name", "is 'host', it must be the name of a memory such as cuda:0, and not host"),
        (LINKS, "location.name", "is None, it must be the name of a memory"),
        (
            'name = "cuda:0"\nfrom_host = {fixed_s = 1}\n',
            "location.to_host",
            "is None, it must be a table with some of fixed_s, per_byte_s",
        ),
        (
            f'name = "cuda:0"\nspeed = 3\n{LINKS}',
            "location.speed",
            "is 3, it must be left out: only name, bytes, from_host, to_host mean something",
        ),
        (
            'name = "g"\nfrom_host = {fixed_s = -1}\nto_host = {fixed_s = 1}\n',
            "location.from_host.fixed_s",
            "is -1, it must be a number from 0",
        ),
        ('name = "g"\nbytes = -1\n', "location.bytes", "is -1, it must be a number from 0 to 1e+15: how much the memory holds"),
        ('name = "g"\nfrom_host = {s = 1}\nto_host = {fixed_s = 1}\n', "location.from_host.s", "is 1, it must be left out: only fixed_s"),
    ],
)
def test_a_mistake_in_a_location_is_reported_with_its_key(location: str, key: str, message: str) -> None:
    text = 'name = "gpu"\n[[pattern]]\nmatch = "Relu(*)"\n[location]\n'
    assert parse_description(f'{text}name = "cuda:0"\n{LINKS}', "gpu.toml").location["name"] == "cuda:0"
    with pytest.raises(CollageError) as caught:
        parse_description(text + location, "gpu.toml")
    assert f"{key} {message}" in caught.value.message


def at_device(name: str, fixed_s: float) -> str:
    links = f"from_host = {{fixed_s = {fixed_s}}}\nto_host = {{fixed_s = {fixed_s}}}\n"
    return f'{HOOK.replace("hook", name)}[location]\nname = "cuda:0"\n{links}'


def test_targets_of_one_location_agree_on_its_links() -> None:
    chains = {name: parse_description(at_device(name, fixed_s), f"{name}.toml") for name, fixed_s in (("one", 1), ("two", 2))}
    with pytest.raises(CollageError, match="the target 'two' describes the location 'cuda:0' otherwise than another target does"):
        make_problem(load_model(resolve("mini_mnist")).graph, (), {}, chains)


def test_a_device_that_is_tried_costs_its_copies(record: RunRecord) -> None:
    near, far = tried(record, at_device("hook", 0.25)), tried(record, at_device("hook", 4))
    assert near.plan.copies is not None
    assert [(copy.source, copy.destination, copy.cost_s) for copy in near.plan.copies] == [
        ("host", "cuda:0", 0.25),
        ("cuda:0", "host", 0.25),
    ]
    assert {copy.basis for copy in near.plan.copies} == {"stated, not measured: 250 ms"}
    assert near.plan.parallel is not None
    assert near.document.plan.parallel == near.plan.parallel
    assert near.plan.parallel.total_s == near.plan.total_s
    assert near.plan.parallel.text.startswith("running partitions at the same time can gain ")
    assert near.plan.total_s == pytest.approx(tried(record).plan.total_s + 0.5)
    assert (far.plan.copies, far.plan.total_s) == ((), record.plan.total_s)
    again = search_again(with_described(near, {"it": HOOK}, Terms()), Terms())
    assert (again.plan.copies, again.plan.total_s) == (None, tried(record).plan.total_s)


def limited(record: RunRecord, limit: int) -> RunRecord:
    return tried(record, at_device("hook", 1e-6).replace('name = "cuda:0"', f'name = "cuda:0"\nbytes = {limit}'))


def test_a_device_holds_no_more_than_its_bytes_with_the_weights_that_it_needs(record: RunRecord) -> None:
    free = limited(record, 10**9)
    (part,) = [partition for partition in free.plan.partitions if partition.target == "hook"]
    reads = {name for node in part.nodes for name in free.graph.nodes[node].inputs}
    weights = sum(constant.type.bytes for name, constant in free.graph.constants.items() if name in reads)
    ids = {partition.id for partition in free.plan.partitions}
    held = plan_memory(free.problem, [index for index, item in enumerate(free.problem.candidates) if item.id in ids])["cuda:0"]
    assert held.weights == weights > 0
    assert "hook" in {partition.target for partition in limited(record, held.peak).plan.partitions}
    assert "hook" not in {partition.target for partition in limited(record, held.peak - 1).plan.partitions}
    again = problem_from_json(free.problem.to_json())
    assert (again.weights, again.locations) == (free.problem.weights, {"cuda:0": 10**9})
    (on_host, on_device) = free.plan.memory or ()
    assert (on_host.location, on_host.limit) == ("host", None)
    shown = on_device.location, on_device.weights, on_device.peak, on_device.limit, on_device.at_node
    assert shown == ("cuda:0", held.weights, held.peak, 10**9, held.at_node)
    assert on_device.node == free.graph.nodes[held.at_node].name


def test_a_run_that_is_read_back_knows_the_weights_of_its_plans(record: RunRecord, tmp_path: Path) -> None:
    record.save(tmp_path)
    (held,) = search_again(RunRecord.load(tmp_path), Terms(switched_off=("tvm",))).plan.memory or ()
    assert held.weights == sum(constant.type.bytes for constant in record.graph.constants.values())


TRANSFERS = "transfer_latency_s = 1e-5\ntransfer_bytes_per_s = 1e9\n"


def test_transfers_that_a_description_states_are_copies_of_the_plan(record: RunRecord) -> None:
    plan = tried(record, HOOK + TRANSFERS).document.plan
    moved = {(copy.source, copy.destination, copy.bytes): copy.cost_s for copy in plan.copies or ()}
    assert {pair[:2] for pair in moved} == {("host", "hook"), ("hook", "host")}
    assert all(cost_s == pytest.approx(1e-5 + pair[2] / 1e9) for pair, cost_s in moved.items())
    assert plan.free_transfers is None
    free = tried(record).document.plan
    assert plan.total_s == pytest.approx(free.total_s + sum(moved.values()))


def test_each_answer_that_rests_on_free_transfers_says_so(record: RunRecord) -> None:
    """The plan of the hook, a what-if against it, and the sets of targets with it; none where its file states what they cost."""
    free, stated = tried(record), tried(record, HOOK + TRANSFERS)
    said = "; transfers free: hook states no cost of them"
    off = Terms(switched_off=["hook"])
    for tried_record, expected in ((free, True), (stated, False), (record, False)):
        assert (said in verdict(tried_record.document).text) == expected
        rows = {row.used: row.text for row in worth(tried_record).sets}
        assert {used: said in text for used, text in rows.items() if used} == {used: expected and "hook" in used for used in rows if used}
    assert said in what_if(free, off).change_text
    assert said not in what_if(stated, off).change_text
    bases = [row.estimate_basis for one in (free, stated) for row in one.node_candidates(0).candidates if row.target == "hook"]
    assert [basis.has_transfers for basis in bases if basis is not None] == [False, True]
