"""`collage serve`: an artifact behind a small HTTP endpoint of the open inference protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..base.access_token import ENVIRONMENT
from .plans import FALLBACK_HELP, OTHER_VERSIONS_HELP


@click.command()
@click.argument("artifact", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=int, default=8080, show_default=True, help="Port to listen on; 0 for a free one.")
@click.option("--name", default="", help="Name of the model for clients; by default its own.")
@click.option("--most-mb", type=int, help="Largest size of a request in megabytes; by default what the inputs can need.")
@click.option("--other-versions", is_flag=True, help=OTHER_VERSIONS_HELP)
@click.option("--fallback", is_flag=True, help=FALLBACK_HELP)
@click.option(
    "--token",
    envvar=ENVIRONMENT,
    show_envvar=True,
    help="Token that clients need. By default none on this machine, and a new one on other addresses.",
)
@click.option("--no-token", is_flag=True, help="Require no token: everyone who can reach the server can use it.")
def serve(artifact: Path, **options: Any) -> None:
    """Serve an exported ARTIFACT over HTTP by the Open Inference Protocol (v2)."""
    from ..serving.launch import serve as serve_artifact

    serve_artifact(artifact, **options)
