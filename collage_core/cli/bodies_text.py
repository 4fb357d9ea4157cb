"""The bodies of `If`, `Loop` and `Scan` as text: who runs each node, how often its bodies ran, and the plan of each body.

The `bodies` part of the document of `collage partition` enters; lines leave.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..base.counted import counted
from ..base.durations import duration
from ..documents.run import BodyPlan, NodeWithBodies
from ..rules.spec import HOST_TARGET

_SHOWN_OPS, _SHOWN_NODES = 60, 12


def bodies_text(nodes: Sequence[NodeWithBodies], indent: str = "") -> list[str]:
    """Return the lines; bodies of bodies are indented below them."""
    lines = []
    for node in nodes[:_SHOWN_NODES]:
        lines.append(f"{indent}{node.name!r} ({node.op}) {_who(node)}")
        for body in node.bodies:
            lines += _body_lines(body, node, f"{indent}  ")
    if len(nodes) > _SHOWN_NODES:
        lines.append(f"{indent}and {len(nodes) - _SHOWN_NODES} more nodes with bodies (--json has all)")
    return lines


def _who(node: NodeWithBodies) -> str:
    """Return who runs the node, and what it costs on the host."""
    cost = node.host
    if cost.seconds is None:
        host = cost.reason
    else:
        parts = "" if node.predicted_s is None else f", its bodies {duration(node.predicted_s)} of it by their costs"
        host = f"the host takes {duration(cost.seconds)} ({cost.source}{parts})"
    return f"is run by the host, body by body: {host}" if node.runs_on == HOST_TARGET else f"is run as a whole by {node.runs_on}; {host}"


def _body_lines(body: BodyPlan, node: NodeWithBodies, indent: str) -> list[str]:
    plan = "would be" if node.runs_on != HOST_TARGET else "is"
    total = f"one run {plan} {duration(body.total_s)} in {counted(len(body.partitions), 'partition')}"
    lines = [f"{indent}{body.attribute} of {node.name}, {_ran(body.runs)}: {total}, {counted(body.nodes, 'node')}"]
    for part in body.partitions:
        ops = "+".join(part.ops)
        label = ops if len(ops) <= _SHOWN_OPS else ops[: _SHOWN_OPS - 3] + "…"
        lines.append(f"{indent}  {part.target:<14} {duration(part.cost_s):>10}  {label}")
    return lines + bodies_text(body.bodies, f"{indent}  ")


def _ran(count: int) -> str:
    return {0: "never ran", 1: "ran once"}.get(count, f"ran {count} times")
