from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from collage_core.errors import CollageError
from collage_core.model.relax.realized_devices import with_realized_devices


def hinted_module(device_type: int = 2, other: int = 1) -> Any:
    """``tanh(abs(exp(x) @ w))``, the product hinted to one device, and what is read of it to another."""

    @I.ir_module
    class Hinted:
        @R.function
        def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                begin = R.exp(x)
                product = R.matmul(begin, w)
                there = R.hint_on_device(product, R.device(device_type, 0), "global")
                bent = R.abs(there)
                back = R.hint_on_device(bent, R.device(other, 0), "global")
                last = R.tanh(back)
                R.output(last)
            return last

    return Hinted


def kinds(module: tvm.IRModule) -> dict[str, str]:
    bindings = [binding for block in module["main"].body.blocks for binding in block.bindings]
    return {binding.var.name: str(binding.var.ty.vdevice.target.kind.name) for binding in bindings}


def test_a_hint_reaches_what_nothing_separates_and_a_copy_leads_back():
    made = with_realized_devices(hinted_module())
    assert kinds(made) == {"begin": "cuda", "product": "cuda", "there": "cuda", "bent": "cuda", "back": "llvm", "last": "llvm"}
    calls = [binding.value for block in made["main"].body.blocks for binding in block.bindings if isinstance(binding.value, relax.Call)]
    assert [call.op.name for call in calls].count("relax.to_vdevice") == 1


def test_a_second_time_changes_nothing_and_neither_do_hints_at_the_processor():
    made = with_realized_devices(hinted_module())
    assert with_realized_devices(made).same_as(made)
    plain = hinted_module(1, 1)
    assert with_realized_devices(plain).same_as(plain)


def test_a_device_that_tvm_cannot_realize_is_one_line():
    with pytest.raises(CollageError, match="the devices that the module hints at cannot be realized: "):
        with_realized_devices(hinted_module(9))
