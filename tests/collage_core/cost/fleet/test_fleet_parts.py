"""The parts of a fleet one by one: which answers of a worker are valid, which machines fit together, the store, the command."""

from __future__ import annotations

import hashlib
import json
import math
import pickle
import socket
import struct
import threading
import time
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fleet_functions import INVALID_ANSWERS, RECORD
from hypothesis import given
from hypothesis import strategies as st

from collage_core import __version__
from collage_core.base.isolation.errors import WorkerDied, WorkerError
from collage_core.cli.main import main
from collage_core.cost.database.records import Record, now
from collage_core.cost.fleet import session, tracker
from collage_core.cost.fleet.file_store import FileStore
from collage_core.cost.fleet.machine_kinds import choose_kind, shared_computers
from collage_core.cost.fleet.protocol import (
    Description,
    InvalidAnswer,
    description_from_json,
    dump,
    error_from_json,
    error_to_json,
    parse,
    record_from_json,
)
from collage_core.cost.fleet.remote_worker import RemoteWorker
from collage_core.cost.fleet.request_handler import RequestHandler
from collage_core.cost.fleet.tracker import Offer, TrackerConnection, TrackerLost, parse_address
from collage_core.cost.fleet.worker_server import RPC_MAGIC, RPC_MISMATCH, _advertised_host
from collage_core.cost.measuring.trial import TrialTask
from collage_core.errors import CollageError
from collage_core.graph.index_set import IndexSet
from collage_core.model.files import external_weights
from collage_core.model.onnx_model import load_model
from collage_core.toolchains.base import Availability, ToolchainError
from tests.helpers.large_models import Sizes, write_transformer

WELL = Record(samples=(1e-3, 2e-3), error=1e-7, reference_s=1e-4, slowed_by=0.01, seconds_spent=0.5, created=now())
FAILED = Record(stage="build", reason="no converter", limit_s=3.0, crashed=True, created=now())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def received(answer: Any, took_s: float = 10.0) -> Record:
    return record_from_json(parse(dump(answer).encode()).get("record"), took_s)


@pytest.mark.parametrize("record", [WELL, FAILED])
def test_a_record_arrives_as_it_was_sent(record: Record):
    assert received({"record": asdict(record)}) == record


@pytest.mark.parametrize("name", INVALID_ANSWERS)
def test_an_invalid_answer_is_no_record(name: str):
    with pytest.raises(InvalidAnswer):
        record_from_json(parse(INVALID_ANSWERS[name].encode()).get("record"), 10.0)


def test_the_invalid_answers_are_near_to_a_valid_one():
    assert received({"record": RECORD}).samples == (1e-9,)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"samples": []}, "a trial that failed has no samples"),
        ({"samples": [0.0]}, "a run took no time at all"),
        ({"samples": [-1.0]}, "samples.0. is -1.0, it must be seconds: a number, not negative"),
        ({"samples": [True]}, "samples.0. is True, it must be seconds"),
        ({"samples": [15.0, 15.0]}, "its runs took 30 s, and it had 10 s in all"),
        ({"error": -1.0}, "error is -1.0, it must be a finite number, not negative"),
        ({"limit_s": -1.0}, "limit_s is -1.0, it must be seconds: a number, not negative"),
        ({"error": 10**400}, "error is 1000"),
        ({"stopped_early": 1}, "stopped_early is 1, it must be true or false"),
        ({"reason": None}, "reason is None, it must be text of at most 20000 characters"),
        ({"reason": "x" * 20_001}, "it must be text of at most 20000 characters"),
        ({"extra": 1}, "what should be a record has other fields"),
        ({"samples": [], "stage": "build"}, "failed at stage build and says no reason"),
    ],
)
def test_a_record_that_cannot_be_true_is_refused(change: dict[str, Any], reason: str):
    with pytest.raises(InvalidAnswer, match=reason):
        received({"record": {**asdict(WELL), **change}})


@pytest.mark.parametrize("text", [b"", b"\xff", b"nan", b"[]", b'{"a": Infinity}', b'{"a": 1e999}', b"[" * 100_000, b"1" * 10_000])
def test_what_is_no_json_object_of_finite_numbers_is_invalid(text: bytes):
    with pytest.raises(InvalidAnswer):
        parse(text)


@given(st.dictionaries(st.sampled_from(list(asdict(WELL))), JSON))
def test_whatever_comes_is_a_record_or_invalid(change: dict[str, Any]):
    try:
        record = received({"record": {**asdict(WELL), **change}})
    except InvalidAnswer:
        return
    assert all(math.isfinite(sample) and sample > 0 for sample in record.samples)
    assert bool(record.samples) != bool(record.stage)
    assert json.dumps(asdict(record), allow_nan=False)


