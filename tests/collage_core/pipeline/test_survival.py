"""Runs that survive: toolchains that misbehave, runs and workers killed at any moment, time that is over; at the command line,
as a user sees it."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from misbehaviours import REASONS, plug_in_names

from collage_core.documents.json_form import to_json
from collage_core.pipeline.record.record import RunRecord, read_record
from collage_core.rules.partitionings import main_target
from collage_core.toolchains import registry
from tests.helpers.command import brief_collage, collage, document, environment
from tests.helpers.known_costs import Known, assert_right
from tests.helpers.paths import PLUGINS

WAIT_S = 120.0
HOLDS = "collage_test_toolchains:Holds"


def until(true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


# Toolchains that misbehave.


RELU = 0
"""The node of the chain that they spoil."""
ONE_OF_EACH = ("segfaults_at_build", "raises_much", "wrong_numbers", "computes_once")
GROUPS = {
    "they crash": (
        "segfaults_at_build", "segfaults_at_run", "is_killed", "leaves_quietly", "asks_to_end", "closes_all", "floods", "answers_itself",
    ),
    "they raise": (
        "raises_much", "raises_mutely", "refuses_much", "refuses_without_stage", "interrupts", "gives_up_for_all", "fails_to_load",
    ),
    "they err": ("gives_no_bytes", "lacks_library", "wrong_shape", "wrong_numbers", "alternates", "computes_once"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("run", "group"),
    [
        pytest.param(collage, ONE_OF_EACH, id="one of each", marks=pytest.mark.long),
        *(pytest.param(brief_collage, group, id=name, marks=pytest.mark.slow) for name, group in GROUPS.items()),
    ],
)
def test_run_finishes_and_each_that_misbehaves_is_named(
    chain: Path, tmp_path: Path, run: Callable[..., subprocess.CompletedProcess[str]], group: tuple[str, ...]
) -> None:
    """Nothing is known before: what is sure to lose is not timed long enough to see that it errs."""
    targets, out = ",".join(["onnxruntime", *group]), tmp_path / "out"
    done = run(
        tmp_path / "home",
        "partition",
        chain,
        "--targets",
        targets,
        "--no-fold",
        "--budget",
        "10m",
        "--out",
        out,
        "--json",
        COLLAGE_TOOLCHAINS=plug_in_names(*group),
    )
    found = document(done)
    assert_right(found)
    timed = {row["name"] for row in found["baselines"] if row["measured_s"] is not None}
    assert {name for name in timed if main_target(name) is None} - {"computes_once"} == {"onnxruntime", "greedy"}, (
        "a baseline that computes something else is not timed"
    )
    for row in found["alternatives"]:
        if row["measured_s"] is not None and "computes_once" not in row["name"]:
            takes_relu = next(part["target"] for part in row["partitions"] if RELU in part["nodes"])
            assert takes_relu == "onnxruntime", f"{row['name']}: each of them errs where there is a Relu"
    record = read_record(out / "run.json.gz")
    for target in group:
        stage, reason = REASONS[target]
        failed = whole(record, target).cost
        assert (failed.source, failed.stage) == ("invalid", stage), (target, failed)
        assert re.search(reason, failed.reason), (target, failed.reason)
    assert whole(record, "onnxruntime").cost.source == "measured"
    assert "Traceback" not in done.stderr
    assert max(map(len, done.stderr.splitlines()), default=0) < 1000


@pytest.mark.long
def test_hanging_toolchain_costs_its_time_and_no_more(chain: Path, known: Known) -> None:
    """Its baseline too is built in the time of its parts: nobody knew before that it hangs."""
    out = known.out
    done = brief_collage(
        known.home, "partition", chain, "--targets", "onnxruntime,hangs_at_build", "--no-fold", "--budget", "10m", "--out", out, "--json",
        COLLAGE_TOOLCHAINS=plug_in_names("hangs_at_build"), COLLAGE_BUILD_TIMEOUT_S="1", COLLAGE_RUN_TIMEOUT_S="1",
    )  # fmt: skip
    found = document(done)
    assert_right(found)
    stage, reason = REASONS["hangs_at_build"]
    failed = whole(read_record(out / "run.json.gz"), "hangs_at_build").cost
    assert failed.stage == stage
    assert re.search(reason, failed.reason), failed.reason
    alone = next(row for row in found["baselines"] if row["name"] == "hangs_at_build")
    assert alone["measured_s"] is None
    assert alone["reason"]


def whole(record: RunRecord, target: str) -> Any:
    """The candidate of `target` that is the whole model."""
    (found,) = (item for item in record.candidates if item.target == target and len(item.inside) == 4)
    return found


@pytest.mark.parametrize(
    ("where", "target", "said"),
    [
        ("CannotSay", "cannot_say", "is not usable here: it cannot say whether it is usable: OSError: libdriver.so.7: cannot open"),
        ("LeavesWhenAsked", "leaves_when_asked", "is not usable here: it cannot say whether it is usable: SystemExit: no licence"),
        ("SaysNothing", "says_nothing", "is not usable here: it cannot say whether it is usable: it answered with a NoneType"),
        ("HasNoRule", "has_no_rule", "has no rule to find candidates by: ZeroDivisionError: division by zero"),
    ],
)
def test_toolchain_that_fails_as_it_is_asked_is_refused_in_its_own_words(
    shown: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, chain: Path, where: str, target: str, said: str
) -> None:
    monkeypatch.setenv(registry.EXTRA, f"collage_test_toolchains:{where}")
    status, out, err = shown("partition", chain, "--targets", f"onnxruntime,{target}", "--json")
    assert (status, out) == (2, "")
    first, second = err.splitlines()
    assert first.startswith(f"error: the target {target!r} {said}")
    assert second == "hint: leave it out, or mend the package that it comes with"
    status, out, err = shown("toolchains", "--rules", "--json")
    listed = {item["name"]: item for item in json.loads(out)["toolchains"]}
    assert (status, err) == (0, "")
    assert {"onnxruntime", "openvino", "tvm", target} <= listed.keys()
    assert said.partition(": ")[2].rpartition(":")[0] in f"{listed[target]['reason']} {listed[target]['rules']}"
    assert [name for name, item in listed.items() if item["tree"] is None] == ([target] if where == "HasNoRule" else [])


def test_what_a_toolchain_prints_in_our_own_process_is_kept_apart_from_the_document(
    shown: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chain: Path
) -> None:
    monkeypatch.setenv(registry.EXTRA, "collage_test_toolchains:Talks")
    (tmp_path / "mock.json").write_text('{"targets": {"talks": {"op_s": 1}}}')
    run = ("partition", chain, "--targets", "talks", "--costs", f"mock:{tmp_path / 'mock.json'}")
    for arguments in (run, (*run, "--dry-run"), ("candidates", chain, "--targets", "talks"), ("toolchains",), ("toolchains", "--rules")):
        status, out, err = shown(*arguments, "--json")
        assert status == 0, err
        assert json.loads(out)["schema"] == 1
        assert "12 patterns" in err


# Runs and workers that are killed.


class Killing:
    """A folder of data, and runs on it that are killed; they measure briefly unless `is_brief` says no."""

    is_brief = True

    def __init__(self, chain: Path, folder: Path):
        self.home, self.out, self.hold, self.scratch = (folder / name for name in ("home", "out", "hold", "tmp"))
        self.hold.mkdir()
        self.scratch.mkdir()
        self.command = ["partition", str(chain), "--targets", "holds", "--no-fold", "--max-depth", "1", "--measure-all", "--budget", "10m"]
        self.command += ["--out", str(self.out), "--json"]
        self.more = {"COLLAGE_TOOLCHAINS": HOLDS, "COLLAGE_TEST_HOLD": str(self.hold), "TMPDIR": str(self.scratch)}

    def start(self, *orders: str) -> subprocess.Popen[str]:
        """The command, to be stopped as `orders` say (`held_run`)."""
        for held in self.hold.glob("*.held"):
            held.unlink()
        brief = ["brief=yes"] if self.is_brief else []
        command = [sys.executable, str(PLUGINS / "held_run.py"), ",".join([*brief, *orders]), *self.command]
        return subprocess.Popen(command, env=environment(self.home, **self.more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def held(self, running: subprocess.Popen[str], action: str) -> int:
        """Wait until it is held; gives the number of the process that is."""
        held = self.hold / f"{action}.held"
        until(lambda: held.exists() or running.poll() is not None, f"a {action} to be held")
        assert running.poll() is None, running.communicate()
        return int(held.read_text())

    def killed(self, moment: str, action: str) -> int:
        """Have a run killed, and all its processes gone; return how many costs are known then."""
        running = self.start(f"{moment}={action}")
        if action != "die":
            self.held(running, action)
            running.kill()
        _, err = running.communicate(timeout=WAIT_S)
        assert running.returncode == -signal.SIGKILL, err
        until(lambda: not self.processes(), "the processes of the killed run to end")
        (self.hold / action).unlink(missing_ok=True)
        return self.known()

    def again(self) -> dict[str, Any]:
        """The same command once more, not stopped."""
        run = brief_collage if self.is_brief else collage
        return document(run(self.home, *self.command, **self.more))

    def processes(self) -> list[psutil.Process]:
        """Return the processes of runs on this folder that are still alive."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("COLLAGE_HOME") == str(self.home) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def known(self) -> int:
        return len(self.rows())

    def rows(self) -> list[tuple[str, str]]:
        """(stage, reason) of each cost in the database."""
        database = self.home / "costs.sqlite3"
        if not database.exists():
            return []
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection, suppress(sqlite3.OperationalError):
            return connection.execute("SELECT stage, reason FROM measurements").fetchall()
        return []

    def repetitions(self) -> int:
        """Return the most repetitions that a trial has."""
        with closing(sqlite3.connect(f"file:{self.home / 'costs.sqlite3'}?mode=ro", uri=True)) as connection:
            return max(len(json.loads(repetitions)) for (repetitions,) in connection.execute("SELECT repetitions FROM measurements"))

    def trials(self) -> Counter[str]:
        """How often the trial of each computation was begun, in all runs that could be stopped."""
        return Counter((self.hold / "trials").read_text().splitlines())

    def left_behind(self) -> list[Path]:
        scratch = self.home / "scratch"
        return [*(scratch.iterdir() if scratch.exists() else ()), *self.scratch.glob("collage-*")]


