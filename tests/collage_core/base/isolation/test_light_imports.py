"""A worker imports TVM without PyTorch, which is installed here by a stand-in."""

from __future__ import annotations

from pathlib import Path

import pytest
import worker_functions as functions

from collage_core.base.isolation.worker import Worker


@pytest.fixture
def torch_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("class Tensor: ...\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("torch_is_installed")
def test_tvm_is_imported_without_torch_and_torch_after_it() -> None:
    with Worker() as worker:
        assert worker.call(functions.imported, ["tvm_ffi"], ["torch"], timeout_s=60) == {"torch": False}
        assert worker.call(functions.imported, ["tvm", "torch"], ["torch"], timeout_s=60) == {"torch": True}


@pytest.mark.usefixtures("torch_is_installed")
def test_torch_stays_where_it_was_imported_before(tmp_path: Path) -> None:
    (tmp_path / "tvm_ffi.py").write_text("import torch\n")
    with Worker() as worker:
        assert worker.call(functions.imported, ["torch", "tvm_ffi"], ["torch"], timeout_s=60) == {"torch": True}


@pytest.mark.usefixtures("torch_is_installed")
def test_what_the_library_reads_of_its_loader_is_there() -> None:
    with Worker() as worker:
        assert "import" in worker.call(functions.source_of, "tvm_ffi", timeout_s=60)
