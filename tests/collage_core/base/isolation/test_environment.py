"""A worker's environment holds what toolchains need, and none of the user's secrets."""

from __future__ import annotations

import pytest
import worker_functions as functions

from collage_core.base.isolation.environment import DEFAULTS, database_access, worker_environment
from collage_core.base.isolation.worker import Worker

SECRETS = ("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "PGPASSWORD", "COLLAGE_COSTS", "HF_TOKEN", "http_proxy")
NEEDED = ("PATH", "HOME", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "COLLAGE_HOME", "ORT_DISABLE_TELEMETRY", "XDG_DATA_HOME", "TMPDIR", "LANG")


def test_secrets_stay_and_what_is_needed_goes() -> None:
    assert worker_environment(dict.fromkeys((*SECRETS, *NEEDED), "value")) == {**DEFAULTS, **dict.fromkeys(NEEDED, "value")}


def test_what_the_user_has_set_stays() -> None:
    assert worker_environment({"OPENBLAS_THREAD_TIMEOUT": "20"}) == {"OPENBLAS_THREAD_TIMEOUT": "20"}


def test_a_worker_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("COLLAGE_COSTS", "postgresql://me:secret@host/costs")
    with Worker() as worker:
        found = [worker.call(functions.environment, name, timeout_s=60) for name in ("GITHUB_TOKEN", "COLLAGE_COSTS", "PATH")]
    assert found[:2] == [None, None]
    assert found[2]
    assert database_access()["COLLAGE_COSTS"] == "postgresql://me:secret@host/costs"
