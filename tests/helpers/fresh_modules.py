"""Relax modules that TVM's default pipeline compiles: what they compute here, and in a fresh process, of which this file is the program."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

LIMIT_S = 600


def computed(module: Any, given: Sequence[np.ndarray], name: str = "main") -> list[np.ndarray]:
    """Compile `module`, and return the tensors that its function `name` makes of `given`, those in tuples too."""
    import tvm
    from tvm import relax

    machine = relax.VirtualMachine(tvm.compile(module, tvm.target.Target({"kind": "llvm"})), tvm.cpu())
    return _leaves(machine[name](*map(tvm.runtime.tensor, given)))


def computed_in_fresh_process(module: Any, given: Sequence[np.ndarray], folder: Path) -> list[np.ndarray]:
    """As `computed`, in a fresh process that first lets codegens build their parts of `module`; files go into `folder`."""
    import tvm

    (folder / "module.json").write_text(tvm.ir.save_json(module))
    np.savez(folder / "given.npz", *given)
    done = subprocess.run([sys.executable, "-P", __file__, str(folder)], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return _read(folder / "found.npz")


def _leaves(made: Any) -> list[np.ndarray]:
    return [made.numpy()] if hasattr(made, "numpy") else [leaf for part in made for leaf in _leaves(part)]


def _read(path: Path) -> list[np.ndarray]:
    with np.load(path) as arrays:
        return [arrays[name] for name in arrays.files]


def main(folder: Path) -> None:
    """Build and run the module in `folder`."""
    import tvm
    from tvm import relax

    import collage_core.transform  # noqa: F401 - registers the codegens

    module = tvm.ir.load_json((folder / "module.json").read_text())
    functions = [(name.name_hint, one) for name, one in module.functions_items() if isinstance(one, relax.Function)]
    entries = [name for name, one in functions if "Codegen" not in (one.attrs or {})]
    built = relax.transform.RunCodegen(entry_functions=entries)(module)
    np.savez(folder / "found.npz", *computed(built, _read(folder / "given.npz")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
