"""`collage` whose explorer's runs measure briefly: ``brief_explorer.py explore ARGUMENT…``, for browser tests that start runs."""

from __future__ import annotations

from functools import partial

from brief_engine import BriefEngine
from brief_runs import set_existing

from collage_core.cli.main import main
from collage_server import launch
from collage_server.config import ServerConfig

if __name__ == "__main__":
    set_existing(launch, "ServerConfig", partial(ServerConfig, engine=BriefEngine()))
    main()
