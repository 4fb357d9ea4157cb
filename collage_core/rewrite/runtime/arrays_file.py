"""`read_arrays`: reads the inputs that a user gives, from an ``.npz``. The file may be broken or hostile; nothing in it is run."""

from __future__ import annotations

import zlib
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile

from ...errors import CollageError


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays in the file `path`, by name.

    Raises:
        CollageError: it cannot be read, or is no ``.npz``.
    """
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, NpzFile):
            with found:
                return dict(found)
        why = "it holds a single array"
    except (OSError, ValueError, EOFError, RuntimeError, BadZipFile, zlib.error) as error:
        why = str(error)
    raise CollageError(f"cannot read the inputs {str(path)!r}: {why}", "give an .npz with one array for each input", "bad_inputs")
