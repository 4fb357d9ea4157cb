"""Where the tests find the files of the repository, wherever a test itself lies."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PLUGINS = ROOT / "tests" / "plugins"
RECORDED = ROOT / "collage_core" / "model" / "samples" / "recorded"
