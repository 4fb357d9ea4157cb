"""A fleet on loopback: TVM's own tracker, real `collage worker` processes, and the trials of workers that fail."""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
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
from collage_core.base.isolation.errors import WorkerError
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.maintenance import Selection, records, selected_tunings
from collage_core.cost.database.records import CostKey, Record, machine_id
from collage_core.cost.estimators.tuner import Tuner
from collage_core.cost.fleet import remote_worker, worker_pool
from collage_core.cost.fleet.discovery import WorkerDiscovery
from collage_core.cost.fleet.runner import FleetRunner
from collage_core.cost.fleet.tracker import Offer
from collage_core.cost.fleet.worker_server import RPC_MAGIC, RPC_MISMATCH
from collage_core.cost.measuring.call_meter import CallMeter
from collage_core.cost.measuring.transition_meter import measure_pair, prepare
from collage_core.cost.measuring.trial import TrialTask
from collage_core.errors import Cancelled, CollageError
from collage_core.events import Event, Note
from collage_core.model.probe import relu_model
from collage_core.options import Options
from collage_core.pipeline.run import partition
from collage_core.toolchains import registry
from collage_core.toolchains.base import ToolchainError
from collage_core.toolchains.tuning import decoded
from tests.helpers.fleets import LIMITS, Fleet, SampleTasks, until