@given(JSON)
def test_whatever_comes_is_a_description_or_invalid(data: Any):
    for broken in (data, {**asdict(described()), "toolchains": data}, {**asdict(described()), "cores": data}):
        try:
            found = description_from_json(broken)
        except InvalidAnswer:
            continue
        assert found.cores >= 1
        assert all(type(item.usable) is bool for item in found.toolchains.values())


@pytest.mark.parametrize("change", [{"usable": 1}, {"usable": "yes"}, {"version": 1}, {"version": None}, {"speed": "high"}, {"hint": ...}])
def test_a_toolchain_of_a_worker_has_all_its_fields_each_of_its_own_type(change: dict[str, Any]):
    """Nothing is converted, so that a worker that sends something else is noticed."""
    sent = json.loads(dump(asdict(described(tvm="1"))))
    sent["toolchains"]["tvm"] |= change
    sent["toolchains"]["tvm"] = {name: value for name, value in sent["toolchains"]["tvm"].items() if value is not ...}
    with pytest.raises(InvalidAnswer, match="toolchains"):
        description_from_json(sent)


def test_words_of_a_worker_cannot_move_the_cursor():
    assert received({"record": {**asdict(FAILED), "reason": "\x1b[2Jgone"}}).reason == " [2Jgone"


def test_errors_keep_their_class_and_words():
    refused = error_from_json(error_to_json(ToolchainError("import", "no converter")))
    assert isinstance(refused, ToolchainError)
    assert (refused.stage, refused.message) == ("import", "no converter")
    mistake = error_from_json(error_to_json(CollageError("odd", "use another", "odd")))
    assert isinstance(mistake, CollageError)
    assert mistake.to_json() == {"code": "odd", "message": "odd", "hint": "use another"}
    died = error_from_json(error_to_json(WorkerDied("crashed with SIGSEGV", -11, "aua\n")))
    assert isinstance(died, WorkerError)
    assert str(died) == "crashed with SIGSEGV; its last words: 'aua'"
    for broken in (None, {"kind": "lunch"}, {"kind": "collage", "message": 3}):
        with pytest.raises(InvalidAnswer):
            error_from_json(broken)


def described(name: str = "one", machine: str = "A, 2 cores", cores: int = 2, version: str = __version__, **toolchains: Any) -> Description:
    found = {target: item if isinstance(item, Availability) else Availability(True, version=item) for target, item in toolchains.items()}
    return Description(name, version, machine, name, cores, found)


def test_a_description_arrives_as_it_was_sent():
    worker = described(tvm="1", openvino=Availability(False, reason="not installed", hint="pip install openvino"))
    assert description_from_json(json.loads(dump(asdict(worker)))) == worker


def test_the_kind_is_what_most_workers_are():
    workers = [described("a", tvm="1"), described("b", "B, 8 cores", 8, tvm="1"), described("c", "B, 8 cores", 8, tvm="1")]
    kind = choose_kind(workers, ["tvm"], 2)
    assert (kind.machine, kind.availability("tvm").version) == ("B, 8 cores", "1")
    assert [bool(kind.why_not(worker)) for worker in workers] == [True, False, False]
    assert choose_kind(workers, ["tvm"], 2, "A, 2 cores").machine == "A, 2 cores"


def test_of_equal_kinds_the_one_with_more_targets_is_chosen_whatever_the_order():
    without = described("a", tvm="1", openvino=Availability(False, reason="not installed"))
    both = described("b", tvm="1", openvino="2")
    for workers in ([without, both], [both, without]):
        kind = choose_kind(workers, ["tvm", "openvino"], 1)
        assert kind.availability("openvino").usable
        assert kind.why_not(without) == "its openvino is not usable (not installed), the others' is 2"


def test_versions_that_no_target_of_the_run_has_do_not_matter():
    workers = [described("a", tvm="1", openvino="1"), described("b", tvm="1", openvino="2")]
    kind = choose_kind(workers, ["tvm"], 1)
    assert [kind.why_not(worker) for worker in workers] == ["", ""]


def test_who_is_left_out_is_told_why():
    kind = choose_kind([described(tvm="1")], ["tvm"], 2)
    assert kind.why_not(described(version="0.0", tvm="1")) == f"it runs Collage Explorer 0.0, this is {__version__}"
    assert kind.why_not(described(cores=1, tvm="1")) == "it may use 1 cores, and the run wants 2 threads"
    assert kind.why_not(described()) == "its tvm is not usable (no toolchain of this name is known there), the others' is 1"


