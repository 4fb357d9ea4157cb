"""`toolchain`: every toolchain that is found, the bundled ones and any that is installed beside them."""

from __future__ import annotations

import pytest

from collage_core.toolchains.abilities import lowers_precision
from collage_core.toolchains.registry import all_toolchains
from collage_core.toolchains.toolchain import Toolchain

EXACT = [toolchain for toolchain in all_toolchains() if not lowers_precision(toolchain)]
"""Those that compute in the model's precision. The others are wrong here by design; their own tests say by how much."""


def _marks(toolchain: Toolchain) -> list[pytest.MarkDecorator]:
    """TVM compiles for most that is asked of it; one of its two forms is enough in the fast suite."""
    return [pytest.mark.long] if toolchain.name == "tvm@fusion" else []


@pytest.fixture(params=[pytest.param(one, id=one.name, marks=_marks(one)) for one in EXACT])
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    found = request.param.availability()
    if not found.usable:
        pytest.skip(f"{request.param.name}: {found.reason} ({found.hint})")
    return request.param
