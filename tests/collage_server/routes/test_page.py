"""The page's shell, built and not built, at the root and under a prefix."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_engine import FakeEngine
from flask import Flask

from collage_core import __version__
from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.routes.page import ENTRY, read_manifest

MANIFEST: dict[str, Any] = {
    ENTRY: {"file": "assets/main-1.js", "css": ["assets/main-1.css"], "imports": ["_a.js", "_b.js"], "dynamicImports": ["_late.js"]},
    "_a.js": {"file": "assets/a-1.js", "imports": ["_b.js"], "css": ["assets/a-1.css"]},
    "_b.js": {"file": "assets/b-1.js", "imports": ["_a.js"]},
    "_late.js": {"file": "assets/late-1.js"},
}


def write_bundle(static: Path) -> None:
    (static / "dist" / ".vite").mkdir(parents=True)
    (static / "dist" / "assets").mkdir()
    (static / "dist" / ".vite" / "manifest.json").write_text(json.dumps(MANIFEST))
    (static / "dist" / "assets" / "main-1.js").write_text("export {}")


@pytest.fixture
def paged(home: Path, tmp_path: Path) -> Iterator[tuple[Flask, Path]]:
    """An app behind a proxy whose static folder is the test's."""
    made, _ = create_app(ServerConfig(engine=FakeEngine(), behind_proxy=True, model="m" * 64, upload_bytes=99))
    made.static_folder = str(tmp_path / "static")
    yield made, tmp_path / "static"
    made.extensions["collage"].close()


def config_of(text: str) -> dict[str, Any]:
    found = re.search(r'id="app" data-config="([^"]*)"', text)
    assert found
    return json.loads(html.unescape(found[1]))


def test_not_built(paged: tuple[Flask, Path]) -> None:
    answer = paged[0].test_client().get("/")
    assert answer.status_code == 503
    assert "make setup" in answer.text
    assert "<script" not in answer.text


def test_built(paged: tuple[Flask, Path]) -> None:
    write_bundle(paged[1])
    answer = paged[0].test_client().get("/")
    assert answer.status_code == 200
    assert '<script type="module" src="static/dist/assets/main-1.js"></script>' in answer.text
    assert re.findall(r'rel="stylesheet" href="([^"]+)"', answer.text) == ["static/dist/assets/main-1.css", "static/dist/assets/a-1.css"]
    assert re.findall(r'rel="modulepreload" href="([^"]+)"', answer.text) == ["static/dist/assets/a-1.js", "static/dist/assets/b-1.js"]
    assert config_of(answer.text) == {
        "version": __version__,
        "prefix": "",
        "model": "m" * 64,
        "local_paths": False,
        "upload_bytes": 99,
        "run": None,
        "report": None,
    }


def test_every_address_in_the_shell_is_relative_and_no_script_is_inline(paged: tuple[Flask, Path]) -> None:
    write_bundle(paged[1])
    text = paged[0].test_client().get("/").text
    addresses = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert addresses
    assert not [address for address in addresses if address.startswith(("/", "http", "//"))]
    assert re.findall(r"<script[^>]*>([^<]*)</script>", text) == [""]


@pytest.mark.parametrize("path", ["/", "/tools/collage/"])
def test_prefix(paged: tuple[Flask, Path], path: str) -> None:
    """A proxy may take the prefix off the path, or leave it there."""
    write_bundle(paged[1])
    client = paged[0].test_client()
    headers = {"X-Forwarded-Prefix": "/tools/collage"}
    assert config_of(client.get(path, headers=headers).text)["prefix"] == "/tools/collage"
    assert client.get(f"{path}api/v1/models", headers=headers).status_code == 200


def test_a_prefix_that_is_markup_stays_text(paged: tuple[Flask, Path]) -> None:
    write_bundle(paged[1])
    prefix = "/&<script>alert(1)</script>"
    text = paged[0].test_client().get("/", headers={"X-Forwarded-Prefix": prefix}).text
    assert config_of(text)["prefix"] == prefix
    assert "<script>alert" not in text


def test_built_files_are_kept_by_the_browser_and_the_manifest_is_not(paged: tuple[Flask, Path]) -> None:
    write_bundle(paged[1])
    client = paged[0].test_client()
    built = client.get("/static/dist/assets/main-1.js")
    assert built.status_code == 200
    assert "immutable" in built.headers["Cache-Control"]
    assert built.headers["Content-Type"].startswith("text/javascript")
    assert client.get("/static/dist/.vite/manifest.json").headers["Cache-Control"] == "no-cache"
    assert client.get("/").headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("text", ["", "{}", "[1]", "no json"])
def test_a_broken_manifest_is_no_bundle(tmp_path: Path, text: str) -> None:
    write_bundle(tmp_path)
    (tmp_path / "dist" / ".vite" / "manifest.json").write_text(text)
    assert read_manifest(tmp_path) is None
