"""A pickle of a stranger has nothing done."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from collage_core.base.isolation.worker import Worker
from collage_core.cost.database.records import Record
from collage_core.cost.fleet import plain_pickles


class Harm:
    """Its pickle makes a folder where it is opened."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


def test_a_stranger_s_pickle_gives_plain_data_or_nothing(tmp_path: Path):
    for data in (b"plain", [1, {"a": 2.5}], bytearray(b"x"), None):
        assert plain_pickles.loads(pickle.dumps(data)) == data
    mine = tmp_path / "made"
    for harm in (Harm(mine), [Harm(mine)], {"a": Harm(mine)}, os.system, ValueError("x"), Path("x"), Record()):
        held = plain_pickles.loads(pickle.dumps(harm))
        (inner,) = held if isinstance(held, list) else held.values() if isinstance(held, dict) else [held]
        assert plain_pickles.Refused in (inner, type(inner))
    assert type(plain_pickles.loads(b"no pickle")) is plain_pickles.Refused
    assert not mine.exists()


def test_dask_unpickles_plain_data_alone_once_it_is_restricted(tmp_path: Path):
    """In a process of its own, since it cannot be taken back: what Dask's messages hold, and what its client opens by itself."""
    pytest.importorskip("distributed")
    with Worker() as worker:
        assert worker.call(open_messages, pickle.dumps(Harm(tmp_path / "made")), timeout_s=60) == [True] * 4
    assert not (tmp_path / "made").exists()


def open_messages(harm: bytes) -> list[bool]:
    import distributed.client
    from distributed.protocol import deserialize, loads, to_serialize
    from distributed.protocol import pickle as dask_pickle
    from distributed.protocol.core import dumps

    plain_pickles.restrict()
    refused = [
        deserialize({"serializer": "pickle", "writeable": ()}, [harm]),
        loads(dumps({"x": to_serialize(Path("x"))}))["x"],
        dask_pickle.loads(harm),
        distributed.client.pickle.loads(harm),
    ]
    return [isinstance(one, plain_pickles.Refused) for one in refused]