@pytest.fixture
def killing(chain: Path, tmp_path: Path) -> Killing:
    return Killing(chain, tmp_path)


@pytest.mark.long
def test_run_killed_while_it_finds_and_measures_goes_on_from_what_was_known(killing: Killing) -> None:
    assert killing.killed("load", "die") == 0
    assert killing.killed("candidates", "die") == 0
    assert killing.killed("costs:2", "build") == 1, "in the middle of the second trial, the first is kept"
    assert killing.killed("costs:1", "run") == 1
    assert killing.killed("costed:3", "die") == 3, "what was told is kept"
    assert killing.trials() == {"Relu": 1, "Add": 3, "Sigmoid": 1}, "twice it was the trial of the Add that was killed"
    found = killing.again()
    (target,) = found["targets"]
    assert target["cache_hits"] == 3
    assert target["measured"] == killing.known() - 3
    assert_right(found)
    assert killing.left_behind() == []


@pytest.mark.long
def test_run_killed_later_measures_nothing_again(killing: Killing) -> None:
    killing.is_brief = False
    assert killing.killed("search", "die") == 4
    assert killing.killed("merge:1", "build") == 4, "in the middle of the trial of two fused partitions"
    known = killing.killed("repetition:1", "die")
    assert known > 4
    for moment, action in (("rewrite", "assemble"), ("verify", "run"), ("baselines", "run")):
        assert killing.killed(moment, action) >= known
        assert not (killing.out / "artifact.json").exists()
    known = killing.known()
    assert killing.left_behind() != [], "nobody could clean up"
    again = killing.trials()
    assert sum(again.values()) == known + 1
    assert max(again.values()) == 2
    assert killing.repetitions() >= 2, "each repetition was kept as it was over"
    found = killing.again()
    (target,) = found["targets"]
    assert target["measured"] == killing.known() - known, "what is known is not measured, whatever the repetitions have changed"
    assert 4 < target["cache_hits"] <= known
    assert_right(found)
    assert killing.left_behind() == []