pytestmark = pytest.mark.skipif(find_spec("tvm") is None, reason="TVM is not installed")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A tracker that lives as long as this module; each test has a key of its own there."""
    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    fleet.start_tracker()
    yield fleet
    fleet.close()


@pytest.fixture
def fleet(shared: Fleet, tmp_path: Path) -> Iterator[Fleet]:
    own = Fleet(tmp_path)
    own.port, own.address = shared.port, shared.address
    yield own
    own.close()


@pytest.fixture
def house(shared: Fleet) -> Fleet:
    """The fleet with one worker that tests share: it is started by the first that asks, and free when a test gets it."""
    if not shared.registered("house").addresses:
        shared.start_worker("house", "one")
    shared.await_free("house", 1)
    return shared


@pytest.fixture
def work(tmp_path: Path) -> SampleTasks:
    return SampleTasks(tmp_path)


class Run:
    """A runner, and what it told."""

    def __init__(self, fleet: Fleet, key: str, **options: Any):
        self.events: list[Event] = []
        given: dict[str, Any] = {"targets": ["numpy"], "emit": self.events.append, **options}
        self.runner = FleetRunner(fleet.address, key, 1e-3, given.pop("limits", LIMITS), 1, **given)

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


@pytest.mark.long
def test_three_workers_of_which_one_is_killed_in_the_middle(fleet: Fleet, work: SampleTasks):
    workers = [fleet.start_worker("three", name) for name in ("one", "two", "three")]
    fleet.await_free("three", 3)
    run = Run(fleet, "three", targets=["waits"])
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
    worker = fleet.start_worker("ending", "one")
    fleet.await_free("ending", 1)
    with Run(fleet, "ending", targets=["waits"], rejoin_s=0.5) as runner:
        thread = InThread(runner, [work.task("waits")])
        until(lambda: begun(work.folder) == 1, "the trial")
        family = worker.family()
        numbers = {str(process.pid) for process in family}
        assert len(family) >= 3, "the worker, its session, and the trial's child"
        assert worker.end(signal.SIGINT) == 130
        until(lambda: not any(process.is_running() for process in family), "the worker's processes to end")
        left = [folder.name for folder in (home() / "scratch").iterdir() if folder.name.partition("-")[0] in numbers]
        assert left == []
        thread.join(60)
        assert isinstance(thread.error, CollageError)
        assert thread.error.message.startswith("no worker of the fleet is left: one: it vanished")
        assert "what was measured is kept" in thread.error.hint
    assert "Traceback" not in worker.said()


@pytest.mark.long
def test_a_toolchain_that_crashes_ends_its_trial_and_no_more(house: Fleet, work: SampleTasks):
    with Run(house, "house", targets=["numpy", "segfaults_at_build"]) as runner:
        crashed, well = runner.run(work.task("segfaults_at_build")), runner.run(work.task())
        assert (crashed.stage, crashed.crashed, crashed.worker) == ("build", True, "one")
        assert crashed.reason == "crashed with SIGSEGV while building; its last words: 'optimising node 7 of 9'"
        assert (well.stage, well.worker) == ("", "one")
        assert runner.machine == machine_id()
        assert runner.availability("numpy").version == "1"


@pytest.mark.long
def test_a_hanging_target_is_not_tried_for_ever(fleet: Fleet, work: SampleTasks):
    fleet.start_worker("hang", "one")
    fleet.await_free("hang", 1)
    limits = replace(LIMITS, build_s=0.3, most_hangs=2)
    with Run(fleet, "hang", targets=["waits"], limits=limits) as runner:
        reasons = [record.reason for _, record in runner.run_all(work.tasks(3, "waits"))]
        assert reasons[:2] == ["gave no answer within 0.3 s while building"] * 2
        assert reasons[2] == f"not tried: waits hung 2 times in this run; the last time it {reasons[1]}"


@pytest.mark.long
def test_a_trial_that_ends_every_worker_is_given_up(fleet: Fleet, work: SampleTasks, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_pool, "MOST_TRIES", 2)
    worker = fleet.start_worker("poison", "one")
    fleet.await_free("poison", 1)
    run = Run(fleet, "poison", targets=["numpy"])
    with run as runner:
        poison = runner.run(work.task("ends_its_session"))
        assert poison.stage == "device"
        assert poison.reason.startswith("each worker that was given it was lost; the last one: it vanished")
        assert not poison.is_lasting
        assert run.notes.count("the worker one is let go") == 2
        assert runner.run(work.task()).stage == "", "the worker came back for others"
    assert worker.said().count("its process was killed by SIGKILL") == 2


@pytest.mark.long
def test_a_worker_that_starts_late_joins_in(fleet: Fleet, work: SampleTasks):
    fleet.start_worker("late", "first")
    fleet.await_free("late", 1)
    with Run(fleet, "late", targets=["waits"]) as runner:
        thread = InThread(runner, work.tasks(2, "waits"))
        until(lambda: begun(work.folder) == 1, "the first trial")
        fleet.start_worker("late", "second")
        until(lambda: begun(work.folder) == 2, "a trial on the late worker")
        (work.folder / "go").touch()
        assert {record.worker for record in thread.records()} == {"first", "second"}


def test_without_workers_there_is_one_line_that_says_how_to_start_them(fleet: Fleet):
    with pytest.raises(CollageError) as caught:
        Run(fleet, "nobody")
    assert caught.value.message == f"no worker is registered under 'nobody' with the tracker at 127.0.0.1:{fleet.port}"
    assert f"collage worker --tracker 127.0.0.1:{fleet.port} --key nobody" in caught.value.hint


def test_without_a_tracker_there_is_one_line_that_says_how_to_start_it(tmp_path: Path):
    nowhere = Fleet(tmp_path)
    with pytest.raises(CollageError) as caught:
        Run(nowhere, "collage")
    assert caught.value.message == f"no RPC tracker answers at 127.0.0.1:{nowhere.port}: Connection refused"
    assert "python -m tvm.exec.rpc_tracker" in caught.value.hint


@pytest.mark.long
def test_the_tracker_goes_and_comes(tmp_path: Path, work: SampleTasks):
    own = Fleet(tmp_path)
    try:
        tracker = own.start_tracker()
        worker = own.start_worker("t", "one")
        own.await_free("t", 1)
        run = Run(own, "t")
        with run as runner:
            tracker.clear()
            until(lambda: "no tracker at" in worker.said(), "the worker to notice")
            assert runner.run(work.task()).stage == "", "a run goes on with the workers that it has"
            until(lambda: runner.run(work.task()) and "the tracker is gone" in run.notes, "the run to notice")
            own.start_tracker()
            until(lambda: worker.said().count("registered under") == 2, "the worker to register again")
        own.await_free("t", 1)
        with Run(own, "t") as runner:
            assert runner.run(work.task()).worker == "one"
        assert "trying again in 0.5 s" in worker.said()
    finally:
        own.close()


@pytest.mark.long
def test_machines_of_different_kinds_are_kept_apart(fleet: Fleet, work: SampleTasks):
    toolchains = "collage_test_toolchains:Numpy"
    for name in ("one", "two"):
        fleet.start_worker("kinds", name, toolchains)
    fleet.start_worker("kinds", "odd", f"{toolchains},fleet_functions:OtherMachine")
    fleet.await_free("kinds", 3)
    run = Run(fleet, "kinds")
    with run as runner:
        assert {record.worker for _, record in runner.run_all(work.tasks(6))} == {"one", "two"}
        assert runner.machine == machine_id()
    other = f"Another CPU, {os.cpu_count()} cores"
    assert f"the worker odd is left out: it is another machine, '{other}'; this run measures on '{machine_id()}'" in run.notes
    fleet.await_free("kinds", 3)
    with Run(fleet, "kinds", machine=other) as runner:
        assert (runner.machine, runner.run(work.task()).worker) == (other, "odd")


@pytest.mark.long
def test_versions_of_a_toolchain_agree(fleet: Fleet, work: SampleTasks):
    for name in ("one", "two"):
        fleet.start_worker("versions", name)
    fleet.start_worker("versions", "odd", COLLAGE_TEST_VERSION="2")
    fleet.await_free("versions", 3)
    run = Run(fleet, "versions")
    with run as runner:
        assert runner.availability("numpy").version == "1"
        assert {worker.name for worker in runner.workers()} == {"one", "two"}
    assert "the worker odd is left out: its numpy is 2, the others' is 1" in run.notes


@pytest.mark.long
def test_a_worker_that_gives_invalid_answers_is_dropped(fleet: Fleet, work: SampleTasks):
    fleet.start([sys.executable, "-m", "fleet_functions", str(fleet.port), "invalid", "no_json"], "liar")
    fleet.await_free("invalid", 1)
    run = Run(fleet, "invalid", targets=[], rejoin_s=0.2)
    with run as runner, pytest.raises(CollageError, match="no worker of the fleet is left: liar: its answer is no JSON"):
        list(runner.run_all(work.tasks(2)))
    assert run.notes.count("the worker liar is let go") == 1


@pytest.mark.long
def test_a_worker_that_falls_silent_is_dropped(fleet: Fleet, work: SampleTasks, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(remote_worker, "_ANSWER_S", 4.0)
    workers = {name: fleet.start_worker("silent", name) for name in ("one", "two")}
    fleet.await_free("silent", 2)
    run = Run(fleet, "silent", targets=["waits"])
    with run as runner:
        thread = InThread(runner, work.tasks(4, "waits"))
        until(lambda: begun(work.folder) == 2, "a trial on each worker")
        session = next(process for process in workers["two"].family() if "fleet.session" in " ".join(process.cmdline()))
        session.suspend()
        until(lambda: len(runner.workers()) == 1, "the silence to be noticed")
        (work.folder / "go").touch()
        assert [(record.worker, record.stage) for record in thread.records()] == [("one", "")] * 4
        session.resume()
        until(lambda: len(runner.workers()) == 2, "the worker to come back")
    assert "the worker two is let go: it vanished: gave no answer within 4 s" in run.notes


@pytest.mark.long
def test_an_offer_that_has_expired_is_asked_for_anew(house: Fleet, work: SampleTasks, monkeypatch: pytest.MonkeyPatch):
    """On a busy machine a run may take an offer up too late: the worker offers itself again, and is used then."""
    offers, taken = WorkerDiscovery._offers, []

    def first_too_late(discovery: WorkerDiscovery, most: int) -> Iterator[Offer]:
        for offer in offers(discovery, most):
            taken.append(offer)
            yield replace(offer, match_key="house:0.0") if len(taken) == 1 else offer

    monkeypatch.setattr(WorkerDiscovery, "_offers", first_too_late)
    with Run(house, "house") as runner:
        assert [record.stage for _, record in runner.run_all(work.tasks(1))] == [""]
    assert [offer.address for offer in taken] == [taken[0].address] * 2


@pytest.mark.long
def test_a_worker_whose_offers_have_all_expired_is_given_up(house: Fleet, monkeypatch: pytest.MonkeyPatch):
    (address,) = house.registered("house").addresses
    monkeypatch.setattr(WorkerDiscovery, "_offers", lambda discovery, most: [Offer(*address, "house:0.0")])
    reason = "not used: its offer had expired when it was taken up"
    with pytest.raises(CollageError, match=reason):
        Run(house, "house")


@pytest.mark.long
def test_the_trial_that_a_liar_had_is_measured_elsewhere(fleet: Fleet, work: SampleTasks):
    fleet.start([sys.executable, "-m", "fleet_functions", str(fleet.port), "mixed", "a_failure_with_samples"], "liar")
    fleet.start([sys.executable, "-m", "fleet_functions", str(fleet.port), "mixed"], "stranger")
    fleet.start_worker("mixed", "honest")
    fleet.await_free("mixed", 3)
    run = Run(fleet, "mixed", targets=[])
    with run as runner:
        records = [record for _, record in runner.run_all(work.tasks(5))]
    assert [(record.worker, record.stage) for record in records] == [("honest", "")] * 5
    assert "the worker liar is let go: a trial that failed has no samples, and one that did not has some" in run.notes
    assert "is not used: it is no worker that can be used: AttributeError" in run.notes


@pytest.mark.long
def test_being_stopped_ends_the_trials_and_frees_the_workers(fleet: Fleet, work: SampleTasks):
    worker = fleet.start_worker("stop", "one")
    fleet.await_free("stop", 1)
    with Run(fleet, "stop", targets=["waits"], should_stop=lambda: begun(work.folder) > 0) as runner, pytest.raises(Cancelled):
        runner.run(work.task("waits"))
    fleet.await_free("stop", 1)
    assert not any("isolation" in " ".join(process.cmdline()) for process in worker.family())


@pytest.mark.long
def test_tasks_are_chosen_by_what_came_out(house: Fleet, work: SampleTasks):
    """The next task is asked for only when a worker is free for it, and after the last result was taken."""
    order: list[str] = []

    def tasks() -> Iterator[TrialTask]:
        for number in range(3):
            order.append(f"asked {number}")
            yield work.task()

    with Run(house, "house") as runner:
        for number, _ in enumerate(runner.run_all(tasks())):
            order.append(f"got {number}")
            if number == 1:
                break
        assert order == ["asked 0", "got 0", "asked 1", "got 1"]
        assert runner.run(work.task()).stage == "", "giving up the rest loses no worker"


def test_calls_on_a_worker(house: Fleet):
    with Run(house, "house", targets=["numpy"]) as runner:
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
        with pytest.raises(WorkerError, match="crashed with SIGSEGV; its last words: 'aua'"):
            caller.call(crash, "aua", timeout_s=30)
        assert caller.call(give_text, "well", timeout_s=30) == "well"


def test_calls_are_measured_where_tvm_is_no_target(house: Fleet, tmp_path: Path) -> None:
    run = Run(house, "house", targets=["numpy"])
    with run as runner, CostDatabase(tmp_path / "costs.sqlite3") as database:
        meter = CallMeter(threads=1, database=database, backend=runner, emit=run.events.append, call_rounds=call_rounds)
        assert meter.measure({"numpy": "1"}) == {"numpy": pytest.approx(2e-6)}
        meter.close()
    assert "count as free" not in run.notes


@pytest.mark.long
def test_a_worker_tunes(house: Fleet, tmp_path: Path) -> None:
    key = CostKey("c0ffee", "tunes", "1", 1, machine_id(), "float32")
    model = relu_model(64)
    with Run(house, "house", targets=["tunes"]) as runner, CostDatabase(tmp_path / "costs.sqlite3") as database:
        tuner = Tuner(database, runner, registry.get, 1)
        found = tuner.slice(key, model, 5.0)
        ((kernel, record),) = selected_tunings(database, Selection())
        tuner.close()
    assert (found.trials, found.is_done, found.note) == (SLICE, False, "")
    assert [one.workload for one in decoded(found.tuning)] == [kernel.workload]
    assert (kernel.machine, record.trials) == (machine_id(), SLICE)


@pytest.mark.long
@pytest.mark.parametrize("function", [give_object, pytest.param(give_nan, marks=pytest.mark.long)])
def test_a_result_that_is_no_plain_data_does_not_travel(house: Fleet, function: Callable[[], object]):
    with (
        Run(house, "house", rejoin_s=0.2) as runner,
        pytest.raises(CollageError, match="no worker of the fleet is left: one: it cannot do"),
    ):
        runner.caller().call(function, timeout_s=30)


@pytest.mark.long
def test_what_a_tuple_of_files_costs_once(house: Fleet, work: SampleTasks):
    """Activations travel once to a worker: the second trial on the same files sends only the trial itself."""
    task = work.task()
    with Run(house, "house") as runner:
        sent: list[str] = []
        only = runner._pool.workers[0]
        send = only._send
        only._send = lambda name, content: sent.append(name) or send(name, content)  # type: ignore[method-assign,func-returns-value]
        assert runner.run(task).stage == ""
        assert len(sent) == 3
        assert runner.run(task).stage == ""
        assert len(sent) == 4


@pytest.mark.long
def test_a_connection_that_is_none_harms_nobody(house: Fleet, work: SampleTasks):
    (address,) = house.registered("house").addresses
    greetings = [b"GET / HTTP/1.1\r\n\r\n", struct.pack("<ii", RPC_MAGIC, -1), struct.pack("<ii", RPC_MAGIC, 14) + b"client:house:0"]
    answers = []
    for greeting in greetings:
        with socket.create_connection(address, timeout=20) as connection:
            connection.sendall(greeting)
            try:
                answers.append(connection.recv(100))
            except ConnectionResetError:
                answers.append(b"")
    assert answers == [b"", b"", struct.pack("<i", RPC_MISMATCH)]
    with Run(house, "house") as runner:
        assert runner.run(work.task()).stage == ""


@pytest.mark.long
def test_the_run_is_killed_and_its_workers_are_free_again(fleet: Fleet, work: SampleTasks, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(FOLDER, str(work.folder))
    worker = fleet.start_worker("orphan", "one")
    fleet.await_free("orphan", 1)
    code = (
        "import sys; from pathlib import Path; from tests.helpers.fleets import *; from collage_core.cost.fleet.runner import FleetRunner\n"
        f"runner = FleetRunner({fleet.address!r}, 'orphan', 1e-3, LIMITS, 1, targets=['waits'])\n"
        f"runner.run(SampleTasks(Path({str(work.folder)!r})).task('waits'))\n"
    )
    master = fleet.start([sys.executable, "-c", code], "master")
    until(lambda: begun(work.folder) == 1 or master.popen.poll() is not None, "the trial")
    assert master.popen.poll() is None, master.said()
    trial = next(process for process in worker.family() if "isolation" in " ".join(process.cmdline()))
    master.end(signal.SIGKILL)
    fleet.await_free("orphan", 1)
    with pytest.raises(psutil.NoSuchProcess):
        psutil.Process(trial.pid).wait(0)
    assert worker.said().count("the session is over; free again") == 1


@pytest.mark.long
def test_a_whole_run_on_the_fleet(house: Fleet, tmp_path: Path):
    """The plan is measured there, and assembled, verified and timed here; each cost says who measured it."""
    database = str(tmp_path / "costs.sqlite3")
    where: dict[str, Any] = {"tracker": f"127.0.0.1:{house.port}", "key": "house"}
    options = Options(("onnxruntime",), costs_db=database, threads=1, budget_s=120.0, **where)
    record = partition("mini_mnist", options)
    assert record.document["verify"]["max_rel_error"] < 1e-5
    with CostDatabase(tmp_path / "costs.sqlite3") as opened:
        workers = {measured.worker for _, measured in records(opened, Selection())}
    assert workers == {"one"}
    again = partition("mini_mnist", options)
    assert sum(row["measured"] for row in again.document["targets"]) == 0
