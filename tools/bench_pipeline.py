"""A pipeline whose costs follow a rule of thumb and which builds nothing: plans of any model, at once, for `bench_large`.

It has what `server.job` calls of `collage_core.pipeline.run`, and is imported in the run's own process.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from collage_core.events import Emit
from collage_core.options import Options
from collage_core.pipeline import run as pipeline
from collage_core.pipeline.record import RunRecord
from collage_core.trace.trace import trace
from collage_core.what_if.described import with_described
from collage_core.what_if.search_again import search_again
from collage_core.what_if.what_if import effects, what_if

__all__ = ["Options", "RunRecord", "effects", "partition", "search_again", "trace", "what_if", "with_described"]

OP_S, DEAR_S = 1e-5, 4e-5
DECAY = 0.9
"""Each further operator of a partition is so much cheaper."""
OPERATOR = "MatMul"


def partition(source: Path, options: Options, emit: Emit) -> RunRecord:
    """The best plan where every second target is good at one operator, and bad at all others."""
    folder = options.out
    if folder is None:
        raise AssertionError("the server gives every run a folder")
    folder.mkdir(parents=True)
    costs = folder / "costs.json"
    good = {"op_s": OP_S, "decay": DECAY, "ops": {OPERATOR: DEAR_S}}
    bad = {"op_s": DEAR_S, "decay": DECAY, "ops": {OPERATOR: OP_S}}
    costs.write_text(json.dumps({"targets": {target: (good, bad)[place % 2] for place, target in enumerate(options.targets)}}))
    record = pipeline.partition(source, replace(options, costs=f"mock:{costs}", out=None), emit)
    record.save(folder)
    return record
