"""The engine with runs that measure briefly (`brief_runs`): `ServerConfig.pipeline` names it in tests that need real runs."""

from __future__ import annotations

from brief_runs import set_existing, shorten
from collage_server.worker.engine import *  # noqa: F403 - all that the server calls of its pipeline

shorten(set_existing)
