"""A fleet on loopback: a scheduler, real `collage worker` processes, and the trials of workers that fail."""

from __future__ import annotations

import csv
import io
import os
import shutil
import signal
import socket
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest
from fleet_functions import FOLDER, call_rounds, give_nan, give_object, give_text
from tuning_toolchains import SLICE
from worker_functions import crash, raise_collage_error, raise_toolchain_error

from collage_core.base.home import home
from collage_core.base.isolation.worker_errors import WorkerError
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.maintenance import Selection, records, selected_tunings
from collage_core.cost.database.records import CostKey, Record, machine_id
from collage_core.cost.estimators.tuner import Tuner
from collage_core.cost.fleet import worker_pool
from collage_core.cost.fleet.keys import make_keys
from collage_core.cost.fleet.runner import FleetRunner
from collage_core.cost.measuring.call_meter import CallMeter
from collage_core.cost.measuring.transition_meter import measure_pair, prepare
from collage_core.cost.measuring.trial import TrialTask
from collage_core.errors import Cancelled, CollageError
from collage_core.events import Event, Note
from collage_core.model.probe import relu_model
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import FILE_NAME, read_record
from collage_core.survey.row import PLANNED
from collage_core.survey.survey import ROW, models_of, survey
from collage_core.survey.tables import survey_csv, survey_page
from collage_core.toolchains import registry
from collage_core.toolchains.toolchain import ToolchainError
from collage_core.toolchains.tuning import decoded
from tests.helpers.fleets import LIMITS, TOOLCHAINS, Fleet, SampleTasks, until

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed")


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """A scheduler of the test's own, to which it adds workers."""
    own = Fleet(tmp_path)
    own.start_scheduler()
    yield own
    own.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A scheduler with one worker, for the tests that add and lose none."""
    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    fleet.start_scheduler()
    fleet.start_worker("one")
    yield fleet
    fleet.close()


@pytest.fixture
def house(shared: Fleet) -> Fleet:
    shared.await_workers("one")
    return shared


@pytest.fixture
def work(tmp_path: Path) -> SampleTasks:
    return SampleTasks(tmp_path)


class Run:
    """A runner, and what it told."""

    def __init__(self, fleet: Fleet | str, **options: Any):
        self.events: list[Event] = []
        given: dict[str, Any] = {"targets": ["numpy"], "emit": self.events.append, **options}
        address = fleet if isinstance(fleet, str) else fleet.address
        self.runner = FleetRunner(address, 1e-3, given.pop("limits", LIMITS), 1, **given)

    @property
    def notes(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Note))

    def __enter__(self) -> FleetRunner:
        return self.runner

    def __exit__(self, *exc: object) -> None:
        self.runner.close()


class InThread(threading.Thread):
    """`run_all` in a thread of its own, while the test does something to the fleet."""

    def __init__(self, runner: FleetRunner, tasks: list[TrialTask]):
        super().__init__(daemon=True)
        self.done: list[tuple[TrialTask, Record]] = []
        self.error: BaseException | None = None
        self._work: Callable[[], Iterator[tuple[TrialTask, Record]]] = lambda: runner.run_all(tasks)
        self.start()

    def run(self) -> None:
        try:
            self.done.extend(self._work())
        except BaseException as error:  # noqa: BLE001 - for the test to look at
            self.error = error

    def records(self) -> list[Record]:
        self.join(60)
        assert not self.is_alive(), "run_all did not come to its end"
        assert self.error is None, self.error
        return [record for _, record in self.done]


def begun(folder: Path) -> int:
    return len(list(folder.glob("begun-*")))


def trial_in(folder: Path) -> psutil.Process:
    """Return the process in which the one trial that has begun runs."""
    (path,) = folder.glob("begun-*")
    return psutil.Process(int(path.name.partition("-")[2]))


@pytest.mark.long
def test_three_workers_of_which_one_is_killed_in_the_middle(fleet: Fleet, work: SampleTasks):
    workers = [fleet.start_worker(name) for name in ("one", "two", "three")]
    fleet.await_workers("one", "two", "three")
    run = Run(fleet, targets=["waits"])
    with run as runner:
        tasks = work.tasks(9, "waits")
        thread = InThread(runner, tasks)
        until(lambda: begun(work.folder) == 3, "a trial on each worker")
        family = workers[1].family()
        workers[1].end(signal.SIGKILL)
        until(lambda: not any(process.is_running() for process in family), "what it had started to end")
        until(lambda: len(runner.workers()) == 2, "the loss to be noticed")
        (work.folder / "go").touch()
        records = thread.records()
        assert [record.reason for record in records] == [""] * 9
        assert all(record.samples and record.error == 0 for record in records)
        assert Counter(id(task) for task, _ in thread.done) == Counter(map(id, tasks))
        assert {record.worker for record in records} == {"one", "three"}
        assert "the worker two is let go: it vanished" in run.notes
        assert run.notes.count("let go") == 1
        assert "the workers one, three, two share a computer" in run.notes


@pytest.mark.long
def test_a_worker_ends_with_130_and_leaves_nothing_behind(fleet: Fleet, work: SampleTasks):
    worker = fleet.start_worker("one")
    fleet.await_workers("one")
    with Run(fleet, targets=["waits"], rejoin_s=0.5) as runner:
        thread = InThread(runner, [work.task("waits")])
        until(lambda: begun(work.folder) == 1, "the trial")
        family = worker.family()
        numbers = {str(process.pid) for process in family}
        assert len(family) >= 2, "the worker, and the trial's child"
        assert worker.end(signal.SIGINT) == 130
        until(lambda: not any(process.is_running() for process in family), "the worker's processes to end")
        left = [folder.name for folder in (home() / "scratch").iterdir() if folder.name.partition("-")[0] in numbers]
        assert left == []
        thread.join(60)
        assert isinstance(thread.error, CollageError)
        assert thread.error.message.startswith("no worker of the fleet is left: one: it ")
        assert "what was measured is kept" in thread.error.hint
    assert "Traceback" not in worker.said()


@pytest.mark.long
def test_a_toolchain_that_crashes_ends_its_trial_and_no_more(house: Fleet, work: SampleTasks):
    with Run(house, targets=["numpy", "segfaults_at_build"]) as runner:
        crashed, well = runner.run(work.task("segfaults_at_build")), runner.run(work.task())
        assert (crashed.stage, crashed.crashed, crashed.worker) == ("build", True, "one")
        assert crashed.reason == "crashed with SIGSEGV while building; its last output: 'optimising node 7 of 9'"
        assert (well.stage, well.worker) == ("", "one")
        assert runner.machine == machine_id()
        assert runner.availability("numpy").version == "1"


@pytest.mark.long
def test_a_hanging_target_is_not_tried_for_ever(house: Fleet, work: SampleTasks):
    limits = replace(LIMITS, build_s=0.3, most_hangs=2)
    with Run(house, targets=["waits"], limits=limits) as runner:
        reasons = [record.reason for _, record in runner.run_all(work.tasks(3, "waits"))]
        assert reasons[:2] == ["gave no answer within 300 ms while building"] * 2
        assert reasons[2] == f"not tried: waits hung 2 times in this run; the last time it {reasons[1]}"


@pytest.mark.long
def test_a_trial_that_ends_every_worker_is_given_up(fleet: Fleet, work: SampleTasks, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_pool, "MOST_TRIES", 2)
    for name in ("one", "two", "three"):
        fleet.start_worker(name)
    fleet.await_workers("one", "two", "three")
    run = Run(fleet)
    with run as runner:
        poison = runner.run(work.task("ends_its_worker"))
        assert poison.stage == "device"
        assert poison.reason.startswith("each worker that was given it was lost; the last one: it vanished")
        assert not poison.is_lasting
        assert run.notes.count("is let go") == 2
        assert runner.run(work.task()).stage == "", "the third is there for others"


@pytest.mark.long
def test_a_worker_that_starts_late_joins_in(fleet: Fleet, work: SampleTasks):
    fleet.start_worker("first")
    fleet.await_workers("first")
    with Run(fleet, targets=["waits"]) as runner:
        thread = InThread(runner, work.tasks(2, "waits"))
        until(lambda: begun(work.folder) == 1, "the first trial")
        fleet.start_worker("second")
        until(lambda: begun(work.folder) == 2, "a trial on the late worker")
        (work.folder / "go").touch()
        assert {record.worker for record in thread.records()} == {"first", "second"}


def test_without_workers_there_is_one_line_that_says_how_to_start_them(fleet: Fleet):
    with pytest.raises(CollageError) as caught:
        Run(fleet)
    assert caught.value.message == f"no worker has joined the scheduler at {fleet.address}"
    assert f"collage worker --scheduler {fleet.address}" in caught.value.hint


@pytest.mark.parametrize("has_keys", [False, True])
def test_without_a_scheduler_there_is_one_line_that_says_how_to_start_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_keys: bool):
    monkeypatch.setattr(worker_pool, "CONNECT_S", 0.3)
    if has_keys:
        make_keys(tmp_path)
    nowhere = Fleet(tmp_path, keys=tmp_path if has_keys else None)
    with pytest.raises(CollageError) as caught:
        Run(nowhere, keys=nowhere.keys)
    assert caught.value.message.startswith(f"no scheduler can be used at {nowhere.address}: OSError: Timed out trying to connect")
    assert "collage fleet scheduler" in caught.value.hint


@pytest.mark.long
def test_the_scheduler_goes_and_comes(fleet: Fleet, work: SampleTasks):
    worker = fleet.start_worker("one")
    fleet.await_workers("one")
    run = Run(fleet)
    with run as runner:
        assert runner.run(work.task()).worker == "one"
        fleet.stop_scheduler()
        until(lambda: "no scheduler at" in worker.said(), "the worker to notice")
        thread = InThread(runner, work.tasks(2))
        until(lambda: "the scheduler is gone" in run.notes, "the run to notice")
        fleet.start_scheduler()
        assert {record.worker for record in thread.records()} == {"one"}
        assert "the scheduler is there again" in run.notes
    assert worker.said().count("joined the scheduler") == 2
    assert "trying again in 500 ms" in worker.said()


@pytest.mark.long
def test_a_scheduler_that_stays_away_ends_the_run(fleet: Fleet, work: SampleTasks, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_pool, "CONNECT_S", 1.0)
    fleet.start_worker("one")
    fleet.await_workers("one")
    with Run(fleet, rejoin_s=0.5) as runner:
        fleet.stop_scheduler()
        with pytest.raises(CollageError, match="no worker of the fleet is left: one: it vanished with the scheduler"):
            runner.run(work.task())


@pytest.mark.long
def test_machines_of_different_kinds_are_kept_apart(fleet: Fleet, work: SampleTasks):
    toolchains = "collage_test_toolchains:Numpy"
    for name in ("one", "two"):
        fleet.start_worker(name, toolchains)
    pass_for = "import fleet_functions; fleet_functions.pass_for_another_machine()"
    fleet.start_worker("odd", f"{toolchains},fleet_functions:OtherMachine", pass_for)
    fleet.await_workers("one", "two", "odd")
    run = Run(fleet)
    with run as runner:
        assert {record.worker for _, record in runner.run_all(work.tasks(6))} == {"one", "two"}
        assert runner.machine == machine_id()
    other = f"Another CPU, {os.cpu_count()} cores"
    assert f"the worker odd is left out: it is another machine, '{other}'; this run measures on '{machine_id()}'" in run.notes
    for machine in (other, "Another*"):
        with Run(fleet, machine=machine) as runner:
            assert (runner.machine, runner.run(work.task()).worker) == (other, "odd")


@pytest.mark.long
def test_versions_of_a_toolchain_agree(fleet: Fleet, work: SampleTasks):
    for name in ("one", "two"):
        fleet.start_worker(name)
    fleet.start_worker("odd", COLLAGE_TEST_VERSION="2")
    fleet.await_workers("one", "two", "odd")
    run = Run(fleet)
    with run as runner:
        assert runner.availability("numpy").version == "1"
        assert {worker.name for worker in runner.workers()} == {"one", "two"}
    assert "the worker odd is left out: its numpy is 2, the others' is 1" in run.notes


@pytest.mark.long
@pytest.mark.parametrize(
    ("answer", "reason"),
    [("no_json", "its answer is no JSON"), ("longer_than_it_took", "its runs took 2.5 h"), ("bomb", "its answer is no plain data")],
)
def test_a_worker_that_gives_invalid_answers_is_dropped(fleet: Fleet, work: SampleTasks, answer: str, reason: str):
    """The last answer is a pickle that has a function called where it is opened: it is not."""
    fleet.start_worker("liar", before=f"import fleet_functions; fleet_functions.lie({answer!r})")
    fleet.await_workers("liar")
    run = Run(fleet, targets=[], rejoin_s=0.2)
    with run as runner, pytest.raises(CollageError, match=f"no worker of the fleet is left: liar: {reason}"):
        list(runner.run_all(work.tasks(2)))
    assert run.notes.count("the worker liar is let go") == 1
    assert not (work.folder / "opened").exists()


@pytest.mark.long
def test_a_worker_that_falls_silent_is_dropped(tmp_path: Path, work: SampleTasks):
    fleet = Fleet(tmp_path, silent_s=1.0)  # Dask waits for ten heartbeats at least, five seconds
    fleet.start_scheduler()
    try:
        workers = {name: fleet.start_worker(name) for name in ("one", "two")}
        fleet.await_workers("one", "two")
        run = Run(fleet, targets=["waits"])
        with run as runner:
            thread = InThread(runner, work.tasks(4, "waits"))
            until(lambda: begun(work.folder) == 2, "a trial on each worker")
            process = psutil.Process(workers["two"].popen.pid)
            process.suspend()
            until(lambda: len(runner.workers()) == 1, "the silence to be noticed")
            (work.folder / "go").touch()
            assert [(record.worker, record.stage) for record in thread.records()] == [("one", "")] * 4
            process.resume()
            until(lambda: runner.run(work.task()) and len(runner.workers()) == 2, "the worker to come back")
        assert "the worker two is let go: it vanished" in run.notes
    finally:
        fleet.close()


@pytest.mark.long
def test_the_trial_that_a_liar_had_is_measured_elsewhere(fleet: Fleet, work: SampleTasks):
    """A worker of Dask that is none of ours is left out; one that loads our module takes part."""
    fleet.start_worker("liar", before="import fleet_functions; fleet_functions.lie('a_failure_with_samples')")
    dask_worker = [sys.executable, "-m", "distributed.cli.dask_worker", fleet.address, "--nthreads", "2", "--no-nanny", "--no-dashboard"]
    environment = {"COLLAGE_TOOLCHAINS": TOOLCHAINS, FOLDER: str(work.folder)}
    fleet.start([*dask_worker, "--name", "stranger"], "stranger", **environment)
    preload = ["--preload", "collage_core.cost.fleet.nodes"]
    fleet.start([*dask_worker, "--name", "honest", *preload], "honest", **environment)
    fleet.await_workers("liar", "stranger", "honest")
    run = Run(fleet, targets=[])
    with run as runner:
        records = [record for _, record in runner.run_all(work.tasks(5))]
    assert [(record.worker, record.stage) for record in records] == [("honest", "")] * 5
    assert "the worker liar is let go: a trial that failed has no samples, and one that did not has some" in run.notes
    assert "the worker stranger is left out: it is a worker of Dask alone: start it with `collage worker`" in run.notes


@pytest.mark.long
def test_being_stopped_ends_the_trials_and_frees_the_workers(fleet: Fleet, work: SampleTasks):
    fleet.start_worker("one")
    fleet.await_workers("one")
    trials: list[psutil.Process] = []

    def should_stop() -> bool:
        trials.extend([trial_in(work.folder)] if begun(work.folder) and not trials else [])
        return bool(trials)

    with Run(fleet, targets=["waits"], should_stop=should_stop) as runner, pytest.raises(Cancelled):
        runner.run(work.task("waits"))
    fleet.await_workers("one")
    until(lambda: not trials[0].is_running(), "the trial's child to end")


@pytest.mark.long
def test_two_runs_share_a_worker_a_trial_at_a_time(fleet: Fleet, work: SampleTasks):
    fleet.start_worker("one")
    fleet.await_workers("one")
    with Run(fleet, targets=["waits"]) as one, Run(fleet, targets=["waits"]) as other:
        threads = [InThread(runner, work.tasks(1, "waits")) for runner in (one, other)]
        until(lambda: sum(len(worker.processing) for worker in fleet.scheduler().workers.values()) == 2, "both to ask")
        until(lambda: begun(fleet.folder) > 0, "a trial")
        assert begun(fleet.folder) == 1
        (fleet.folder / "go").touch()
        assert [[record.stage for record in thread.records()] for thread in threads] == [[""], [""]]
        assert begun(fleet.folder) == 2


@pytest.mark.long
def test_tasks_are_chosen_by_what_came_out(house: Fleet, work: SampleTasks):
    """The next task is asked for only when a worker is free for it, and after the last result was taken."""
    order: list[str] = []

    def tasks() -> Iterator[TrialTask]:
        for number in range(3):
            order.append(f"asked {number}")
            yield work.task()

    with Run(house) as runner:
        for number, _ in enumerate(runner.run_all(tasks())):
            order.append(f"got {number}")
            if number == 1:
                break
        assert order == ["asked 0", "got 0", "asked 1", "got 1"]
        assert runner.run(work.task()).stage == "", "giving up the rest loses no worker"


def test_calls_on_a_worker(house: Fleet):
    with Run(house) as runner:
        caller = runner.caller()
        assert caller.call(give_text, "hä", timeout_s=30) == "hä"
        assert caller.call(prepare, registry.get, "numpy", 1, timeout_s=30) is None
        fixed_s, per_byte_s = caller.call(measure_pair, registry.get, "numpy", "onnxruntime", 1, timeout_s=60)
        assert fixed_s >= 0
        assert per_byte_s >= 0
        with pytest.raises(ToolchainError, match="no converter for operator Foo") as refused:
            caller.call(raise_toolchain_error, timeout_s=30)
        assert refused.value.stage == "import"
        with pytest.raises(CollageError) as mistaken:
            caller.call(raise_collage_error, timeout_s=30)
        assert (mistaken.value.message, mistaken.value.hint, mistaken.value.code) == ("'x' is odd", "use 'y'", "odd")
        with pytest.raises(WorkerError, match="crashed with SIGSEGV; its last output: 'aua'"):
            caller.call(crash, "aua", timeout_s=30)
        assert caller.call(give_text, "well", timeout_s=30) == "well"


def test_calls_are_measured_where_tvm_is_no_target(house: Fleet, tmp_path: Path) -> None:
    run = Run(house)
    with run as runner, CostDatabase(tmp_path / "costs.sqlite3") as database:
        meter = CallMeter(threads=1, database=database, backend=runner, emit=run.events.append, call_rounds=call_rounds)
        assert meter.measure({"numpy": "1"}) == {"numpy": pytest.approx(2e-6)}
        meter.close()
    assert "count as free" not in run.notes


@pytest.mark.long
def test_a_worker_tunes(house: Fleet, tmp_path: Path) -> None:
    key = CostKey("c0ffee", "tunes", "1", 1, machine_id(), "float32")
    model = relu_model(64)
    with Run(house, targets=["tunes"]) as runner, CostDatabase(tmp_path / "costs.sqlite3") as database:
        tuner = Tuner(database, runner, registry.get, 1)
        found = tuner.slice(key, model, 5.0)
        ((kernel, record),) = selected_tunings(database, Selection())
        tuner.close()
    assert (found.trials, found.is_done, found.note) == (SLICE, False, "")
    assert [one.workload for one in decoded(found.tuning)] == [kernel.workload]
    assert (kernel.machine, record.trials) == (machine_id(), SLICE)


@pytest.mark.long
@pytest.mark.parametrize("function", [give_object, give_nan])
def test_a_result_that_is_no_plain_data_does_not_travel(house: Fleet, function: Callable[[], object]):
    with (
        Run(house, rejoin_s=0.2) as runner,
        pytest.raises(CollageError, match="no worker of the fleet is left: one: it cannot do"),
    ):
        runner.caller().call(function, timeout_s=30)


@pytest.mark.long
def test_files_travel_once_to_a_worker(house: Fleet, work: SampleTasks, monkeypatch: pytest.MonkeyPatch):
    task, sent = work.task(), []
    handlers = house.scheduler().handlers
    scatter = handlers["scatter"]
    monkeypatch.setitem(handlers, "scatter", lambda **given: sent.append(given["workers"]) or scatter(**given))
    copies = [replace(array, path=Path(shutil.copy(array.path, f"{array.path}-copy"))) for array in task.given]
    with Run(house) as runner:
        assert runner.run(task).stage == ""
        assert len(sent) == 2
        assert runner.run(task).stage == ""
        assert runner.run(replace(task, given=copies)).stage == "", "what counts is the content"
        assert len(sent) == 2


@pytest.mark.long
def test_a_connection_that_is_none_harms_nobody(house: Fleet, work: SampleTasks):
    address, *_ = house.scheduler().workers
    for at in (address, house.address):
        host, _, port = at.partition("://")[2].rpartition(":")
        for greeting in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64):
            with socket.create_connection((host, int(port)), timeout=20) as connection:
                connection.sendall(greeting)
    with Run(house) as runner:
        assert runner.run(work.task()).stage == ""


@pytest.mark.long
def test_a_worker_that_cannot_join_says_why_in_one_line_and_ends(house: Fleet):
    port = house.scheduler().address.rpartition(":")[2]
    for name, more, said in (
        ("one", [], "error: the scheduler has a worker called 'one' already"),
        ("two", ["--port", port], "error: the worker cannot listen: Address already in use"),
    ):
        worker = house.start_worker(name, more=more)
        assert worker.popen.wait(60) == 2
        assert said in worker.said().splitlines()
        assert "Traceback" not in worker.said()


@pytest.mark.long
def test_the_run_is_killed_and_its_workers_are_free_again(fleet: Fleet, work: SampleTasks, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(FOLDER, str(work.folder))
    worker = fleet.start_worker("one")
    fleet.await_workers("one")
    code = (
        "import sys; from pathlib import Path; from tests.helpers.fleets import *; from collage_core.cost.fleet.runner import FleetRunner\n"
        f"runner = FleetRunner({fleet.address!r}, 1e-3, LIMITS, 1, targets=['waits'])\n"
        f"runner.run(SampleTasks(Path({str(work.folder)!r})).task('waits'))\n"
    )
    master = fleet.start([sys.executable, "-c", code], "master")
    until(lambda: begun(work.folder) == 1 or master.popen.poll() is not None, "the trial")
    assert master.popen.poll() is None, master.said()
    trial = trial_in(work.folder)
    assert trial.is_running()
    master.end(signal.SIGKILL)
    fleet.await_workers("one")
    until(lambda: not trial.is_running(), "the trial's child to end")
    assert worker.popen.poll() is None


@pytest.mark.long
def test_what_a_worker_keeps_warm_for_a_run_ends_with_the_run(fleet: Fleet, work: SampleTasks):
    worker = fleet.start_worker("one")
    fleet.await_workers("one")
    with Run(fleet) as runner:
        assert runner.run(work.task()).stage == ""
        (warm,) = [process for process in worker.family()[1:] if process.ppid() != worker.popen.pid]  # its parent is the fork server
    until(lambda: not warm.is_running(), "the child of the trial to end")
    assert worker.popen.poll() is None


@pytest.mark.long
def test_a_whole_run_on_the_fleet(house: Fleet, tmp_path: Path):
    """The plan is measured there, and assembled, verified and timed here; each cost says who measured it."""
    database = str(tmp_path / "costs.sqlite3")
    options = Options(("onnxruntime",), costs_db=database, threads=1, budget_s=120.0, fleet=house.address)
    record = partition("mini_mnist", options)
    assert record.document.verify.max_rel_error < 1e-5
    with CostDatabase(tmp_path / "costs.sqlite3") as opened:
        workers = {measured.worker for _, measured in records(opened, Selection())}
    assert workers == {"one"}
    again = partition("mini_mnist", options)
    assert sum(row.measured for row in again.document.targets) == 0


@pytest.mark.long
def test_the_commands_make_keys_a_scheduler_and_a_worker(tmp_path: Path, work: SampleTasks):
    collage = [sys.executable, "-c", "from collage_core.cli.main import main; main()"]
    fleet = Fleet(tmp_path, keys=tmp_path / "keys")
    try:
        assert fleet.start([*collage, "fleet", "keys", str(fleet.keys)], "keys").popen.wait(60) == 0
        scheduler = fleet.start([*collage, "fleet", "scheduler", "--port", str(fleet.port), "--keys", str(fleet.keys)], "scheduler")
        until(lambda: f"scheduler at {fleet.address}" in scheduler.said(), "the scheduler")
        worker = fleet.start_worker("one")
        until(lambda: "joined the scheduler" in worker.said(), "the worker")
        with Run(fleet, keys=fleet.keys) as runner:
            assert runner.run(work.task()).worker == "one"
        assert [process.end(signal.SIGINT) for process in (worker, scheduler)] == [130, 130]
        assert "Traceback" not in scheduler.said()
    finally:
        fleet.close()


@pytest.mark.long
def test_a_survey_over_three_workers_of_which_one_is_killed_is_complete(fleet: Fleet, tmp_path: Path):
    """Six samples on two toolchains; the worker is killed in the third of them, while it runs a trial."""
    samples = ["mini_mnist", "mnist", "squeezenet", "lstm", "quantised", "crnn"]
    names = ("one", "two", "three")
    workers = [fleet.start_worker(name) for name in names]
    fleet.await_workers(*names)
    database, out = tmp_path / "costs.sqlite3", tmp_path / "out"
    options = Options(("onnxruntime", "openvino"), costs_db=str(database), threads=1, budget_s=12.0, fleet=fleet.address)
    events: list[Event] = []

    def is_in_trial() -> bool:
        (worker,) = [one for one in list(fleet.scheduler().workers.values()) if one.name == "three"]
        return any(task.resource_restrictions for task in list(worker.processing))

    def kill_while_it_measures() -> None:
        until(lambda: (out / "mnist" / ROW).exists(), "the second model")
        until(is_in_trial, "a trial on the worker")
        workers[2].end(signal.SIGKILL)

    killing = threading.Thread(target=kill_while_it_measures, daemon=True)
    killing.start()
    rows = [step.row for step in survey(models_of(samples), options, out, events.append) if step.row is not None]
    killing.join()
    assert workers[2].popen.poll() == -signal.SIGKILL
    assert "the worker three is let go: it vanished; 2 are left" in [event.text for event in events if isinstance(event, Note)]
    assert [(row.model, row.status, row.reason) for row in rows] == [(sample, PLANNED, "") for sample in samples]
    assert all(row.plan is not None and row.plan.measured_s and row.gain is not None for row in rows)
    table = list(csv.DictReader(io.StringIO(survey_csv(rows))))
    assert [line["model"] for line in table] == samples
    assert all(float(line["plan_s"]) > 0 and float(line["gain"]) > 0 for line in table)
    assert [f">{sample}</td>" in survey_page(rows, "") for sample in samples] == [True] * 6
    with CostDatabase(database) as opened:
        measured = list(records(opened, Selection()))
    assert {record.worker for _, record in measured} == set(names)
    assert {key.machine for key, _ in measured} == {machine_id()}
    assert all(read_record(out / sample / FILE_NAME).machine == machine_id() for sample in samples)


@pytest.mark.long
def test_a_fleet_on_this_machine_has_keys_of_its_own_and_ends_with_the_run(work: SampleTasks):
    run = Run("local:2", targets=["onnxruntime"])
    with run as runner:
        assert runner._local is not None
        processes = runner._local.processes
        with Run("local:2") as inner:
            assert inner._local is runner._local, "a body of the model uses the fleet of its run"
        assert runner._to.scheme == "tls"
        assert {record.worker for _, record in runner.run_all(work.tasks(8, "onnxruntime"))} <= {"local-1", "local-2"}
        assert {worker.name for worker in runner.workers()} == {"local-1", "local-2"}
        keys = runner._to.keys
    assert all(process.poll() is not None for process in processes)
    assert keys is not None
    assert not keys.exists()
    assert run.notes == ""


@pytest.mark.long
def test_only_who_has_a_key_of_this_fleet_takes_part(tmp_path: Path, work: SampleTasks, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_pool, "CONNECT_S", 1.0)
    keys, others = tmp_path / "keys", tmp_path / "others"
    make_keys(keys)
    make_keys(others)
    fleet = Fleet(tmp_path, keys=keys)
    fleet.start_scheduler()
    try:
        fleet.start_worker("one")
        fleet.await_workers("one")
        with Run(fleet, keys=keys) as runner:
            assert runner.run(work.task()).worker == "one"
        with pytest.raises(CollageError, match="no scheduler can be used at tls"):
            Run(fleet, keys=others)
        with pytest.raises(CollageError, match="no scheduler can be used at tcp"):
            Run(fleet.address.replace("tls", "tcp"))
        fleet.keys = others
        stranger = fleet.start_worker("stranger")
        until(lambda: "no scheduler at" in stranger.said(), "the stranger to be refused")
        assert fleet.meeting is not None
        assert fleet.meeting.names == {"one"}
    finally:
        fleet.close()


class FalseScheduler:
    """Gives `greeting` to whoever connects, again and again where it `is_endless`, until the other side leaves."""

    def __init__(self, greeting: bytes, *, is_endless: bool):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.server.getsockname()[1]}"
        self.given = greeting
        self.is_endless = is_endless
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(self.given)
            while self.is_endless:
                connection.sendall(b"\0" * (1 << 20))
            connection.recv(1 << 20)
            while connection.recv(1 << 20):
                pass


@pytest.mark.long
@pytest.mark.parametrize(
    ("greeting", "is_endless"),
    [
        (b"", False),
        (b"HTTP/1.1 200 OK\r\n\r\n", False),
        (struct.pack("<Q", 1 << 62), True),
        (struct.pack("<Q", 1 << 34), True),
        (struct.pack("<QQQ", 16, 1, 1 << 34), True),
    ],
    ids=["silent", "http", "more than there is", "16 GiB", "a frame of 16 GiB"],
)
def test_a_false_scheduler_takes_neither_memory_nor_hours(greeting: bytes, is_endless: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_pool, "CONNECT_S", 2.0)
    false, most = FalseScheduler(greeting, is_endless=is_endless), [0]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            for child in psutil.Process().children():
                with suppress(psutil.Error):
                    most[0] = max(most[0], child.memory_info().rss)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with pytest.raises(CollageError, match="no scheduler can be used at tcp"):
            Run(false.address)
    finally:
        over.set()
        watching.join()
        false.server.close()
    assert most[0] < 1.5 * (1 << 30)
