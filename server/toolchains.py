"""Route ``/api/v1/toolchains``: which toolchains there are, and why one is not usable. They are asked in another process."""

from __future__ import annotations

from flask import Blueprint, Response

from . import descriptions
from .answers import answer
from .protocol import ToolchainInfo, ToolchainList
from .services import services
from .toolchain_rows import describe_toolchains

blueprint = Blueprint("toolchains", __name__)


@blueprint.get("/toolchains")
def list_toolchains() -> Response:
    rows = services().pool.look_up(describe_toolchains, descriptions.all_saved())
    return answer(ToolchainList([ToolchainInfo(**row) for row in rows]))
