"""Routes of ``/api/v1/described``: described toolchains, checked as they are written, saved by name, listed and deleted.

A text is read by the engine, and so in another process (`check_description`).
"""

from __future__ import annotations

from flask import Blueprint, Response

from .. import descriptions
from ..http.answers import answer, json_body
from ..http.asker import asker_left
from ..messages.installation import Description, DescriptionCheck, DescriptionList, DescriptionText
from ..services import services
from ..shared.from_json import from_json
from ..worker.toolchain_rows import check_description

blueprint = Blueprint("described", __name__)


@blueprint.get("/described")
def list_descriptions() -> Response:
    return answer(DescriptionList([Description(name, text) for name, text in descriptions.all_saved().items()]))


@blueprint.post("/described/check")
def check() -> Response:
    return answer(_checked(json_body(DescriptionText).text))


@blueprint.post("/described")
def save() -> Response:
    text = json_body(DescriptionText).text
    checked = _checked(text)
    if checked.mistake is not None:
        raise descriptions.problem_of(checked.mistake)
    assert checked.name is not None
    descriptions.save(checked.name, text)
    return answer(Description(checked.name, text), 201)


@blueprint.delete("/described/<name>")
def delete(name: str) -> Response:
    descriptions.delete(name)
    return Response(status=204)


def _checked(text: str) -> DescriptionCheck:
    descriptions.check_size(text)
    return from_json(DescriptionCheck, services().pool.call(check_description, text, should_stop=asker_left()))
