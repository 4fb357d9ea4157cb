"""The table of questions: each names the types of its request and its answer, and is made into routes, requests of the page and methods."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from typing import Any, get_args, get_type_hints

import pytest

from collage_core.documents.json_form import to_json
from collage_core.pipeline.record.record import RunRecord
from collage_core.what_if import questions
from collage_core.what_if.questions import QUESTIONS, PlainRequest, Question
from collage_server.app import create_app
from collage_server.config import ServerConfig
from tests.helpers.command import document_of
from tests.helpers.literals import literals_of
from tests.helpers.paths import RECORDED, ROOT

MINI_MNIST = RECORDED / "mini_mnist.json.gz"
OPTIONS = {"explain": (), "worth": ("--by-targets",), "undecided": ("--undecided",)}
MOST_FILES = 3
ONLY_QUESTIONS = {"node-times", "other-terms", "what-if"}
"""Names that are no words of anything else."""


def named(question: Question[..., Any, Any]) -> str:
    return question.name


@pytest.mark.parametrize("question", QUESTIONS, ids=named)
def test_a_question_names_the_types_of_its_request_and_its_answer(question: Question[..., Any, Any]) -> None:
    hints = get_type_hints(question.function, localns={"RunRecord": RunRecord})
    assert get_args(hints["asked"]) == (question.request,)
    assert hints["return"] is question.answer
    assert question.answer.__module__.startswith("collage_core.documents.")
    assert dataclasses.is_dataclass(question.answer)
    assert dataclasses.is_dataclass(question.request)


def test_each_question_that_has_a_method_has_a_route() -> None:
    app, _ = create_app(ServerConfig())
    routes = {(rule.rule, method) for rule in app.url_map.iter_rules() for method in rule.methods or ()}
    app.extensions["collage"].close()
    assert len({question.name for question in QUESTIONS}) == len(QUESTIONS) > 10
    assert [value for value in vars(questions).values() if isinstance(value, Question)] == list(QUESTIONS)
    lacking = {question.name for question in QUESTIONS if (f"/api/v1/runs/<run>/{question.name}", question.method) not in routes}
    assert lacking == {"explain"}, "which the page asks node by node"


@pytest.mark.parametrize("question", QUESTIONS, ids=named)
def test_no_more_than_three_files_spell_a_question(question: Question[..., Any, Any]) -> None:
    """By its name, or by its address where the name is a word of other things, too."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.py", "*.ts", "*.tsx"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    address = re.compile(rf"(^|runs/[^ ]*)/{question.name}([?/]|$)" + (rf"|^{question.name}$" if question.name in ONLY_QUESTIONS else ""))
    files = [ROOT / name for name in listed.stdout.split() if not name.startswith("tests/") and ".test." not in name]
    spelt = {str(file.relative_to(ROOT)) for file in files if file.exists() and any(map(address.search, literals_of(file)))}
    assert len({*spelt, "collage_core/what_if/questions.py", "frontend/src/data/protocol.ts"}) <= MOST_FILES, spelt


PLAIN = [question for question in QUESTIONS if question.request is PlainRequest]


@pytest.mark.parametrize("question", PLAIN, ids=named)
def test_a_question_that_asks_nothing_else_is_answered_for_a_recorded_run(question: Question[..., Any, Any]) -> None:
    assert isinstance(question.ask(RunRecord.load(MINI_MNIST)), question.answer)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_command_prints_the_answer(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    question = next(one for one in QUESTIONS if one.name == name)
    answer = question.ask(RunRecord.load(MINI_MNIST))
    assert document_of(capsys, "explain", MINI_MNIST, *OPTIONS[name]) == {"schema": 1, **to_json(answer)}
