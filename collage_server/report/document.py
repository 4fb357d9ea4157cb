"""`report_document`: the page, built as one script, and the answers to what it asks, as one HTML document.

Answers of the server and facts on the report enter; text leaves. Everything that comes from a model or a run is inside of base64, or
escaped by the template, so nothing in it can be read as markup. The document names no address, and its policy forbids requests.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from flask import Flask

from collage_core.errors import CollageError
from collage_core.version import __version__

from ..messages.installation import PageConfig, ReportInfo

TEMPLATE = "report.html"
LOADER = """
(async () => {
  if (!("DecompressionStream" in window)) {
    document.body.textContent = "This report needs a browser that can decompress data: any of 2023 or newer.";
    return;
  }
  const packed = atob(document.getElementById("report-script").textContent);
  const bytes = Uint8Array.from(packed, (char) => char.charCodeAt(0));
  const code = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const script = document.createElement("script");
  script.type = "module";
  script.src = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  document.body.append(script);
})();
"""
"""Unpacks the script and runs it. The policy of the document knows it by its hash."""


def report_document(app: Flask, answers: Mapping[str, str], model: str, model_name: str, about: ReportInfo) -> str:
    """Return the document.

    Args:
        answers: As `answers.collect` gives them.
        model: Id of the model that it shows.

    Raises:
        CollageError: the page is not built.
    """
    static = Path(app.static_folder or "")
    try:
        script, style = ((static / "dist" / "report" / f"report.{ending}").read_bytes() for ending in ("js", "css"))
    except OSError as error:
        raise CollageError("the page is not built, and a report holds it", "type `make setup` in the checkout", "not_built") from error
    config = PageConfig(__version__, "", model, local_paths=False, upload_bytes=0, report=about)
    data = "{" + ",".join(f"{json.dumps(asked)}:{text.strip()}" for asked, text in answers.items()) + "}"
    return app.jinja_env.get_template(TEMPLATE).render(
        title=f"{model_name}: report of Collage Explorer",
        config=json.dumps(asdict(config)),
        style=style.decode(),
        icon=base64.b64encode((static / "favicon.svg").read_bytes()).decode(),
        data=_packed(data.encode()),
        script=_packed(script),
        loader=LOADER,
        loader_hash=f"sha256-{base64.b64encode(hashlib.sha256(LOADER.encode()).digest()).decode()}",
    )


def _packed(content: bytes) -> str:
    """Return bytes compressed, as base64; the same text for the same bytes."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()
