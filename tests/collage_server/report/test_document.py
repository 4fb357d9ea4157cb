"""The document of a report: nothing that comes from a model or a run is read as markup, and nothing may be asked of a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from flask import Flask

from collage_core.errors import CollageError
from collage_server.messages.installation import ReportInfo
from collage_server.report.document import report_document
from tests.helpers.paths import ROOT
from tests.helpers.report import answers_in, config_of, elements_of

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]><img src=x onerror=alert(1)>",
    "\u2028\u2029",
    "'\"><b id=app>",
    "{{ 7 * 7 }}{% raw %}",
)


@pytest.fixture
def app(tmp_path: Path) -> Flask:
    """An app whose page is a script and a style of a few letters."""
    folder = tmp_path / "static" / "dist" / "report"
    folder.mkdir(parents=True)
    (folder / "report.js").write_text('console.log("</script>")')
    (folder / "report.css").write_text("body { margin: 0 }")
    (tmp_path / "static" / "favicon.svg").write_text("<svg/>")
    return Flask(__name__, static_folder=str(tmp_path / "static"), template_folder=str(ROOT / "collage_server" / "templates"))


def made(app: Flask, name: str) -> str:
    """A report in which everything that can come from outside is `name`."""
    answers = {f"GET models/{name}": json.dumps({"name": name}), "GET runs": json.dumps([name], ensure_ascii=False)}
    return report_document(app, answers, name, name, ReportInfo("2026-01-02T03:04:05Z", name, name, {name: name}))


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_breaks_out_of_the_document(app: Flask, name: str) -> None:
    """It has the elements of a report with a plain name; and what was put into it comes out as it was."""
    text = made(app, name)
    assert [tag for tag, _ in elements_of(text)] == [tag for tag, _ in elements_of(made(app, "plain"))]
    assert answers_in(text) == {f"GET models/{name}": {"name": name}, "GET runs": [name]}
    report = config_of(text)["report"]
    assert report == {"written": "2026-01-02T03:04:05Z", "run": name, "machine": name, "versions": {name: name}}


def test_its_policy_admits_no_request_and_only_its_own_loader(app: Flask) -> None:
    text = made(app, "plain")
    policy = next(attributes["content"] or "" for _, attributes in elements_of(text) if "http-equiv" in attributes)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "connect-src" not in rules, "nothing may be fetched"
    assert rules["script-src"].startswith("'sha256-")
    assert "unsafe" not in rules["script-src"]
    assert not [attributes for _, attributes in elements_of(text) if "src" in attributes], "no element names a file"


def test_equal_answers_make_equal_documents(app: Flask) -> None:
    assert made(app, "plain") == made(app, "plain")


def test_without_the_built_page_there_is_no_report(app: Flask) -> None:
    (Path(app.static_folder or "") / "dist" / "report" / "report.js").unlink()
    with pytest.raises(CollageError, match="the page is not built") as caught:
        made(app, "plain")
    assert "make setup" in caught.value.hint
