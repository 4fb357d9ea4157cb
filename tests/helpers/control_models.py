"""Models with `Loop`, `If` and `Scan`, written as text, and plans in which the host runs these nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from onnx import ModelProto

from collage_core.documents.plan import PlanPartition
from collage_core.model.body_runs import NodeRuns, count_body_runs
from collage_core.model.model import Arrays
from collage_core.model.onnx_model import OnnxModel
from collage_core.pipeline.whole.assemble_and_verify import pieces_of
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.plan import Plan, PlannedBody, PlannedModel, PlannedTarget, PlannedTensor
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rules.spec import HOST_TARGET
from tests.helpers.models import model_of, weights

WIDTH = 8

LSTM_LOOP = f"""g (float[16,{WIDTH}] x, float[1,{WIDTH}] h0, float[1,{WIDTH}] c0, int64 turns, bool go)
        => (float y, float[1,{WIDTH}] last) {{
    [scale] xs = Tanh(x)
    [loop] h, c, ys = Loop(turns, go, h0, c0) <
        body = cell (int64 i, bool goes, float[1,{WIDTH}] hs, float[1,{WIDTH}] cs)
            => (bool on, float[1,{WIDTH}] hn, float[1,{WIDTH}] cn, float[1,{WIDTH}] out) {{
            [on] on = Identity(goes)
            [row] row = Gather<axis = 0>(xs, i)
            [wx] a = MatMul(row, w)
            [uh] b = MatMul(hs, u)
            [sum] ab = Add(a, b)
            [gates] all = Add(ab, bias)
            [split] gi, gf, go_, gc = Split<axis = 1, num_outputs = 4>(all)
            [in] it = Sigmoid(gi)
            [forget] ft = Sigmoid(gf)
            [outgate] ot = Sigmoid(go_)
            [cell_] ct = Tanh(gc)
            [keep] kept = Mul(ft, cs)
            [new] fresh = Mul(it, ct)
            [c] cn = Add(kept, fresh)
            [act] cact = Tanh(cn)
            [h] hn = Mul(ot, cact)
            [out] out = Relu(hn)
        }}
    >
    [y] y = Neg(ys)
    [last] last = Add(h, c)
}}"""


def lstm_loop() -> ModelProto:
    """Return a `Loop` around an LSTM cell over the rows of ``x``; ``turns`` says how many of them."""
    given = {"w": weights(WIDTH, 4 * WIDTH, seed=1), "u": weights(WIDTH, 4 * WIDTH, seed=2), "bias": weights(1, 4 * WIDTH, seed=3)}
    return model_of(LSTM_LOOP, given, opset=18)


BRANCHES = f"""g (float[4,{WIDTH}] x) => (float[4,{WIDTH}] y) {{
    [total] s = ReduceSum<keepdims = 0>(x)
    [positive] is_positive = Greater(s, zero)
    [if] r = If(is_positive) <
        then_branch = t () => (float[4,{WIDTH}] a) {{ [tm] m = MatMul(x, w) [ta] n = Add(m, v) [tr] a = Relu(n) }},
        else_branch = e () => (float[4,{WIDTH}] b) {{ [es] p = Softmax(x) [em] b = Mul(p, v) }}
    >
    [y] y = Neg(r)
}}"""


def branches() -> ModelProto:
    """Return an `If` over two branches, by the sign of the sum of ``x``."""
    given = {"zero": np.array(0, np.float32), "w": weights(WIDTH, WIDTH, seed=4), "v": weights(1, WIDTH, seed=5)}
    return model_of(BRANCHES, given, opset=18)


SCAN = """g (float[3,5] x, float[3] s) => (float[3] last, float[5,3] rows) {
    [scan] last, rows = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], scan_output_directions = [1],
        body = b (float[3] state, float[3] row) => (float[3] next, float[3] out) {
            [mix] mixed = Mul(state, decay) [next] next = Add(mixed, row) [out] out = Tanh(next)
        }
    >(s, x)
}"""


def scan() -> ModelProto:
    """Return a `Scan` over the columns of ``x``, backwards."""
    return model_of(SCAN, {"decay": np.array(0.5, np.float32)}, opset=18)


NESTED = """g (float[2,4] x, int64 turns) => (float[2,4] y, float[n,2,4] steps) {
    [loop] y, steps = Loop(turns, , x) <
        body = b (int64 i, bool goes, float[2,4] v) => (bool on, float[2,4] w, float[2,4] step) {
            [on] on = Identity(goes)
            [rest] r = Mod(i, two)
            [odd] is_odd = Cast<to = 9>(r)
            [half] h = Mul(v, k)
            [if] w = If(is_odd) <
                then_branch = t () => (float[2,4] a) { [tr] p = Relu(h) [ta] a = Add(p, x) },
                else_branch = e () => (float[2,4] c) { [es] c = Sin(h) }
            >
            [step] step = Neg(w)
        }
    >
}"""


def nested() -> ModelProto:
    """Return an `If` in a `Loop`: the first branch runs in every second turn."""
    return model_of(NESTED, {"two": np.array(2), "k": np.array(0.5, np.float32)}, opset=18)


PICKING = """g (float[4] x, bool flag) => (float[4] y, float[4] z, float[4] m) {
    [n] n = Neg(x)
    [if] y, z, m = If(flag) <
        then_branch = t () => (float[4] a, float[4] b, float[4] c) <float[4] a = {1, 2, 3, 4}> { b = Identity(n) c = Identity(k) },
        else_branch = e () => (float[4] d, float[4] f, float[4] o) { d = Sin(n) f = Add(n, k) o = Identity(f) }
    >
}"""


def picking() -> ModelProto:
    """Return an `If` one branch of which computes nothing: it gives constants of its own and of the model, and a tensor around it."""
    return model_of(PICKING, {"k": weights(4, seed=6)}, opset=18)


CHOOSING = """g (float[6] x, bool flag) => (int64[n] y, float[m] z) {
    [if] y, z = If(flag) <
        then_branch = t () => (int64[o] a, float[p] b) {
            [tc] c = Greater(x, zero) [tn] d = NonZero(c) [ts] a = Squeeze(d, front) [tb] b = Neg(x)
        },
        else_branch = e () => (int64[q] f, float[r] g) {
            [ec] h = Less(x, zero) [en] i = NonZero(h) [es] f = Squeeze(i, front) [eg] g = Gather(x, f)
        }
    >
    [after] after = Shape(y)
}"""


def choosing() -> ModelProto:
    """Return an `If` whose results have other shapes in each branch, and at each call."""
    return model_of(CHOOSING, {"zero": np.array(0, np.float32), "front": np.array([0])}, opset=18)


PASSING = """g (float[4] x, float[4] z, int64 turns, bool flag) => (float[4] a, float[4] b, float[n,4] rows, float[4] picked) {
    [loop] a, b, rows = Loop(turns, , x, z) <
        body = l (int64 i, bool goes, float[4] s, float[4] t) => (bool on, float[4] u, float[4] v, float[4] row)
            <bool on = {1}> {
            [swap] u = Identity(t)
            [grow] v = Add(s, t)
            [row] row = Identity(x)
        }
    >
    [if] picked = If(flag) <
        then_branch = t () => (float[4] p) { [keep] p = Identity(x) },
        else_branch = e () => (float[4] q) { [made] q = Mul(x, z) }
    >
}"""


def passing() -> ModelProto:
    """Return a model whose bodies pass on what they were given, what they capture, and a constant."""
    return model_of(PASSING, opset=18)


def host_plan(model: OnnxModel, inputs: Arrays, targets: Sequence[str] = ("onnxruntime",)) -> Plan:
    """Return a plan in which the host runs every node with bodies, and each other node is a partition of its own; targets take turns."""
    return _plan(model, count_body_runs(model, inputs), targets)


def _plan(model: OnnxModel, runs: Mapping[int, NodeRuns], targets: Sequence[str]) -> Plan:
    bodies = {}
    for index, node in runs.items():
        assert not node.reason, node.reason
        planned = {}
        for attribute, body in node.bodies.items():
            tensors = tuple(PlannedTensor(name=one.name, shape=one.type.shape, dtype=one.type.dtype) for one in body.model.graph.inputs)
            planned[attribute] = PlannedBody(runs=body.runs, inputs=tensors, plan=_plan(body.model, body.inner, targets))
        bodies[model.graph.nodes[index].name] = planned
    placed = []
    for node in model.graph.nodes:
        is_host = node.is_host or node.index in runs
        target = HOST_TARGET if is_host else targets[node.index % len(targets)]
        one = {"id": f"p{node.index}", "nodes": (node.index,), "names": (node.name,), "ops": (node.op,), "cost_s": 0.0}
        placed.append(PlanPartition(**one, target=target, source="mock"))
    named = tuple(PlannedTarget(name=target) for target in targets)
    return Plan(model=PlannedModel(name=model.name, hash=model.hash), targets=named, total_s=0.0, partitions=tuple(placed), bodies=bodies)


def assemble_plan(model: OnnxModel, plan: Plan, out: Path) -> Artifact:
    """Return the artifact of `plan`, opened."""
    constants = {name: model.constant(name) for name in model.graph.outputs if name in model.graph.constants}
    assemble(pieces_of(model, plan), model.graph.inputs, model.graph.outputs, out, 1, constants=constants)
    return Artifact.open(out)


def drawn(model: OnnxModel, seed: int, **more: int | bool) -> dict[str, np.ndarray]:
    """Return random inputs, with ``more`` in place of those that are no floats."""
    random = np.random.default_rng(seed)
    floats = [tensor for tensor in model.graph.inputs if tensor.type.dtype == "float32"]
    made = {tensor.name: random.standard_normal(tensor.type.shape).astype(np.float32) for tensor in floats}
    return made | {name: np.array(value) for name, value in more.items()}
