"""A function of fixed shapes beside the one that keeps its symbols."""

from __future__ import annotations

import functools
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

from tvm.script import ir as I  # noqa: E402
from tvm.script import relax as R  # noqa: E402
from tvm.script import tirx as T  # noqa: E402

from collage_core.errors import CollageError  # noqa: E402
from collage_core.model.relax.module_functions import fixed_alike, prepared  # noqa: E402
from collage_core.model.relax.regions import divided  # noqa: E402
from collage_core.transform.twins import Twins  # noqa: E402

from .test_symbols import fixed_function, sizes_of  # noqa: E402


@functools.cache
def whole_module() -> Any:
    """A shape in a variable, and a cast of a call."""

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 8), "float32")):
            n = T.int64()
            with R.dataflow():
                risen = R.nn.relu(x)
                sizes = R.shape([n, 2, 4])
                halves = R.match_cast(R.reshape(risen, sizes), R.Tensor((n, 2, 4), "float32"))
                out = R.permute_dims(halves, axes=[0, 2, 1])
                R.output(out)
            return out

    return Module


def test_each_binding_has_its_twin() -> None:
    kept = prepared(whole_module(), "main", {})
    fixed = fixed_alike(kept, "main", {"x": (3, 8)})
    twins = Twins(fixed["main"], kept["main"])
    (region,) = divided(fixed["main"]).regions
    own = twins.region(region)
    assert [one.var.name for one in own.bindings.values()] == [one.var.name for one in region.bindings.values()]
    assert sizes_of(own.outputs[0]) == ["n", 4, 2]
    assert own.inputs["x"].same_as(kept["main"].params[0])
    assert tuple(twins.shape(kept["main"].params[0])) == (3, 8)
    assert tuple(twins.shape(own.outputs[0])) == (3, 4, 2)
    assert divided(kept["main"]).regions == [], "of open shapes nothing is planned"


def test_functions_of_other_bindings_are_no_twins() -> None:
    kept = prepared(whole_module(), "main", {})["main"]
    with pytest.raises(CollageError, match="cannot be kept"):
        Twins(fixed_function(), kept)
