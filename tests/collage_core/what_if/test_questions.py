"""The table of questions: each names the type that its function returns, and stands once in the web API."""

from __future__ import annotations

import dataclasses
from typing import Any, get_type_hints

import pytest

from collage_core.documents.json_form import to_json
from collage_core.pipeline.record.record import RunRecord
from collage_core.what_if import questions
from collage_core.what_if.questions import Question
from collage_server.app import create_app
from collage_server.config import ServerConfig
from tests.helpers.command import document_of
from tests.helpers.paths import RECORDED

TABLE: list[Question[Any]] = [value for value in vars(questions).values() if isinstance(value, Question)]
MINI_MNIST = RECORDED / "mini_mnist.json.gz"
OPTIONS = {"explain": (), "worth": ("--by-targets",), "undecided": ("--undecided",)}


@pytest.mark.parametrize("question", TABLE, ids=lambda question: question.name)
def test_a_question_names_the_type_of_its_answer(question: Question[Any]) -> None:
    hints = get_type_hints(question.ask, localns={"RunRecord": RunRecord})
    assert hints["return"] is question.answer
    assert question.answer.__module__.startswith("collage_core.documents.")
    assert dataclasses.is_dataclass(question.answer)


def test_each_has_a_route_except_the_one_that_the_page_asks_node_by_node() -> None:
    app, _ = create_app(ServerConfig())
    paths = {rule.rule for rule in app.url_map.iter_rules()}
    app.extensions["collage"].close()
    assert len({question.name for question in TABLE}) == len(TABLE) > 10
    assert {question.name for question in TABLE if f"/api/v1/runs/<run>/{question.name}" not in paths} == {"explain"}


@pytest.mark.parametrize("question", questions.PLAIN, ids=lambda question: question.name)
def test_a_question_that_asks_nothing_else_is_answered_for_a_recorded_run(question: Question[Any]) -> None:
    assert isinstance(question.ask(RunRecord.load(MINI_MNIST)), question.answer)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_command_prints_the_answer(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    question = next(one for one in TABLE if one.name == name)
    asked = (None, None) if name == "explain" else ()
    answer = question.ask(RunRecord.load(MINI_MNIST), *asked)
    assert document_of(capsys, "explain", MINI_MNIST, *OPTIONS[name]) == {"schema": 1, **to_json(answer)}
