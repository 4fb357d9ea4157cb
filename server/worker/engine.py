"""The engine as the server names it: what a run, a what-if and a trace call, in a worker process."""

from __future__ import annotations

from collage_core.options import Options
from collage_core.pipeline.apply import apply
from collage_core.pipeline.record import RunRecord
from collage_core.pipeline.run import partition
from collage_core.trace.trace import trace
from collage_core.what_if.described import with_described
from collage_core.what_if.estimates import estimates
from collage_core.what_if.remeasure import measure_again
from collage_core.what_if.search_again import search_again
from collage_core.what_if.what_if import Term, Terms, effects, what_if

__all__ = [
    "Options", "RunRecord", "Term", "Terms", "apply", "effects", "estimates", "measure_again", "partition", "search_again", "trace",
    "what_if", "with_described",
]  # fmt: skip
