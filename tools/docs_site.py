"""Builds the documentation site (``make docs``) into ``site``: a folder of pages that any browser opens, without a server or a network.

``docs/*.md`` and the code enter; `docs_sources` makes Sphinx's sources of them. Every warning is an error, a dead link among them.
With ``--install`` the generator is only installed, from ``locks/docs.txt``, and a failure says which test will be skipped.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib import util
from pathlib import Path

import checkout

ROOT = checkout.ROOT
SITE = ROOT / "site"
CONFIGURATION = ROOT / "tools" / "docs_theme"
LOCK = ROOT / "locks" / "docs.txt"
NEEDED = ("sphinx", "myst_parser", "pydata_sphinx_theme")
LONGEST_S = 600


def is_installed() -> bool:
    """Return whether the generator, its parser and its theme are there."""
    return all(util.find_spec(name) is not None for name in NEEDED)


def install() -> bool:
    """Install the locked generator where it is missing or another one, and return whether it is there then."""
    stamp = checkout.VENV / "setup" / "docs"
    step = checkout.Step("the generator of the documentation site", stamp, [LOCK], [], _install_lock, [sys.version])
    try:
        step.run()
    except (subprocess.SubprocessError, OSError) as error:
        print(f"docs: {error}", file=sys.stderr)
    return is_installed()


def _install_lock() -> None:
    words = ["--disable-pip-version-check", "--quiet", "install", "--require-hashes", "--no-deps", "-r", str(LOCK)]
    subprocess.run([sys.executable, "-m", "pip", *words], timeout=LONGEST_S, check=True)


def build(site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site into the folder `site`, and return the generator's process, with all that it complained of."""
    from docs_sources import Sources

    with tempfile.TemporaryDirectory(prefix="collage-docs-") as scratch:
        sources = Path(scratch) / "sources"
        sources.mkdir()
        Sources(sources).write()
        words = ["--builder", "html", "--fail-on-warning", "--quiet", "--fresh-env", "--conf-dir", str(CONFIGURATION)]
        words += ["--doctree-dir", f"{scratch}/doctrees", str(sources), str(site)]
        return subprocess.run([sys.executable, "-m", "sphinx", *words], cwd=ROOT, capture_output=True, text=True)


def main() -> None:
    is_there = install()
    if sys.argv[1:] == ["--install"]:
        if not is_there:
            print("test: NO documentation generator: the test that builds the site will be SKIPPED", file=sys.stderr)
        return
    if not is_there:
        sys.exit(f"docs: the generator is not installed: {sys.executable} -m pip install -r {LOCK}")
    shutil.rmtree(SITE, ignore_errors=True)
    done = build(SITE)
    print(done.stdout + done.stderr, end="", file=sys.stderr)
    if done.returncode:
        sys.exit("docs: the site is not built; the warnings above are errors")
    print(f"docs: open {(SITE / 'index.html').as_uri()}")


if __name__ == "__main__":
    main()
