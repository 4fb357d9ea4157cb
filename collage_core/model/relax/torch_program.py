"""Reads a program that `torch.export.save` wrote, through TVM's own importer. It runs PyTorch and belongs in a worker process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import tvm

from ...errors import CollageError

HINT = "pip install torch"


def read_program(path: Path) -> tuple[tvm.IRModule, list[str]]:
    """Return the program as a Relax module with its weights inside, and what the user should know.

    Raises:
        CollageError: PyTorch is missing, the file is damaged, or the importer does not take it.
    """
    try:
        import torch
    except ImportError as error:
        raise CollageError(f"{str(path)!r} is a program of PyTorch, which is not installed", HINT, "missing_package") from error
    from tvm.relax.frontend.torch import from_exported_program

    # PyTorch reads the weights without running what is pickled with them, and where it cannot would run it, were it not for this.
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    try:
        program: Any = torch.export.load(str(path))
    except Exception as error:  # any exception of PyTorch says that it is not what it saves
        reason = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
        message = f"{str(path)!r} is not a program that `torch.export.save` wrote: {reason}"
        raise CollageError(message, "save it again", "not_relax") from error
    try:
        return from_exported_program(program, keep_params_as_input=False, unwrap_unit_return_tuple=True), []
    except Exception as error:  # any exception of TVM is its reason
        reason = next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
        hint = "export it to ONNX instead"
        raise CollageError(f"TVM's importer does not take {str(path)!r}: {reason[:300]}", hint, "unsupported") from error
