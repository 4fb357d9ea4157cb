"""Names of attributes of Relax modules and functions that the toolchains and the passes of `transform` both know."""

from __future__ import annotations

EXTERNAL = "external_mods"
"""Of a module: where `RunCodegen` keeps the runtime modules that are linked into the library; `PreparesRelax.prepare` may give some."""
SHAPES = "collage.shapes"
"""Of a function with symbols: the shapes of its parameters for which it was planned, as JSON."""
THREADS = "collage.threads"
"""Of a function: the threads that its kernel runs with."""
TUNING = "collage.tuning"
"""Of a module, and of the ``main`` that `PreparesRelax.prepare` gets: the tuned schedules of its kernels, as `SubModel.tuning`."""
