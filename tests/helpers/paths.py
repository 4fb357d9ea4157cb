"""The paths of the repository's files, for tests in any folder."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PLUGINS = ROOT / "tests" / "plugins"
RECORDED = ROOT / "collage_core" / "model" / "samples" / "recorded"
