"""`RuleOfThumbEngine`: an engine whose costs follow a rule of thumb and which builds nothing: plans of any model, at once.

`bench_large` gives it to the server, which sends it to the worker processes that it starts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from collage_core.events import Emit
from collage_core.pipeline.record.record import RunRecord
from collage_server.worker.engine import CollageEngine, Json, options_from_json

OP_S, DEAR_S = 1e-5, 4e-5
DECAY = 0.9
"""Each further operator of a partition is so much cheaper."""
OPERATOR = "MatMul"


class RuleOfThumbEngine(CollageEngine):
    """`collage_core`, on costs that are made up."""

    def partition(self, model: Path, options: Json, out: Path, emit: Emit, should_stop: Callable[[], bool]) -> RunRecord:
        """The best plan where every second target is good at one operator, and bad at all others."""
        from collage_core.options import Options
        from collage_core.pipeline.partition import partition

        out.mkdir(parents=True)
        costs = out / "costs.json"
        good = {"op_s": OP_S, "decay": DECAY, "ops": {OPERATOR: DEAR_S}}
        bad = {"op_s": DEAR_S, "decay": DECAY, "ops": {OPERATOR: OP_S}}
        costs.write_text(json.dumps({"targets": {target: (good, bad)[index % 2] for index, target in enumerate(options["targets"])}}))
        record = partition(model, Options(**options_from_json({**options, "costs": f"mock:{costs}"})), emit)
        record.save(out)
        return record