@pytest.mark.parametrize(
    ("worker", "machine", "message"),
    [
        (described(version="0.0"), None, f"the fleet's workers run Collage Explorer 0.0, this is {__version__}"),
        (described(cores=1), None, "the run wants 2 threads, the fleet's workers have 1 cores"),
        (described(), "B, 8 cores", "no free worker of the fleet is a 'B, 8 cores'"),
    ],
)
def test_where_no_worker_fits_one_line_says_why(worker: Description, machine: str | None, message: str):
    with pytest.raises(CollageError) as caught:
        choose_kind([worker], ["tvm"], 2, machine)
    assert caught.value.message == message
    assert caught.value.hint


def test_workers_on_one_computer_are_named():
    one, two, three = (replace(described(name), host=host) for name, host in (("a", "x"), ("b", "y"), ("c", "x")))
    assert shared_computers([one, two]) == ""
    assert shared_computers([one, two, three]).startswith("the workers a, c share a computer")


def named(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_file_is_there_when_all_of_it_came():
    content = b"0123456789"
    store = FileStore()
    try:
        name = named(content)
        assert store.missing([name, name]) == [name]
        store.put(name, 0, 10, content[:4])
        assert store.missing([name]) == [name]
        with pytest.raises(ValueError, match="does not follow the 4 bytes"):
            store.put(name, 5, 10, content[5:])
        store.put(name, 4, 10, content[4:])
        assert store.missing([name]) == []
        assert store.path(name).read_bytes() == content
        folder = store.path(name).parent
    finally:
        store.close()
    assert not folder.exists()


def test_a_file_is_what_its_name_says():
    store = FileStore()
    try:
        with pytest.raises(ValueError, match="is that of"):
            store.put(named(b"right"), 0, 5, b"wrong")
        with pytest.raises(KeyError):
            store.path(named(b"right"))
        for name in ("../../etc/passwd", "", "A" * 64):
            with pytest.raises(ValueError, match="is no SHA-256"):
                store.put(name, 0, 1, b"x")
    finally:
        store.close()


def test_the_store_is_bounded_and_keeps_what_is_wanted():
    contents = [bytes([number]) * 100 for number in range(5)]
    names = [named(content) for content in contents]
    store = FileStore(most_bytes=250)
    try:
        for name, content in zip(names[:3], contents[:3], strict=True):
            store.missing([name])
            store.put(name, 0, 100, content)
        assert store.missing(names[:3]) == [names[0]], "the oldest went"
        store.missing([names[1], names[3]])
        store.put(names[3], 0, 100, contents[3])
        assert store.missing(names) == [names[0], names[2], names[4]], "what is wanted stays, though it is older"
        assert len(list(store.path(names[1]).parent.iterdir())) == 2
    finally:
        store.close()


@pytest.mark.parametrize("is_silent", [True, False])
def test_a_session_ends_with_its_parent_and_with_a_run_that_says_nothing(is_silent: bool, monkeypatch: pytest.MonkeyPatch):
    ended: list[object] = []
    monkeypatch.setattr(session, "_end", ended.append)
    ours, theirs = socket.socketpair()
    handler = SimpleNamespace(last_request=time.monotonic() - (session.SILENCE_S if is_silent else 0))
    if not is_silent:
        theirs.close()
    session._end_with_parent(ours, handler)  # type: ignore[arg-type]
    assert ended == [handler]
    ours.close()
    theirs.close()


def test_the_protocols_are_those_of_tvm():
    base = pytest.importorskip("tvm.rpc.base")
    assert tracker.TRACKER_MAGIC == base.RPC_TRACKER_MAGIC
    assert (RPC_MAGIC, RPC_MAGIC, RPC_MISMATCH) == (base.RPC_MAGIC, base.RPC_CODE_SUCCESS, base.RPC_CODE_MISMATCH)
    codes = base.TrackerCode
    assert (tracker.SUCCESS, tracker.PUT, tracker.REQUEST) == (codes.SUCCESS, codes.PUT, codes.REQUEST)
    assert (tracker.UPDATE_INFO, tracker.SUMMARY) == (codes.UPDATE_INFO, codes.SUMMARY)
    assert tracker.GET_PENDING_MATCHKEYS == codes.GET_PENDING_MATCHKEYS


class FakeTracker:
    """Accepts one connection, sends the magic number and one answer, and closes when it was asked something."""

    def __init__(self, answer: bytes, magic: int = tracker.TRACKER_MAGIC):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = ("127.0.0.1", int(self.server.getsockname()[1]))
        self.thread = threading.Thread(target=self.serve, args=(struct.pack("<i", magic) + answer,), daemon=True)
        self.thread.start()

    def serve(self, data: bytes) -> None:
        connection, _ = self.server.accept()
        with connection, self.server:
            connection.sendall(data)
            heard = b""
            # The magic number and the question may come in any number of pieces, or not at all.
            while len(heard) < 9 and (piece := connection.recv(1000)):
                heard += piece


def framed(answer: Any) -> bytes:
    data = json.dumps(answer).encode()
    return struct.pack("<i", len(data)) + data


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (framed([0, ["host", 70_000, "key"]]), "makes no sense"),
        (framed([0, ["", 1, "key"]]), "makes no sense"),
        (framed("lunch"), "makes no sense"),
        (struct.pack("<i", -5), "announced an answer of -5 bytes"),
        (struct.pack("<i", 3) + b"{[}", "Expecting"),
        (b"", "it closed the connection"),
    ],
)
def test_a_tracker_that_gives_invalid_answers_is_lost(answer: bytes, reason: str):
    connection = TrackerConnection(FakeTracker(answer).address)
    with pytest.raises(TrackerLost, match=reason):
        connection.request("collage")
    connection.close()


