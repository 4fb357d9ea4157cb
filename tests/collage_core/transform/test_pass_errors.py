"""Mistakes leave a pass of TVM as one line, with what to do, whatever their class is."""

from __future__ import annotations

from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

from collage_core.errors import CollageError  # noqa: E402
from collage_core.toolchains.toolchain import ToolchainError  # noqa: E402
from collage_core.transform import CollagePartition  # noqa: E402
from collage_core.transform.pass_errors import carried  # noqa: E402


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (CollageError("it is odd", "mend it"), "it is odd (mend it)"),
        (ToolchainError("build", "it is odd"), "it is odd"),
    ],
)
def test_an_error_leaves_with_its_hint_and_a_class_that_tvm_knows(error: CollageError, message: str) -> None:
    @tvm.transform.module_pass(opt_level=0)
    class Errs:
        @carried
        def transform_module(self, mod: Any, _context: Any) -> Any:
            raise error

    with pytest.raises(CollageError) as raised:
        Errs()(tvm.IRModule({}))
    assert type(raised.value) is CollageError
    assert raised.value.message == message


def test_the_passes_say_what_to_do() -> None:
    with pytest.raises(CollageError, match=r"has no Relax function 'main' \(it has none\)"):
        CollagePartition(["onnxruntime"], functions=["main"])(tvm.IRModule({}))
