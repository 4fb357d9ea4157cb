"""`Result`: a run that shows itself in a notebook, answers why, compares itself, and is exported. `open_run` opens one that was kept.

A `RunRecord` is all that it holds, and the model that the user gave, if any. Nothing is measured.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from ..base.counted import counted
from ..base.durations import milliseconds
from ..base.isolation.worker_errors import WorkerError
from ..documents.compare import PlansCompared
from ..documents.explain import Explanation
from ..documents.statement_text import predicted_text
from ..documents.undecided import RunUndecided
from ..documents.verdict import Verdict, verdict
from ..documents.what_if import DeviceCurve, DeviceTerms, PlanUnderTerms
from ..documents.worth import Worth
from ..errors import CollageError
from ..pipeline.record.record import RunRecord
from ..what_if.compare import compare_plans
from ..what_if.questions import DEVICE_CURVE, EXPLAIN, UNDECIDED, WHAT_IF, WORTH
from . import formats
from .frames import frame
from .notebook_html import Page, explanation_html, result_html
from .served_files import report_text
from .source import Source
from .tables import node_table, partition_table

MOST_NODES = 1000
"""A notebook shows the page of a run with no more nodes: that of a larger one takes minutes."""
REPORT_S = 120.0
"""Longest that the page for a notebook may take."""


class ShownExplanation(Explanation):
    """The answer of `collage explain`, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        return explanation_html(self)


@dataclass
class Result(RunRecord):
    """A run, as `collage.partition` and `open_run` return it.

    Attributes:
        source: The model that it was made of, where that is known: a file or a sample's name.
    """

    source: Source = None

    def why(self, node: str | int | None = None, *, candidate: str | None = None) -> ShownExplanation:
        """Return why `node` (a name or an index) runs where it does, or why every partition does: what `collage explain --json` prints.

        Raises:
            CollageError: there is no such node or candidate.
        """
        explanation = EXPLAIN.ask(self, None if node is None else str(node), candidate)
        return ShownExplanation(**{one.name: getattr(explanation, one.name) for one in fields(explanation)})

    def worth(self) -> Worth:
        """Return the best plan over each set of targets, and what each further one brings: what `collage explain --by-targets` prints."""
        return WORTH.ask(self)

    def what_if(
        self,
        constraints: Sequence[Mapping[str, Any]] = (),
        *,
        memory: Mapping[str, float] | None = None,
        link: Mapping[str, float] | None = None,
    ) -> PlanUnderTerms:
        """Return the best plan under other constraints, memories (bytes by device) and links (times the speed by device).

        Raises:
            CollageError: a constraint is malformed, or there is no such device.
            InfeasibleError: no plan holds the constraints, or fits into the memories.
        """
        held, speeds = memory or {}, link or {}
        devices = {name: DeviceTerms(held.get(name), speeds.get(name, 1.0)) for name in {**held, **speeds}}
        return WHAT_IF.ask(self, [row.name for row in self.document.targets], [dict(item) for item in constraints], devices=devices)

    def device_curve(self, device: str, quantity: str = "memory") -> DeviceCurve:
        """Return the best plan for each size of a device's ``memory``, or each speed of its ``link``, from known costs.

        Raises:
            CollageError: there is no such device or quantity.
        """
        return DEVICE_CURVE.ask(self, device, quantity)

    def undecided(self) -> RunUndecided:
        """Return what measuring left undecided, and what would decide it: what `collage explain --undecided` prints."""
        return UNDECIDED.ask(self)

    def compare(self, other: str | Path | RunRecord) -> PlansCompared:
        """Return how this plan and another of the same model differ: what `collage compare --json` prints.

        Raises:
            CollageError: there is no such run or plan, or it is one of another model.
        """
        return compare_plans(self, other)

    def export(self, folder: str | Path, as_: Sequence[str] = ("onnx", "dot", "svg", "csv"), *, model: Source = None) -> list[Path]:
        """Write the run into `folder` in some formats (`formats.FORMATS`), and return the files.

        Args:
            model: The model, which ``onnx`` needs and ``session`` holds; the one that the run was made of unless given.

        Raises:
            CollageError: as `formats.export`.
        """
        return formats.export(self, as_, Path(folder), self.source if model is None else model)

    def nodes_frame(self) -> Any:
        """Return a ``pandas.DataFrame`` with a row for each node. Raises CollageError where pandas is not installed."""
        return frame(*node_table(self))

    def partitions_frame(self) -> Any:
        """Return one with a row for each partition, then each transition. Raises CollageError where pandas is not installed."""
        return frame(*partition_table(self))

    @property
    def verdict(self) -> Verdict:
        """The sentence that leads all that is said of the run, and what it rests on."""
        return verdict(self.document)

    @property
    def assumed(self) -> dict[str, int]:
        """Dynamic dimensions of the model whose size nobody gave, by symbol or as ``input[axis]`` → the size that they have here."""
        return dict(self.plan.model.assumed)

    def __repr__(self) -> str:
        plan = self.plan
        total = predicted_text(plan, milliseconds)
        sizes = "".join(f", {name} = {size}" for name, size in self.assumed.items())
        parts = counted(len(plan.partitions), "partition")
        return f"<Result of {plan.model.name!r}{sizes}: {total}, {parts} on {', '.join(plan.used_targets)}>"

    def _repr_html_(self) -> str:
        return result_html(self, self._page)

    @cached_property
    def _page(self) -> Page:
        """The page with this run; made once, since that takes seconds."""
        if len(self.graph) > MOST_NODES:
            return Page(reason=f"the model has {counted(len(self.graph), 'node')}; export(folder, ['report']) writes it for a browser")
        try:
            return Page(report_text(self, REPORT_S))
        except CollageError as error:
            return Page(reason=error.message)
        except WorkerError as error:
            return Page(reason=f"the process that makes it {error.what}")


def result_of(record: RunRecord, source: Source = None) -> Result:
    """Return `record` as a result, with its regions."""
    if isinstance(record, Result):
        return record
    held = {one.name: getattr(record, one.name) for one in fields(RunRecord)}
    held["regions"] = {name: result_of(region, source) for name, region in record.regions.items()}
    return Result(**held, source=source)


def open_run(path: str | Path, model: Source = None) -> Result:
    """Open a run that was kept: its folder, its ``plan.json`` or its ``run.json.gz``.

    Args:
        model: The model that it was made of, for `Result.export`.

    Raises:
        CollageError: there is none, or it cannot be read.
    """
    path = Path(path)
    if path.suffix not in (".gz", ".json") and not os.path.isdir(path):
        raise CollageError(f"there is no run in {str(path)!r}", "give the folder that --out or save() wrote", "no_run")
    return result_of(RunRecord.load(path), model)
