"""``python -m collage_core.serving ARTIFACT``: what `collage serve` does, where only what runs artifacts is installed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import CollageError
from .launch import DEFAULT_PORT, serve


def main(arguments: list[str] | None = None) -> int:
    """Serve the artifact that `arguments` name, by default those of the process; return the exit status."""
    parser = argparse.ArgumentParser("python -m collage_core.serving", description="Serve an exported artifact over HTTP.")
    parser.add_argument("artifact", type=Path, help="the folder that was exported")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="port to listen at; 0 for a free one")
    parser.add_argument("--name", default="", help="what clients call the model")
    parser.add_argument("--most-mb", type=int, help="most megabytes of a request")
    parser.add_argument("--other-versions", action="store_true", help="open it although a toolchain has another version")
    given = parser.parse_args(arguments)
    try:
        serve(given.artifact, given.host, given.port, given.name, given.most_mb, given.other_versions)
    except CollageError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