def test_what_is_no_tracker_is_told_apart():
    with pytest.raises(TrackerLost, match="what answers there is no RPC tracker"):
        TrackerConnection(FakeTracker(b"", magic=12).address)


def test_an_offer_is_read():
    connection = TrackerConnection(FakeTracker(framed([0, ["10.0.0.1", 9090, "collage:0.5"]])).address)
    assert connection.request("collage") == Offer("10.0.0.1", 9090, "collage:0.5")
    connection.close()


@pytest.mark.parametrize(("text", "address"), [("localhost:9190", ("localhost", 9190)), ("[::1]:80", ("::1", 80))])
def test_an_address_is_read(text: str, address: tuple[str, int]):
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "9190", ":9190", "host:", "host:0", "host:65536", "host:-1", "host:x", "host:²"])
def test_what_is_no_address_is_refused(text: str):
    with pytest.raises(CollageError, match="it must be HOST:PORT"):
        parse_address(text)


def test_the_tracker_is_told_the_host_only_where_it_cannot_see_it():
    told = {host: _advertised_host(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "10.0.0.7", "rack-7")}
    assert {host for host, said in told.items() if said} == {"10.0.0.7", "rack-7"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing option '--tracker'"),
        (["--tracker", "nowhere"], "--tracker is 'nowhere', it must be HOST:PORT"),
        (["--tracker", "a:1", "--key", "two words"], "--key is 'two words', it must be a word"),
        (["--tracker", "a:1", "--name", "x" * 61], "it must be at most 60 characters"),
        (["--tracker", "a:1", "--host", "192.0.2.1"], "cannot listen at 192.0.2.1:0: Cannot assign requested address"),
        (["--tracker", "a:1", "--port", "70000"], "70000 is not in the range"),
    ],
)
def test_mistakes_at_the_command_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["worker", *arguments])
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) <= 3


def test_the_files_of_a_store_lie_in_the_one_folder(collage_home: Path):
    store = FileStore()
    store.put(named(b"x"), 0, 1, b"x")
    assert store.path(named(b"x")).is_relative_to(collage_home / "scratch")
    store.close()


def test_weights_in_files_are_read_in_before_a_trial_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are not there; more than a message holds is no trial, but a record that says so."""
    monkeypatch.setattr(external_weights, "FROM_BYTES", 0)
    model = load_model(write_transformer(tmp_path, Sizes(layers=1)))
    task = TrialTask("onnxruntime", model.cut(IndexSet(range(len(model.graph)))), [], [], None)
    sent: list[TrialTask] = []

    class Stopped(Exception):
        pass

    class Stub(RemoteWorker):
        def __init__(self) -> None:
            pass

        def _send_task(self, task: TrialTask) -> str:
            sent.append(task)
            raise Stopped

    asked: tuple[Any, Any] = None, lambda: False
    with pytest.raises(Stopped):
        Stub().trial(asked[0], task, asked[1])
    assert len(sent[0].model.onnx) > Sizes(layers=1).weight_bytes
    monkeypatch.setattr(external_weights, "MOST_BYTES", 1000)
    record = Stub().trial(asked[0], task, asked[1])
    assert (record.stage, len(sent)) == ("import", 1)
    assert "more than one ONNX message can" in record.reason


def test_a_job_of_an_unknown_kind_is_refused_and_the_worker_stays_idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))
    with closing(RequestHandler("one")) as handler:
        assert json.loads(handler.ask(pickle.dumps(("start", "nonsense")))) == {"fault": "KeyError: 'nonsense'"}
        assert json.loads(handler.ask(pickle.dumps(("poll", 0.0)))) == {"state": "idle"}
