"""Frames of pandas, which the tests need not have: what it is given, and what installs it."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from collage_core.errors import CollageError
from collage_core.results.result import open_run
from collage_core.results.tables import node_table, partition_table
from tests.collage_core.results.conftest import Kept


def test_pandas_gets_the_tables(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = ModuleType("pandas")
    pandas.DataFrame = lambda data, columns: SimpleNamespace(data=data, columns=columns)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    result = open_run(kept.folder)
    for made, table in ((result.nodes_frame(), node_table), (result.partitions_frame(), partition_table)):
        assert (made.columns, made.data) == table(kept.record)


def test_without_it_the_error_says_what_installs_it(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(CollageError, match="a frame needs the Python package 'pandas', which is not installed") as error:
        open_run(kept.folder).nodes_frame()
    assert error.value.hint.startswith("pip install pandas")
