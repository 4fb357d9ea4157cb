"""Sets the checkout up (``make setup``): the virtual environment from the locks, then the built page.

The lock files and the page's sources enter; `.venv`, `node_modules` and `collage_server/static/dist` leave. Each step leaves a stamp
with a digest of its inputs, so that a second call does nothing and a change repeats only the steps that it affects. The stamp is
removed before its step begins and written when the step has ended: after an interruption the step starts again. Only the standard
library is needed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import node

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STATIC = ROOT / "collage_server" / "static" / "dist"


@dataclass(frozen=True)
class Step:
    """A step of the set-up.

    Attributes:
        stamp: File with the digest of the last success.
        inputs: Files and folders that the step reads; a folder stands for every file in it.
        outputs: Files that must exist; else the step is repeated whatever its stamp says.
        extra: Other texts that the step depends on.
    """

    name: str
    stamp: Path
    inputs: Sequence[Path]
    outputs: Sequence[Path]
    make: Callable[[], None]
    extra: Sequence[str] = field(default=())

    def digest(self) -> str:
        return digest(self.inputs, self.extra)

    def is_done(self) -> bool:
        return self.stamp.is_file() and self.stamp.read_text() == self.digest() and all(output.exists() for output in self.outputs)

    def run(self) -> bool:
        """Run the step unless it is done, and return whether it was run."""
        if self.is_done():
            return False
        print(f"setup: {self.name}", flush=True)
        self.stamp.unlink(missing_ok=True)
        before = self.digest()
        self.make()
        self.stamp.parent.mkdir(parents=True, exist_ok=True)
        self.stamp.write_text(before)
        return True


def digest(inputs: Iterable[Path], extra: Iterable[str] = ()) -> str:
    """Return a hash over names and contents; a missing file counts as absent."""
    total = hashlib.sha256()
    for path in sorted(files_of(inputs)):
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "absent"
        total.update(f"{path}\0{content}\n".encode())
    for word in extra:
        total.update(f"{word}\n".encode())
    return total.hexdigest()


def files_of(inputs: Iterable[Path]) -> set[Path]:
    """Return the files in the folders of `inputs`, and its other paths."""
    found: set[Path] = set()
    for path in inputs:
        found.update((inner for inner in path.rglob("*") if inner.is_file()) if path.is_dir() else (path,))
    return found


def base_python() -> Path:
    """Return the interpreter outside a virtual environment, since one must not be created by itself."""
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    return base if base.exists() else Path(sys.executable)


def missing_tools() -> list[str]:
    """Return what the machine lacks, one line each, with the command that installs it."""
    lacks = []
    if subprocess.run([base_python(), "-c", "import ensurepip, venv"], capture_output=True).returncode:
        name = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        lacks.append(f"Python's own module ensurepip: sudo apt-get install python3-venv   (or {name})")
    if not any(shutil.which(compiler) for compiler in ("c++", "g++", "clang++")):
        lacks.append("a C++ compiler, which TVM links with: sudo apt-get install g++")
    return lacks


def make_environment() -> None:
    call(base_python(), "-m", "venv", "--clear", VENV)
    pip("install", "--require-hashes", "--no-deps", "-r", ROOT / "locks" / "python.txt")
    pip("install", "--require-hashes", "--no-deps", "--ignore-requires-python", "-r", ROOT / "locks" / "models.txt")


def install_project() -> None:
    pip("install", "--no-deps", "--no-build-isolation", "--editable", ROOT)


def install_node() -> bool:
    """Install Node.js from its wheel where there is none, and return whether that was needed."""
    if node.find(VENV):
        return False
    print(f"setup: Node.js from its wheel (the machine has none that is {node.ENGINES})", flush=True)
    pip("install", "--require-hashes", "--no-deps", "-r", ROOT / "locks" / "node.txt")
    return True


def npm(*arguments: str) -> None:
    found = node.find(VENV)
    if found is None:
        sys.exit("setup: Node.js does not run, although its wheel is installed; install Node.js 20.19 or newer and try again")
    call(*found.npm, *arguments, environment=found.environment())


def pip(*arguments: str | Path) -> None:
    call(PYTHON, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments)


def call(*command: str | Path, environment: dict[str, str] | None = None) -> None:
    """Run a command of a step; if it fails, print the command and end the set-up."""
    words = [os.fspath(word) for word in command]
    status = subprocess.run(words, cwd=ROOT, env=environment).returncode
    if status:
        print(f"setup: stopped, because this failed (exit status {status}): {' '.join(words)}", file=sys.stderr)
        sys.exit("setup: `make setup` does the rest once that is mended")


def steps() -> tuple[list[Step], list[Step]]:
    """Return the steps for Python and those for the page, each in order."""
    locks, package = ROOT / "locks", [ROOT / "package.json", ROOT / "package-lock.json", ROOT / ".npmrc"]
    configuration = [ROOT / "vite.config.ts", ROOT / "tsconfig.json"]
    environment = Step(
        "Python packages from locks/ into .venv (some minutes the first time)",
        VENV / "setup" / "environment",
        [locks / "python.txt", locks / "models.txt"],
        [PYTHON],
        make_environment,
        [str(base_python()), sys.version],
    )
    project = Step(
        "this checkout into .venv",
        VENV / "setup" / "project",
        [ROOT / "pyproject.toml"],
        [VENV / "bin" / "collage"],
        install_project,
    )
    packages = Step(
        "the page's packages into node_modules",
        ROOT / "node_modules" / ".setup",
        package,
        [ROOT / "node_modules" / ".bin" / "vite"],
        lambda: npm("ci", "--no-audit", "--no-fund", "--loglevel=error"),
    )
    page = Step(
        "the page into collage_server/static/dist",
        ROOT / ".make" / "page",
        [ROOT / "frontend", *configuration, *package],
        [STATIC / ".vite" / "manifest.json", STATIC / "report" / "report.js"],
        lambda: npm("run", "--silent", "build"),
    )
    return [environment, project], [packages, page]


def main() -> None:
    lacks = missing_tools()
    if lacks:
        sys.exit("\n".join(["setup: this machine lacks", *(f"  {line}" for line in lacks)]))
    for_python, for_page = steps()
    done = [step.run() for step in for_python]
    done.append(install_node())
    done += [step.run() for step in for_page]
    if any(done):
        print("setup: done", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nsetup: interrupted; `make setup` does the rest", file=sys.stderr)
        sys.exit(130)
