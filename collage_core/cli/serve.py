"""`collage serve`: an artifact behind a small HTTP endpoint of the open inference protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..base.access_token import ENVIRONMENT
from .plans import OTHER_VERSIONS_HELP


@click.command()
@click.argument("artifact", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=int, default=8080, show_default=True, help="Port to listen at; 0 for a free one.")
@click.option("--name", default="", help="What clients call the model; its own name unless given.")
@click.option("--most-mb", type=int, help="Most megabytes of a request; unless given, as many as the inputs can need.")
@click.option("--other-versions", is_flag=True, help=OTHER_VERSIONS_HELP)
@click.option("--token", envvar=ENVIRONMENT, show_envvar=True, help="What clients must bring; beyond this machine a new one unless given.")
@click.option("--no-token", is_flag=True, help="Let everybody who can reach the server use it.")
def serve(artifact: Path, **options: Any) -> None:
    """Serve an exported ARTIFACT over HTTP, by the open inference protocol (v2)."""
    from ..serving.launch import serve as serve_artifact

    serve_artifact(artifact, **options)
