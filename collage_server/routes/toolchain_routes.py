"""Route ``/api/v1/toolchains``: lists the toolchains, and says why one is not usable. A worker process asks them."""

from __future__ import annotations

from flask import Blueprint, Response

from .. import descriptions
from ..http.answers import answer
from ..http.asker import asker_left
from ..messages.installation import ToolchainInfo, ToolchainList
from ..services import services
from ..worker.toolchain_rows import describe_toolchains

blueprint = Blueprint("toolchains", __name__)


@blueprint.get("/toolchains")
def list_toolchains() -> Response:
    rows = services().pool.call(describe_toolchains, descriptions.all_saved(), should_stop=asker_left())
    return answer(ToolchainList([ToolchainInfo(**row) for row in rows]))
