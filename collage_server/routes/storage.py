"""Route ``/api/v1/storage``: says how large the one folder is in which everything is kept."""

from __future__ import annotations

from flask import Blueprint, Response

from collage_core.base.home import folder_size, home

from ..http.answers import answer
from ..messages.kept import Storage

blueprint = Blueprint("storage", __name__)


@blueprint.get("/storage")
def get_storage() -> Response:
    return answer(Storage(str(home()), folder_size(home())))
