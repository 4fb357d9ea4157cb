"""A Relax module that codegens and TVM's default pipeline build, and that is run, in a process which has seen nothing before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

LIMIT_S = 1800


def check_in_fresh_process(
    module: Any, given: Sequence[np.ndarray], expected: Sequence[np.ndarray], folder: Path, limit: float = 1e-5
) -> None:
    """Raise AssertionError where ``main`` of `module` computes something else of `given`, by more than `limit` of the largest value."""
    import tvm

    (folder / "module.json").write_text(tvm.ir.save_json(module))
    arrays = {f"given{at}": one for at, one in enumerate(given)} | {f"expected{at}": one for at, one in enumerate(expected)}
    np.savez(folder / "arrays.npz", **arrays)  # type: ignore[arg-type]
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(folder), str(limit)], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr


def leaves(made: Any) -> list[np.ndarray]:
    """Return the tensors of what a function returned, those in tuples too."""
    return [made.numpy()] if hasattr(made, "numpy") else [leaf for part in made for leaf in leaves(part)]


PROGRAM = """
import sys, numpy as np, tvm
import collage_core.transform
from pathlib import Path
from tvm import relax
folder = Path(sys.argv[1])
module = tvm.ir.load_json((folder / "module.json").read_text())
functions = [(name.name_hint, one) for name, one in module.functions_items() if isinstance(one, relax.Function)]
entries = [name for name, one in functions if "Codegen" not in (one.attrs or {})]
module = relax.transform.RunCodegen(entry_functions=entries)(module)
with np.load(folder / "arrays.npz") as arrays:
    given = [arrays[f"given{at}"] for at in range(sum(name.startswith("given") for name in arrays))]
    expected = [arrays[f"expected{at}"] for at in range(sum(name.startswith("expected") for name in arrays))]
def leaves(made):
    return [made.numpy()] if hasattr(made, "numpy") else [leaf for part in made for leaf in leaves(part)]
machine = relax.VirtualMachine(tvm.compile(module, tvm.target.Target({"kind": "llvm"})), tvm.cpu())
for found, wanted in zip(leaves(machine["main"](*map(tvm.runtime.tensor, given))), expected, strict=True):
    most = float(sys.argv[2]) * max(1.0, np.abs(wanted).max(initial=0.0))
    assert np.allclose(found, wanted, rtol=0, atol=most, equal_nan=True), np.abs(found - wanted).max()
"""
