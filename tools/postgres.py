"""Installs Debian's PostgreSQL for the database tests (``make test``), where that is possible without a password.

Else it prints that these tests will be skipped, and the command that installs it.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import debian

COMMAND = "sudo apt-get install postgresql"
DEBIANS = Path("/usr/lib/postgresql")


def find() -> Path | None:
    """Return the folder with `initdb` and `pg_ctl`, which Debian keeps in a folder per version that is not on the path."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(DEBIANS.glob("*/bin"), key=lambda folder: (len(folder.parent.name), folder.parent.name), reverse=True)
    return next((folder for folder in folders if all((folder / name).is_file() for name in ("initdb", "pg_ctl", "postgres"))), None)


def main() -> None:
    if find():
        return
    before = debian.prefix()
    if before is not None:
        print("test: installing Debian's postgresql for the tests of the team's cost database", flush=True)
        if debian.install("postgresql", before) and find():
            return
    print(
        f"test: NO PostgreSQL: the tests of the team's cost database will be SKIPPED; to run them: {COMMAND}", file=sys.stderr, flush=True
    )


if __name__ == "__main__":
    main()
