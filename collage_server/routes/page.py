"""Serves the page's shell: one document that loads the built bundle, or says how to build it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, current_app, render_template, request

from collage_core.version import __version__

from ..http.security import set_headers, trusts
from ..messages.installation import PageConfig
from ..services import services

blueprint = Blueprint("page", __name__)

ENTRY = "frontend/src/main.tsx"
MANIFEST = "dist/.vite/manifest.json"


@blueprint.get("/")
def page() -> Response:
    bundle = read_manifest(Path(current_app.static_folder or ""))
    if bundle is None:
        return Response(render_template("not_built.html"), 503)
    config = services().config
    is_trusted = trusts(config, request.environ)
    about = PageConfig(__version__, request.script_root, config.model, is_trusted, config.upload_bytes, config.run)
    return Response(render_template("index.html", bundle=bundle, config=json.dumps(asdict(about))))


def read_manifest(static: Path) -> dict[str, Any] | None:
    """Read which files the built page has below ``static/dist``: its script, styles, and what the script imports; None if not built."""
    try:
        manifest = json.loads((static / MANIFEST).read_text())
        entry = manifest[ENTRY]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    imports = _imports(manifest, ENTRY)
    styles = dict.fromkeys(style for name in [ENTRY, *imports] for style in manifest[name].get("css", ()))
    return {"script": entry["file"], "styles": list(styles), "preloads": [manifest[name]["file"] for name in imports]}


def _imports(manifest: dict[str, Any], name: str) -> list[str]:
    """Return everything that the chunk `name` imports at once, each once."""
    chunks: dict[str, None] = {}
    waiting = list(manifest[name].get("imports", ()))
    while waiting:
        chunk = waiting.pop(0)
        if chunk not in chunks:
            chunks[chunk] = None
            waiting += manifest[chunk].get("imports", ())
    return list(chunks)


def set_asset_headers(response: Response) -> Response:
    """Let built files be cached for good, as their names hold a digest; all else is asked for each time."""
    if request.endpoint == "static" and "/assets/" in request.path and response.status_code in (200, 304):
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    elif request.endpoint == "static":
        response.headers["Cache-Control"] = "no-cache"
    return set_headers(response)
