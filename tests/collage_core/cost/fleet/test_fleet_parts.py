"""The parts of a fleet one by one: which answers of a worker are valid, which machines fit together, addresses, keys, the commands."""

from __future__ import annotations

import json
import math
import os
import pickle
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from fleet_functions import INVALID_ANSWERS, RECORD
from hypothesis import given
from hypothesis import strategies as st

from collage_core import __version__
from collage_core.base.extras import install_command
from collage_core.base.isolation.errors import WorkerDied, WorkerError
from collage_core.base.isolation.worker import Worker
from collage_core.cli.main import main
from collage_core.cost.database.records import Record, now
from collage_core.cost.fleet import plain_pickles, request_handler
from collage_core.cost.fleet.connection import connection, local_count, own_keys
from collage_core.cost.fleet.keys import make_keys
from collage_core.cost.fleet.local import _shares
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
from collage_core.cost.fleet.request_handler import RequestHandler
from collage_core.cost.fleet.runner import trial_job
from collage_core.cost.measuring.trial import TrialLimits, TrialTask
from collage_core.errors import CollageError
from collage_core.graph.index_set import IndexSet
from collage_core.model.files import external_weights
from collage_core.model.onnx_model import load_model
from collage_core.toolchains.base import Availability, ToolchainError
from tests.helpers.fleets import until
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
        (described(), "B, 8 cores", "no worker of the fleet is a 'B, 8 cores'"),
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


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data in which no keys lie."""
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("text", "keys", "shown"),
    [
        ("tls://rack-7:8786", False, "tls://rack-7:8786"),
        ("rack-7", False, "tls://rack-7:8786"),
        ("127.0.0.1:80", False, "tcp://127.0.0.1:80"),
        ("localhost:80", False, "tcp://localhost:80"),
        ("[::1]:80", False, "tcp://[::1]:80"),
        ("[2001:db8::7]:80", False, "tls://[2001:db8::7]:80"),
        ("127.0.0.1:80", True, "tls://127.0.0.1:80"),
        ("tcp://127.0.0.1:80", True, "tcp://127.0.0.1:80"),
    ],
)
def test_an_address_is_read_and_only_loopback_goes_without_tls(text: str, keys: bool, shown: str, own_home: Path):
    if keys:
        make_keys(own_keys())
    to = connection(text, "--fleet")
    assert str(to) == shown
    assert to.keys == (own_keys() if keys and shown.startswith("tls") else None)


@pytest.mark.parametrize("text", ["", ":9190", "host:", "host:65536", "host:-1", "host:x", "host:²", "http://a:1", "a b:1", "a:1/x"])
def test_what_is_no_address_is_refused(text: str, own_home: Path):
    with pytest.raises(CollageError, match="it must be an address"):
        connection(text, "--fleet")


@pytest.mark.parametrize("text", ["tcp://10.0.0.7:8786", "tcp://rack-7:8786", "tcp://0.0.0.0:8786", "tcp://localhost.example:1"])
def test_whatever_leaves_this_machine_without_tls_is_refused(text: str, own_home: Path):
    with pytest.raises(CollageError, match="without TLS, whoever reaches it could run anything on every worker") as caught:
        connection(text, "--fleet")
    assert "collage fleet keys" in caught.value.hint


def test_tls_without_keys_says_how_to_make_them(own_home: Path):
    pytest.importorskip("distributed")
    with pytest.raises(CollageError, match="tls://rack-7:8786 needs keys, and there are none") as caught:
        connection("rack-7", "--fleet").security("client")
    assert "`collage fleet keys` makes them" in caught.value.hint


@pytest.mark.parametrize("spoil", ["absent", "garbage"])
def test_keys_that_are_absent_or_damaged_are_named(tmp_path: Path, spoil: str):
    pytest.importorskip("distributed")
    make_keys(tmp_path / "keys")
    path = tmp_path / "keys" / "client.pem"
    path.unlink() if spoil == "absent" else path.write_text("garbage")
    to = connection("rack-7", "--fleet", tmp_path / "keys")
    assert to.security("worker")
    with pytest.raises(CollageError, match=r"the keys of a client in '.*keys' cannot be used"):
        to.security("client")
    with pytest.raises(CollageError, match=r"there is no ca\.pem in"):
        connection("rack-7", "--fleet", tmp_path)


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


@pytest.mark.parametrize(("text", "count"), [("local:1", 1), ("local:64", 64), ("127.0.0.1:1", None)])
def test_an_embedded_fleet_says_how_many_workers(text: str, count: int | None):
    assert local_count(text) == count


@pytest.mark.parametrize("text", ["local:", "local:0", "local:65", "local:-1", "local:two", "local:²"])
def test_an_embedded_fleet_of_no_number_is_refused(text: str):
    with pytest.raises(CollageError, match="it must be local:N for 1 to 64 workers"):
        local_count(text)


def test_workers_of_an_embedded_fleet_have_cores_of_their_own_where_there_are_enough(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1, 2, 3, 4})
    assert _shares(2) == [{0, 1}, {2, 3}]
    assert _shares(6) == [None] * 6


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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["worker"], "Missing option '--scheduler'"),
        (["worker", "--scheduler", "no where"], "--scheduler is 'no where', it must be an address"),
        (["worker", "--tracker", "a:1"], "name it with --scheduler ADDRESS"),
        (["partition", "x.onnx", "--targets", "tvm", "--tracker", "a:1"], "name it with --fleet ADDRESS"),
        (["partition", "mini_mnist", "--targets", "onnxruntime", "--fleet", "local:0"], "--fleet is 'local:0', it must be local:N"),
        (["partition", "mini_mnist", "--targets", "onnxruntime", "--fleet", "tcp://rack-7:1"], "--fleet is 'tcp://rack-7:1': without TLS"),
        (["partition", "mini_mnist", "--targets", "onnxruntime", "--fleet", "rack-7"], "tls://rack-7:8786 needs keys, and there are none"),
        (["worker", "--scheduler", "localhost:1", "--name", "x" * 61], "it must be at most 60 characters"),
        (["worker", "--scheduler", "localhost:1", "--host", "0.0.0.0"], "--host is '0.0.0.0': without TLS, whoever reaches it"),
        (["worker", "--scheduler", "localhost:1", "--port", "70000"], "70000 is not in the range"),
        (["worker", "--scheduler", "rack-7"], "tls://rack-7:8786 needs keys, and there are none"),
        (["fleet", "scheduler", "--host", "0.0.0.0"], "tls://0.0.0.0:8786 needs keys, and there are none"),
        (["fleet", "scheduler", "--dashboard", "127.0.0.1:1"], "the dashboard needs bokeh, which is not installed"),
        (["fleet", "keys", "/proc/keys-of-a-fleet"], "cannot write keys into '/proc/keys-of-a-fleet'"),
    ],
)
def test_mistakes_at_the_command_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], own_home: Path):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) <= 3


def test_without_the_extra_one_line_says_what_installs_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        main(["worker", "--scheduler", "localhost:1"])
    assert capsys.readouterr().err.splitlines() == [
        "error: a fleet needs Dask and cryptography, which are not installed",
        f"hint: {install_command('fleet')}",
    ]


def test_keys_are_made_in_the_folder_of_the_user(own_home: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["fleet", "keys"])
    assert not ended.value.code
    assert (own_home / "fleet-keys" / "ca.pem").exists()
    assert "copy the folder to each of its machines, over ssh" in capsys.readouterr().out


def test_weights_in_files_are_read_in_before_a_trial_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are not there; more than a message holds is no trial, but a record that says so."""
    monkeypatch.setattr(external_weights, "FROM_BYTES", 0)
    model = load_model(write_transformer(tmp_path, Sizes(layers=1)))
    task = TrialTask("onnxruntime", model.cut(IndexSet(range(len(model.graph)))), [], [], None)
    settings: Any = SimpleNamespace(limits=TrialLimits())
    _, _, sent = trial_job(settings, task).words
    assert len(sent.model.onnx) > Sizes(layers=1).weight_bytes
    monkeypatch.setattr(external_weights, "MOST_BYTES", 1000)
    job = trial_job(settings, task)
    assert job.is_done
    assert job.result.stage == "import"
    assert "more than one ONNX message can" in job.result.reason


def test_a_request_of_an_unknown_kind_is_a_fault(own_home: Path) -> None:
    with closing(RequestHandler()) as handler:
        answer = json.loads(handler.answer(pickle.dumps(("nonsense", "run")), {}, "one", lambda: False))
    assert answer == {"fault": "KeyError: 'nonsense'"}


def test_the_children_of_a_run_that_asks_for_nothing_are_ended(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_handler, "_IDLE_S", 0.01)
    with closing(RequestHandler()) as handler:
        request = pickle.dumps(("call", "run", "os", "getpid", (), 30.0))
        child = psutil.Process(json.loads(handler.answer(request, {}, "one", lambda: False))["value"])
        until(lambda: not child.is_running(), "the child to end")
        assert not handler._runs
