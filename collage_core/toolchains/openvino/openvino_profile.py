"""`Counters`: OpenVINO's performance counts of some runs, as the steps of the compiled model (`profiling`).

What a request counted and the runtime model enter, by duck typing: OpenVINO is not imported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median
from typing import Any

from ..profiling import Step, labels

_ORIGINAL = "originalLayersNames"
"""The entry of an operation of the runtime model that names the operations of the model that it computes."""


class Counters:
    """The counts of several runs, of which the first is left out."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._kinds: dict[str, str] = {}

    def add(self, counted: Iterable[Any]) -> None:
        """Add the counts of a run."""
        for one in counted:
            self._seconds[one.node_name].append(one.real_time.total_seconds())
            self._kinds[one.node_name] = one.node_type

    def steps(self, runtime_model: Any) -> list[Step]:
        """Return the operations in the order in which they run."""
        operations = {operation.get_friendly_name(): operation for operation in runtime_model.get_ordered_ops()}
        order = [*(name for name in operations if name in self._seconds), *(name for name in self._seconds if name not in operations)]
        return [self._step(name, operations.get(name)) for name in order]

    def _step(self, name: str, operation: Any) -> Step:
        seconds = self._seconds[name]
        named, reads = name, frozenset[str]()
        if operation is not None:
            info = operation.get_rt_info()
            named = str(info[_ORIGINAL].astype(str)) if _ORIGINAL in info else name  # a reorder is named after both of its neighbours
            reads = frozenset(port.get_source_output().get_node().get_friendly_name() for port in operation.inputs())
        return Step(self._kinds[name], median(seconds[1:] or seconds), labels(named), reads, frozenset((name,)))
