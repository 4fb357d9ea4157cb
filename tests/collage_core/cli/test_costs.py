"""`collage costs`: costs shown, moved, merged and removed; files that hold what cannot be; costs of other machines kept apart."""

from __future__ import annotations

import gzip
import io
import json
import re
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.cli.costs import _show_groups
from collage_core.cli.main import main
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.find_location import FILE_NAME
from collage_core.cost.database.json_lines import read_lines, write_lines
from collage_core.cost.database.maintenance import Group, Merged, Selection, merge, records, selected_transitions, selected_tunings
from collage_core.cost.database.records import CostKey, MeasuredTransition, Record, TransitionKey, machine_id
from collage_core.errors import CollageError
from tests.helpers.cost_records import FAILED, KERNEL, KEY, PAIR, PROFILE, RECORD, TUNED

ELSEWHERE = replace(KEY, machine="a shed, 8 cores", toolchain="openvino")
NEWER = replace(RECORD, samples=(5.0,), created="2026-03-01T00:00:00+00:00")
MEASURED = MeasuredTransition(1e-6, 2e-12, created=RECORD.created)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with two costs of a machine, one of another, and a transition."""
    path = tmp_path / "theirs.sqlite3"
    with CostDatabase(path) as database:
        merge(database, [(KEY, RECORD), (replace(KEY, threads=2), FAILED), (ELSEWHERE, RECORD)], [(PAIR, MEASURED)])
    return path


Costs = Callable[..., str]


@pytest.fixture
def costs(home: Path, capsys: pytest.CaptureFixture[str]) -> Costs:
    """Runs ``collage costs``; gives its output, or what it complains of."""

    def run(*arguments: object, status: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["costs", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert (ended.value.code or 0) == status, err
        return err if status else out

    return run


def all_of(path: Path) -> tuple[list[tuple[CostKey, Record]], list[tuple[TransitionKey, MeasuredTransition]]]:
    with CostDatabase(path, read_only=True) as database:
        return records(database, Selection()), selected_transitions(database, Selection())


@pytest.mark.parametrize("name", ["costs.jsonl", "costs.jsonl.gz"])
def test_what_is_exported_is_imported(costs: Costs, path: Path, home: Path, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    assert costs("export", file, "--db", path) == "exported 3 costs and 1 transition\n"
    assert file.read_bytes().startswith(b"\x1f\x8b") is name.endswith(".gz")
    mine = home / FILE_NAME
    assert costs("import", file) == f"{mine}: 4 new, 0 replaced by newer ones, 0 kept as they were\n"
    assert costs("import", file) == f"{mine}: 0 new, 0 replaced by newer ones, 4 kept as they were\n"
    assert all_of(mine) == all_of(path)
    assert all_of(mine)[1][0][1].created == MEASURED.created
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == [], "nothing unfinished is left"


def test_pipes(costs: Costs, path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = costs("export", "-", "--db", path)
    assert [json.loads(line).get("kind", "header") for line in text.splitlines()] == ["header", *["cost"] * 3, "transition", "end"]
    for sent in (text.encode(), gzip.compress(text.encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sent)))
        document = json.loads(costs("import", "-", "--json"))
    assert document == {"schema": 1, "database": str(home / FILE_NAME), "new": 0, "replaced": 0, "kept": 4}


def test_tuned_kernels_are_exported_imported_and_removed(costs: Costs, path: Path, home: Path, tmp_path: Path) -> None:
    with CostDatabase(path) as database:
        database.put_tuning(KERNEL, TUNED)
    file = tmp_path / "costs.jsonl"
    assert costs("export", file, "--db", path) == "exported 3 costs and 1 transition, 1 tuned kernel\n"
    assert "5 new" in costs("import", file)
    assert "5 kept" in costs("import", path)
    with CostDatabase(home / FILE_NAME, read_only=True) as database:
        assert selected_tunings(database, Selection(toolchain="tvm@fusion")) == [(KERNEL, TUNED)]
        assert selected_tunings(database, Selection(computation="c0")) == []
    assert "2 costs and 1 transition, 1 tuned kernel were removed" in costs("prune", "--toolchain", "tvm")
    document = json.loads(costs("show", "--json"))
    assert (document["tunings"], len(document["groups"])) == ([], 1)


def test_profiles_are_shown_and_removed_with_their_toolchain(costs: Costs, path: Path) -> None:
    with CostDatabase(path) as database:
        database.put_profile(KEY, PROFILE)
        database.put_profile(ELSEWHERE, PROFILE)
    assert "3 costs, 1 transition, 2 profiles" in costs("show", "--db", path)
    shown = json.loads(costs("show", "--db", path, "--machine", "a shed*", "--json"))["profiles"]
    assert [(one["toolchain"], one["machine"]) for one in shown] == [("openvino", ELSEWHERE.machine)]
    assert "1 profile would be removed" in costs("prune", "--db", path, "--toolchain", "openvino", "--dry-run")
    assert "1 profile were removed" in costs("prune", "--db", path, "--toolchain", "openvino")
    assert len(json.loads(costs("show", "--db", path, "--json"))["profiles"]) == 1


def test_a_tuned_kernel_that_cannot_be_true_is_refused(costs: Costs, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text("".join(write_lines([], [], [(KERNEL, replace(TUNED, trials=-1))])))
    assert "line 2: trials is -1, it must be a whole number from 0 to 1048576" in costs("import", file, status=2)


def test_another_database_is_imported_as_it_is(costs: Costs, path: Path, home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with CostDatabase(other) as database:
        database.put(replace(KEY, computation="d"), RECORD)
    assert "4 new" in costs("import", path)
    assert "1 new" in costs("import", other)
    assert len(all_of(home / FILE_NAME)[0]) == 4


def test_newer_takes_the_place_of_older_and_nothing_else_does(costs: Costs, path: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    with CostDatabase(mine) as database:
        database.put(KEY, NEWER)
        database.put(ELSEWHERE, replace(RECORD, samples=(7.0,)))
        database.put_transition(PAIR, replace(MEASURED, fixed_s=9.0, created="2025-01-01T00:00:00+00:00"))
    assert costs("import", path, "--db", mine) == f"{mine}: 1 new, 1 replaced by newer ones, 2 kept as they were\n"
    found, pairs = all_of(mine)
    assert dict(found) == {KEY: NEWER, replace(KEY, threads=2): FAILED, ELSEWHERE: replace(RECORD, samples=(7.0,))}
    assert pairs == [(PAIR, MEASURED)]


def test_whole_numbers_are_numbers(costs: Costs, home: Path, tmp_path: Path) -> None:
    file = tmp_path / "whole.jsonl"
    file.write_text("\n".join([HEADER, line_of(samples=[1], error=10**300, limit_s=3), END]) + "\n")
    costs("import", file)
    assert all_of(home / FILE_NAME)[0] == [(KEY, replace(RECORD, samples=(1.0,), error=1e300, limit_s=3.0))]


def test_of_two_in_one_file_the_newer_counts(tmp_path: Path) -> None:
    with CostDatabase(tmp_path / "mine") as database:
        assert merge(database, [(KEY, NEWER), (KEY, RECORD)], []) == Merged(1, 0, 1)
        assert database.get([KEY]) == {KEY: NEWER}


def test_many_are_merged_at_once(tmp_path: Path) -> None:
    rows = [(replace(KEY, computation=f"{number:032x}"), RECORD) for number in range(1200)]
    with CostDatabase(tmp_path / "mine") as database:
        merge(database, rows[:700], [])
        assert merge(database, rows, []) == Merged(500, 0, 700)


def test_export_of_a_machine_or_a_toolchain(costs: Costs, path: Path) -> None:
    def exported(*selecting: str) -> list[str]:
        lines = map(json.loads, costs("export", "-", "--db", path, *selecting).splitlines()[1:-1])
        return [line.get("toolchain", line["kind"]) for line in lines]

    assert exported("--machine", "*shed*") == ["openvino"]
    assert exported("--machine", KEY.machine) == ["tvm", "tvm", "transition"]
    assert exported("--toolchain", "openvino") == ["openvino"]
    assert exported("--toolchain", "onnxruntime") == ["transition"]
    assert exported("--machine", "nobody's") == []


def test_show_keeps_machines_apart(costs: Costs, path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(replace(KEY, machine=machine_id()), NEWER)
        database.put(replace(KEY, machine=machine_id(), options="float16"), NEWER)
    text = costs("show", "--db", path)
    assert text.splitlines()[0] == f"{path}: 5 costs, 1 transition"
    headings = [line for line in text.splitlines() if "cores" in line]
    assert headings == sorted([f"{machine_id()} (this machine)", KEY.machine, ELSEWHERE.machine])
    document = json.loads(costs("show", "--db", path, "--json"))
    assert document["costs"] == []
    assert [(row["machine"], row["threads"], row["costs"], row["failed"]) for row in document["groups"]][-3:] == [
        (KEY.machine, 1, 1, {}),
        (KEY.machine, 2, 1, {"build": 1}),
        (ELSEWHERE.machine, 1, 1, {}),
    ]
    assert {row["options"] for row in document["groups"] if row["machine"] == machine_id()} == {"float16", "float32"}
    assert [(row["maker"], row["reader"]) for row in document["transitions"]] == [("tvm", "onnxruntime")]


def test_show_of_a_computation(costs: Costs, path: Path) -> None:
    text = costs("show", "--db", path, "--computation", "c0f")
    assert "c0ffee  tvm 0.27, 1 thread, float32, a CPU, 2 cores: 1.05 ms, median of 2" in text
    assert "c0ffee  tvm 0.27, 2 threads, float32, a CPU, 2 cores: build: crashed with SIGSEGV while building" in text
    document = json.loads(costs("show", "--db", path, "--computation", "c0f", "--toolchain", "openvino", "--json"))
    assert document["costs"] == [{**asdict(ELSEWHERE), **asdict(RECORD), "samples": list(RECORD.samples), "repetitions": []}]
    assert json.loads(costs("show", "--db", path, "--computation", "c_", "--json"))["costs"] == []


def test_show_changes_nothing(costs: Costs, path: Path, home: Path) -> None:
    before = path.read_bytes()
    costs("show", "--db", path)
    assert path.read_bytes() == before
    complaint = costs("show", status=2)
    assert complaint.startswith(f"error: there is no cost database {str(home / FILE_NAME)!r}\n")
    assert not (home / FILE_NAME).exists()


PRUNED: dict[str, tuple[list[str], tuple[int, int]]] = {
    "toolchain": (["--toolchain", "tvm"], (1, 0)),
    "another end of a transition": (["--toolchain", "onnxruntime"], (3, 0)),
    "its version": (["--toolchain", "onnxruntime", "--version", "1.31"], (3, 0)),
    "another version": (["--toolchain", "onnxruntime", "--version", "0.27"], (3, 1)),
    "version": (["--version", "0.27"], (0, 0)),
    "machine": (["--machine", "a shed*"], (2, 1)),
    "age": (["--older-than", "4w"], (1, 0)),
    "age and machine": (["--older-than", "28d", "--machine", "a CPU*"], (2, 0)),
    "too young": (["--older-than", "99999w"], (3, 1)),
}


@pytest.mark.parametrize("what", PRUNED)
def test_prune_removes_what_it_said_it_would(costs: Costs, path: Path, what: str) -> None:
    options, left = PRUNED[what]
    recently = (datetime.now(UTC) - timedelta(days=5)).isoformat(timespec="seconds")
    with CostDatabase(path) as database:
        database.put(replace(KEY, threads=2), replace(FAILED, created=recently))
    before = tuple(map(len, all_of(path)))
    would = json.loads(costs("prune", "--db", path, *options, "--dry-run", "--json"))
    assert tuple(map(len, all_of(path))) == before
    did = json.loads(costs("prune", "--db", path, *options, "--json"))
    assert {**would, "dry_run": False} == did
    assert tuple(map(len, all_of(path))) == left
    assert (did["costs"], did["transitions"]) == (before[0] - left[0], before[1] - left[1])


def test_prune_tells_what_it_removed(costs: Costs, path: Path) -> None:
    text = costs("prune", "--db", path, "--machine", "a shed*")
    assert ELSEWHERE.machine in text
    assert KEY.machine not in text
    assert text.endswith(f"{path}: 1 cost and 0 transitions were removed\n")


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_prune_wants_to_know_what(costs: Costs, path: Path, options: list[str]) -> None:
    complaint = costs("prune", "--db", path, *options, status=2)
    assert complaint == "error: prune would remove everything\nhint: say what: --older-than, --toolchain, --version or --machine\n"


@pytest.mark.parametrize("age", ["90", "d", "-1d", "1y", "1.5d", "9999999d"])
def test_prune_wants_an_age(costs: Costs, path: Path, age: str) -> None:
    complaint = costs("prune", "--db", path, f"--older-than={age}", status=2)
    assert complaint == f"error: --older-than is {age!r}, it must be hours, days or weeks\nhint: such as 12h, 90d or 4w\n"


def test_export_overwrites_no_database(costs: Costs, path: Path) -> None:
    before = path.read_bytes()
    assert "is a database, which an export would overwrite" in costs("export", path, "--db", path, status=2)
    assert path.read_bytes() == before
    assert "cannot write '/nowhere/x': No such file" in costs("export", "/nowhere/x", "--db", path, status=2)


def line_of(**changes: Any) -> str:
    """Return a line for a cost with changes; a field that is "absent" is left out."""
    data = {"kind": "cost", **asdict(KEY), **asdict(RECORD), **changes}
    return json.dumps({name: value for name, value in data.items() if value != "absent"})


HEADER = '{"format": "collage-costs", "version": 1}'
END = '{"kind": "end", "costs": 1, "transitions": 0, "tunings": 0}'
SECONDS = "it must be seconds: a number, not negative and at most 1e6"
PAIR_LINE = json.dumps({"kind": "transition", **asdict(PAIR), **asdict(MEASURED), "fixed_s": -1})

BAD_LINES = {
    "NaN": (line_of(samples=[0.1, float("nan")]), f"samples[1] is nan, {SECONDS}"),
    "infinite": (line_of(samples=[float("inf")]), f"samples[0] is inf, {SECONDS}"),
    "negative": (line_of(samples=[-0.1]), f"samples[0] is -0.1, {SECONDS}"),
    "absurd": (line_of(samples=[1e7]), f"samples[0] is 10000000.0, {SECONDS}"),
    "huge": (line_of(reference_s=10**400), f"reference_s is inf, {SECONDS}"),
    "text for a number": (line_of(samples=["1"]), f"samples[0] is '1', {SECONDS}"),
    "true for a number": (line_of(limit_s=True), f"limit_s is True, {SECONDS}"),
    "no list": (line_of(samples=3), "samples is 3, it must be a list of at most 100000 numbers"),
    "no samples": (line_of(samples=[]), "samples is empty, though stage names no failure"),
    "error": (line_of(error=-1), "error is -1, it must be a finite number, not negative"),
    "threads": (line_of(threads=0), "threads is 0, it must be a whole number from 1 to 1048576"),
    "no name": (line_of(machine=""), "machine is '', it must be text, and not empty"),
    "flag": (line_of(crashed=1), "crashed is 1, it must be true or false"),
    "no zone": (line_of(created="2026-01-01T00:00:00"), "created is '2026-01-01T00:00:00', it must be a time with its zone"),
    "future": (line_of(created="2999-01-01T00:00:00+00:00"), "created is '2999-01-01T00:00:00+00:00', which is in the future"),
    "missing": (line_of(toolchain="absent"), "toolchain is missing"),
    "unknown": (line_of(colour="red"), "'colour' is not a field of a cost"),
    "other kind": (line_of(kind="price"), "kind is 'price', it must be 'cost', 'transition', 'tuning' or 'end'"),
    "transition": (PAIR_LINE, f"fixed_s is -1, {SECONDS}"),
    "no JSON": ("{", "it is not JSON: '{\\n'"),
    "deep": ("[" * 100_000, "it is not JSON: '[[["),
    "list": ("[1]", "it is [1], it must be an object"),
    "long": (" " * (9 << 20), "it is longer than 8 MiB"),
}


@pytest.mark.parametrize("mistake", BAD_LINES)
def test_bad_line_is_named_and_nothing_imported(costs: Costs, home: Path, tmp_path: Path, mistake: str) -> None:
    line, said = BAD_LINES[mistake]
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join([HEADER, line_of(), line, END]) + "\n")
    complaint, hint = costs("import", file, status=2).splitlines()
    assert complaint.startswith(f"error: {str(file)!r}, line 3: {said}")
    assert hint.startswith("hint: nothing was imported")
    assert not (home / FILE_NAME).exists()


BAD_FILES = {
    "empty": (b"", "line 1: the file is cut off: its last line must be the end"),
    "cut off": (f"{HEADER}\n{line_of()}\n".encode(), "line 3: the file is cut off: its last line must be the end"),
    "cut off within a line": (f"{HEADER}\n{line_of()[:50]}".encode(), "line 2: it is not JSON"),
    "a line is gone": (f"{HEADER}\n{END}\n".encode(), "line 2: costs is 1, but 0 were found: the file is not as it was written"),
    "more behind": (f"{HEADER}\n{line_of()}\n{END}\nx".encode(), "line 4: there is more behind the end"),
    "other schema": (b'{"format": "collage-costs", "version": 6}\n', "line 1: version is 6, this collage-explorer reads 1"),
    "other format": (b'{"costs": []}\n', "line 1: format is None, it must be 'collage-costs'"),
    "no text": (bytes(range(128, 256)), "line 1: it is not JSON"),
}


@pytest.mark.parametrize("mistake", BAD_FILES)
def test_bad_file_is_named_and_nothing_imported(costs: Costs, home: Path, tmp_path: Path, mistake: str) -> None:
    content, said = BAD_FILES[mistake]
    (tmp_path / "bad").write_bytes(content)
    assert costs("import", tmp_path / "bad", status=2).startswith(f"error: {str(tmp_path / 'bad')!r}, {said}")
    assert not (home / FILE_NAME).exists()


@pytest.mark.parametrize("keep", [slice(0, -30), slice(0, 12)], ids=["cut off", "header alone"])
def test_packed_file_that_is_cut_off(costs: Costs, path: Path, tmp_path: Path, keep: slice) -> None:
    whole = tmp_path / "whole.gz"
    costs("export", whole, "--db", path)
    (tmp_path / "part").write_bytes(whole.read_bytes()[keep])
    assert "part' is cut off or damaged: Compressed file ended before" in costs("import", tmp_path / "part", status=2)


def test_packed_file_that_is_damaged(costs: Costs, path: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.gz"
    costs("export", whole, "--db", path)
    content = bytearray(whole.read_bytes())
    content[len(content) // 2] ^= 0xFF
    whole.write_bytes(content)
    assert "whole.gz'" in costs("import", whole, status=2)


def test_database_with_rows_that_cannot_be_true_is_not_imported(costs: Costs, path: Path, home: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE measurements SET samples = '[-1]' WHERE threads = 1")
    connection.commit()
    connection.close()
    assert "holds what cannot be true and is not used, such as: samples[0] is -1" in costs("import", path, status=2)
    assert not (home / FILE_NAME).exists()


def test_files_that_are_not_there_or_no_files(costs: Costs, tmp_path: Path) -> None:
    assert "cannot read '/nowhere': No such file or directory" in costs("import", "/nowhere", status=2)
    assert f"cannot read {str(tmp_path)!r}: Is a directory" in costs("import", tmp_path, status=2)


def test_damaged_database_is_not_shown(costs: Costs, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    before = (tmp_path / "bad").read_bytes()
    assert "cannot be opened: it is " in costs("show", "--db", tmp_path / "bad", status=2)
    assert (tmp_path / "bad").read_bytes() == before


words = st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace").decode())
names = words.filter(bool)
seconds = st.floats(0, 1e6)
times = st.datetimes(datetime(2000, 1, 1), datetime(2026, 1, 1)).map(lambda time: time.replace(tzinfo=UTC).isoformat(timespec="seconds"))
keys = st.builds(CostKey, names, names, words, st.integers(1, 64), names, words, words)
measured = st.builds(
    Record,
    st.lists(seconds, min_size=1, max_size=5).map(tuple),
    words,
    words,
    st.none() | st.floats(0, 1e300),
    st.booleans(),
    st.booleans(),
    st.none() | seconds,
    st.none() | seconds,
    times,
    st.floats(0, 10),
    words,
    seconds,
)
pairs = st.builds(TransitionKey, names, names, words, words, st.integers(1, 64), names, words)
transition = st.builds(MeasuredTransition, seconds, seconds, words, times)


@given(st.lists(st.tuples(keys, measured), max_size=4), st.lists(st.tuples(pairs, transition), max_size=4))
def test_lines_give_back_what_they_were_made_of(
    costs: list[tuple[CostKey, Record]], transitions: list[tuple[TransitionKey, MeasuredTransition]]
) -> None:
    text = "".join(write_lines(costs, transitions))
    read = read_lines(io.BytesIO(text.encode()), "it")
    assert (read.records, read.transitions) == (costs, transitions)


def complaint_about(content: bytes) -> str:
    try:
        read_lines(io.BytesIO(content), "it")
    except CollageError as error:
        return error.message
    return ""


@given(st.binary(max_size=200))
def test_whatever_follows_the_header_is_a_mistake(rest: bytes) -> None:
    assert re.match(r"it, line \d+: ", complaint_about(HEADER.encode() + b"\n" + rest))


def test_times_are_told_in_one_zone() -> None:
    text = "\n".join([HEADER, line_of(created="2026-01-01T02:00:00.5+02:00"), END])
    assert read_lines(io.BytesIO(text.encode()), "it").records[0][1].created == RECORD.created


def test_names_from_a_database_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    _show_groups([Group("far\x1b[2J", "tvm\u202e[bold]", "1\x07", 1, "", 2, {"build\x1b[1m": 1}, "2026-01-01")])
    said, _ = capsys.readouterr()
    assert all(word in said for word in ("far\\x1b[2J", "tvm\\u202e[bold]", "1\\x07", "1 build\\x1b[1m"))
    assert all(line.isprintable() for line in said.splitlines())
