"""Route ``/api/v1/samples``: the bundled models."""

from __future__ import annotations

from flask import Blueprint, Response

from collage_core.model.samples import registry as samples

from ..http.answers import answer
from ..messages.installation import SampleInfo, SampleList
from ..services import services

blueprint = Blueprint("samples", __name__)


@blueprint.get("/samples")
def list_samples() -> Response:
    recorded = services().recorded
    rows = [
        SampleInfo(name, sample.title, sample.description, recorded.of_sample(name), recorded.result(name))
        for name, sample in samples.SAMPLES.items()
    ]
    return answer(SampleList(rows))
