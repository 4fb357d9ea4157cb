"""How many examples Hypothesis draws where many are many seconds: an eighth in `make test`, all in `make test-long`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

ALL = os.environ.get("COLLAGE_TEST_EXAMPLES") == "all"
FEW = 8

Test = TypeVar("Test", bound=Callable[..., None])


def examples(count: int, **more: Any) -> Callable[[Test], Test]:
    """As ``settings(max_examples=count, **more)`` in `make test-long`, which runs every test that has this, and less before."""

    def decorate(test: Test) -> Test:
        return pytest.mark.examples(settings(max_examples=count if ALL else count // FEW, **more)(test))

    return decorate