@pytest.mark.long
def test_trial_whose_worker_is_killed_is_done_once_more(killing: Killing) -> None:
    """The first one of its worker too."""
    running = killing.start("costs:1=run", "costs:3=build")
    for action in ("run", "build"):
        os.kill(killing.held(running, action), signal.SIGKILL)
        (killing.hold / action).unlink()
    out, err = running.communicate(timeout=WAIT_S)
    assert running.returncode == 0, err
    assert_right(json.loads(out))
    assert {stage for stage, _ in killing.rows()} == {""}
    assert len(killing.rows()) == sum(killing.trials().values())
    assert killing.left_behind() == []


# Time that is over.


@pytest.mark.long
def test_when_the_time_is_over_the_best_plan_is_told_and_the_next_run_goes_on(
    chain: Path, known: Known, known_once: Path, tmp_path: Path
) -> None:
    """ONNX Runtime is known from an earlier run; the time is over in the middle of a trial of the other."""
    home, hold = known.home, tmp_path / "hold"
    hold.mkdir()
    (hold / "build").write_text("2")
    more = {"COLLAGE_TOOLCHAINS": HOLDS, "COLLAGE_TEST_HOLD": str(hold)}
    command = ["partition", str(chain), "--no-fold", "--budget", "10m", "--targets"]
    first = to_json(read_record(known_once / "out" / "run.json.gz").document)
    limited = [*command, "onnxruntime,holds", "--budget", "60", "--out", str(tmp_path / "out")]
    held = [sys.executable, str(PLUGINS / "held_run.py"), "brief=yes,over=build", *limited]
    done = subprocess.run(held, capture_output=True, text=True, env=environment(home, **more), check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    found = to_json(read_record(tmp_path / "out" / "run.json.gz").document)
    search = found["search"]
    assert (search["optimal"], search["stopped"]) == (False, True)
    assert 0 <= search["lower_bound_s"] <= search["total_s"]
    assert search["gap_s"] == pytest.approx(search["total_s"] - search["lower_bound_s"])
    assert re.search(r"^note: the budget was over: \d+ of \d+ candidates have no known cost$", done.stderr, re.MULTILINE)
    assert {partition["target"] for partition in found["plan"]["partitions"]} == {"onnxruntime"}
    assert {partition["source"] for partition in found["plan"]["partitions"]} == {"measured"}
    noise_s = (found["plan"]["total_interval_s"] or 0) + (first["plan"]["total_interval_s"] or 0)
    assert found["plan"]["total_s"] <= first["plan"]["total_s"] + noise_s, "no worse than the plan of what was known before, but for a tie"
    assert found["verify"]["max_rel_error"] <= 1e-3
    rows = sum(target["cache_hits"] + target["measured"] for target in found["targets"])
    (hold / "build").unlink()
    again = document(brief_collage(home, *command, "onnxruntime,holds", "--json", **more))
    assert_right(again)
    counts = {target["name"]: target for target in again["targets"]}
    assert sum(target["cache_hits"] for target in again["targets"]) >= rows
    assert counts["onnxruntime"]["measured"] == 0
    assert counts["holds"]["measured"] >= 1
