"""Keys are made once, for their owner alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.cost.fleet.keys import make_keys
from collage_core.errors import CollageError


def test_keys_are_for_this_user_alone_and_are_never_overwritten(tmp_path: Path):
    folder = tmp_path / "some" / "keys"
    make_keys(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == dict.fromkeys(
        ("ca.pem", "scheduler.pem", "worker.pem", "client.pem"), 0o600
    )
    with pytest.raises(CollageError, match=r"there are keys in '.*keys' already"):
        make_keys(folder)
    with pytest.raises(CollageError, match="cannot write keys into"):
        make_keys(folder / "ca.pem" / "keys")
