"""`session_document`: the plan as the configuration of one ONNX Runtime session, for users who stay within that runtime.

A run enters; plain data leaves: the options of the session as they were measured, whether they express the plan, and what they cost beside
it. A session gives its nodes to execution providers, and the CPU's is the one that was measured, so a plan that leaves ONNX Runtime is
not expressed: the document then says what staying costs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..base.counted import counted
from ..documents.run import BaselineInfo
from ..documents.statements import measured_beside
from ..errors import CollageError
from ..model.reference.exact_integers import inexact_nodes
from ..pipeline.record.record import RunRecord
from ..rules.partitionings import is_alone
from ..rules.spec import HOST_TARGET

TARGET = "onnxruntime"
_QUANTISED = ("QuantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "ConvInteger", "QLinearConv", "QLinearMatMul")


def session_json(record: RunRecord) -> bytes:
    """Return the document as a file. Raises CollageError as `session_document`."""
    return (json.dumps(session_document(record), indent=2, ensure_ascii=False) + "\n").encode()


def session_document(record: RunRecord) -> dict[str, Any]:
    """Return the options of a session for the whole model, whether they express the plan, and both times.

    Raises:
        CollageError: ONNX Runtime was no target of the run, or it cannot take the whole model.
    """
    plan, rows = record.plan, {row.name: row for row in record.document.baselines if is_alone(row.name)}
    row = rows.get(TARGET)
    if row is None or row.total_s is None:
        why = (row.reason if row else "") or f"the run searched over {', '.join(target.name for target in plan.targets)}"
        hint = "" if row else f"search with {TARGET} as a target"
        raise CollageError(f"there is no session of ONNX Runtime for the whole model: {why}", hint, "no_session")
    others = sorted({part.target for part in plan.partitions} - {TARGET, HOST_TARGET})
    measured_s = measured_beside(record.document)
    return {
        "schema": 1,
        "model": {"name": plan.model.name, "hash": plan.model.hash, "fixed": plan.model.fixed},
        "inputs": {tensor.name: list(tensor.type.shape) for tensor in record.graph.inputs},
        "onnxruntime": next(target.version for target in plan.targets if target.name == TARGET),
        "session": {
            "providers": ["CPUExecutionProvider"],
            "intra_op_num_threads": int(plan.options.get("threads") or 1),
            "inter_op_num_threads": 1,
            "execution_mode": "ORT_SEQUENTIAL",
            "config_entries": {},
        },
        "expresses_plan": not others,
        "reason": f"the plan also runs on {', '.join(others)}, for which this session has no provider" if others else "",
        "notes": _notes(record),
        "machine": record.machine,
        "plan": {"predicted_s": plan.total_s, "measured_s": measured_s},
        "session_alone": {"predicted_s": row.total_s, "measured_s": row.measured_s},
        "kept": _kept(measured_s, rows),
    }


def _notes(record: RunRecord) -> list[str]:
    """Return in what the session differs from what was measured and verified: it runs the model's file as it is."""
    notes = []
    if any(node.op in _QUANTISED for node in record.graph.nodes):
        notes.append("quantised: on processors whose integer products saturate the model itself was changed, as only `--form native` does")
    inexact = inexact_nodes(record.graph)
    if inexact:
        more = f" and {counted(len(inexact) - 1, 'other node')}" if len(inexact) > 1 else ""
        notes.append(
            f"large integers: a plain session may compute node {inexact[0]!r}{more} wrong on integers beyond 2^31 or sums beyond 2^53; "
            "the artifact computes such nodes by other operators, and is right"
        )
    return notes


def _kept(plan_s: float | None, rows: Mapping[str, BaselineInfo]) -> dict[str, Any] | None:
    """Return which share of the plan's gain over the slowest toolchain alone the session keeps, as measured; None where it was not."""
    times = {name: row.measured_s for name, row in rows.items() if row.measured_s is not None}
    if plan_s is None or TARGET not in times:
        return None
    slowest = max(times, key=lambda name: times[name])
    gain_s = times[slowest] - plan_s
    share = (times[slowest] - times[TARGET]) / gain_s if gain_s > 0 else None
    return {"gain_over": slowest, "gain_s": gain_s, "share": share, "session_is_longer_by": times[TARGET] / plan_s}
