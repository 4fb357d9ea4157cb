"""The engine behind its interface: it travels to worker processes, and takes options as JSON has them."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from fake_engine import FakeEngine

from collage_core.base.sizes import Sizes
from collage_core.errors import CollageError
from collage_core.options import Options
from collage_server.config import ServerConfig
from collage_server.worker.engine import COLLAGE, CollageEngine, Engine, options_from_json


def test_the_engine_that_is_used_unless_another_is_given() -> None:
    assert ServerConfig().engine is COLLAGE


@pytest.mark.parametrize("kind", [CollageEngine, FakeEngine])
def test_an_engine_has_every_method_and_travels_by_name(kind: type) -> None:
    asked = {name for name, value in vars(Engine).items() if callable(value) and not name.startswith("_")}
    assert asked <= set(vars(kind))
    assert len(asked) > 15
    assert type(pickle.loads(pickle.dumps(kind()))) is kind


def test_options_as_json_has_them_are_those_of_a_run() -> None:
    given = {
        "targets": ["tvm"],
        "constraints": [{"kind": "veto", "op": "Conv", "target": "tvm"}],
        "taps": ["tvm"],
        "shapes": {"x": [1, 3]},
        "toolchain_files": ["hook.toml"],
        "threads": 2,
    }
    assert Options(**options_from_json(given)) == Options(
        targets=("tvm",),
        constraints=({"kind": "veto", "op": "Conv", "target": "tvm"},),
        taps=frozenset({"tvm"}),
        shapes={"x": (1, 3)},
        toolchain_files=(Path("hook.toml"),),
        threads=2,
    )


def test_a_shape_of_several_sizes_stays_text_on_its_way() -> None:
    assert Options(**options_from_json({"targets": ["tvm"], "shapes": {"x": "1,{2,3}"}})).shapes == {"x": (1, Sizes((2, 3)))}


def test_a_wrong_option_is_refused() -> None:
    COLLAGE.check_option(["tvm"], "taps", ["tvm"])
    with pytest.raises(CollageError, match="--threads is 0, it must be at least 1"):
        COLLAGE.check_option(["tvm"], "threads", 0)
