"""`BriefEngine`: the engine, whose runs measure briefly (`brief_runs`) wherever this module is imported; for tests that need real runs."""

from __future__ import annotations

from brief_runs import set_existing, shorten
from collage_server.worker.engine import CollageEngine

shorten(set_existing)


class BriefEngine(CollageEngine):
    """To be named in `ServerConfig.engine`: a worker process that gets it imports this module."""
