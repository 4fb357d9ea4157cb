"""`write_export`: makes a file of a run for other programs. Called in a worker process, since it may read the user's model.

The paths of the run's record and of its model enter; the path of a new file beside the record leaves, which the caller removes.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from collage_core.results.formats import file_named


def write_export(record: str, model: str | None, name: str) -> str:
    """Make the file `name` of the table of exports.

    Raises:
        CollageError: the model cannot be read or is another one, or a package is not installed.
    """
    from collage_core.pipeline.record.record import RunRecord  # which the server, that names this function, need not load

    made, make = Path(record).with_name(f".{secrets.token_hex(8)}.export"), file_named(name).make
    assert make is not None, "the server writes the others itself"
    content = make(RunRecord.load(Path(record)), model)
    made.write_bytes(content)
    return str(made)
