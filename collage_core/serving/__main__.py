"""``python -m collage_core.serving ARTIFACT``: what `collage serve` does, where only what runs artifacts is installed."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ..base.access_token import ENVIRONMENT
from ..errors import CollageError
from .launch import DEFAULT_PORT, serve


def main(arguments: list[str] | None = None) -> int:
    """Serve the artifact that `arguments` name, by default those of the process; return the exit status."""
    parser = argparse.ArgumentParser("python -m collage_core.serving", description="Serve an exported artifact over HTTP.")
    parser.add_argument("folder", metavar="artifact", type=Path, help="the folder that was exported")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="port to listen at; 0 for a free one")
    parser.add_argument("--name", default="", help="what clients call the model")
    parser.add_argument("--most-mb", type=int, help="most megabytes of a request")
    parser.add_argument("--fallback", action="store_true", help="where a device is missing, serve the plan for the host")
    parser.add_argument("--other-versions", action="store_true", help="open it although a toolchain has another version")
    parser.add_argument("--token", default=os.environ.get(ENVIRONMENT), help=f"what clients must bring; {ENVIRONMENT} holds it as well")
    parser.add_argument("--no-token", action="store_true", help="let everybody who can reach it use it")
    given = parser.parse_args(arguments)
    try:
        serve(**vars(given))
    except CollageError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
