"""Programs of `torch.export` through the pass, then built by codegens and compiled by TVM's default pipeline in a fresh process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from collage_core.transform import CollagePartition  # noqa: E402
from tests.collage_core.model.relax.test_torch_program import needs_torch, network_of  # noqa: E402
from tests.helpers.fresh_modules import computed_in_fresh_process  # noqa: E402

from .test_collage_partition import functions_of, run  # noqa: E402
from .test_imported_samples import nodes_of  # noqa: E402


@needs_torch
@pytest.mark.long
@pytest.mark.parametrize("kind", ["convolutional", "transformer", "recurrent"])
def test_a_program_computes_what_it_computed(tmp_path: Path, kind: str) -> None:
    """Every other node is ONNX Runtime's and the rest TVM's."""
    module, given = program(kind)
    names = nodes_of(module)
    vetoes = tuple({"kind": "veto", "node": name, "target": ("onnxruntime", "tvm")[at % 2]} for at, name in enumerate(names))
    made = CollagePartition(["onnxruntime", "tvm"], costs="roofline", threads=1, constraints=vetoes)(module)
    assert len(functions_of(made, "Codegen")) > 1
    (found,), (expected,) = computed_in_fresh_process(made, [given], tmp_path), run(module, given)
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max(), np.abs(found - expected).max()


def program(kind: str) -> tuple[Any, np.ndarray]:
    """The program of a small network as TVM imports it, and an input."""
    import torch
    from tvm.relax.frontend.torch import from_exported_program

    torch.manual_seed(0)
    network, given = network_of(torch, kind)
    exported = torch.export.export(network.eval(), (given,))
    return from_exported_program(exported, keep_params_as_input=False, unwrap_unit_return_tuple=True), given.numpy()
