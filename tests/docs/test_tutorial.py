"""docs/tutorial.md: its commands run as they stand there, and its figures are those of the recorded run.

What asks about a run is asked of the recorded one, in seconds. `STAND_INS` says of each other command what is run in its place, and why.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from collage_core.cli.main import collage
from collage_core.documents.json_form import to_json
from collage_core.pipeline.record.record import RunRecord
from tests.helpers.command import brief_collage, in_this_process
from tests.helpers.paths import DOCS, ROOT

TUTORIAL = (DOCS / "tutorial.md").read_text(encoding="utf-8")
PROGRAM = ".venv/bin/collage "
STAND_INS = {
    "partition": "it measures crnn for a minute: a small sample on one toolchain is measured briefly",
    "run": "there is no artifact beside the recorded run: that of the small sample is run",
    "check": "as for `run`; times of a busy machine say nothing, so 5% becomes 900%",
}
"""Commands of ours that are run on something else → why."""
NOT_RUN = {"make run": "it goes on until somebody ends it: tests/browser starts an explorer for each of its tests"}
"""Commands that no test of this file runs → why."""


def recorded_run(sample: str) -> RunRecord:
    return RunRecord.load(ROOT / "collage_core" / "model" / "samples" / "recorded" / f"{sample}.json.gz")


def commands() -> list[str]:
    """Return the lines of the blocks of shell commands, those without a language, in their order."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", TUTORIAL, re.M | re.S)
    return [line for language, block in blocks if not language for line in block.splitlines()]


def ours() -> list[list[str]]:
    """Return the words of each command of ours, without the program."""
    return [shlex.split(line.removeprefix(PROGRAM)) for line in commands() if line.startswith(PROGRAM)]


def test_every_command_is_run_or_has_its_reason() -> None:
    assert {line for line in commands() if not line.startswith(PROGRAM)} == NOT_RUN.keys()
    assert {name for name, *_ in ours()} - {"explain", "compare", "session"} == STAND_INS.keys()


def test_the_commands_have_options_that_there_are() -> None:
    written = [*ours(), *(shlex.split(line) for line in re.findall(r"^ *- run: collage (.*)$", TUTORIAL, re.M))]
    assert len(written) == 9
    for name, *words in written:
        collage.commands[name].make_context(name, list(words))


def test_the_targets_of_make_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text()
    named = re.findall(r"\bmake ([a-z-]+)(?: ([A-Z]+)=)?", TUTORIAL)
    assert {target for target, _ in named} == {"run", "record", "pictures"}
    assert all(f"\n{target}:" in makefile and (not variable or f"$({variable})" in makefile) for target, variable in named)


@pytest.fixture
def recorded() -> RunRecord:
    return recorded_run("crnn")


def test_what_asks_about_a_run_answers_as_it_stands_there(
    recorded: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    (tmp_path / "out").mkdir()
    recorded.save(tmp_path / "out")
    said = {}
    for words in ours():
        if words[0] not in STAND_INS:
            status, said[" ".join(words)], error = in_this_process(capsys, *words)
            assert status == 0, error
    assert len(said) == 5
    assert "LSTM" in said["compare out out#onnxruntime"]
    assert "ncnn" in said["explain out --node /cnn/conv0/Conv"]
    assert (tmp_path / "charts.html").is_file()
    assert (tmp_path / "crnn.collage").is_file()


def ms(seconds: float | None) -> str:
    assert seconds is not None
    return f"{seconds * 1e3:.3g}"


def test_the_figures_are_those_of_the_recorded_run(recorded: RunRecord) -> None:
    text = " ".join(TUTORIAL.split())
    document = to_json(recorded.document)
    alone = {row["name"]: row for row in document["baselines"]}
    measured_s, best_s = document["verify"]["measured_s"], alone["ncnn"]["measured_s"]
    assert f"`{ms(best_s)} → {ms(measured_s)} ms {best_s / measured_s:.2f}×`" in text
    costs = [ms(part.cost_s) for part in recorded.plan.partitions]
    assert f"{costs[0]} ms on ncnn, {float(costs[1]):.1f} ms and {float(costs[2]):.1f} ms on ONNX Runtime" in text
    assert f"costs {sum(one.cost_s for one in recorded.plan.transitions) * 1e6:.0f} µs" in text
    totals = [round(alone[name]["total_s"] * 1e3) for name in ("onnxruntime", "openvino")]
    assert f"predicted to take {totals[0]} and {totals[1]} ms; no time was left" in text
    [least] = [row for row in document["alternatives"] if row["kind"] == "search"]
    less, slower = 1 - least["total_s"] / recorded.plan.total_s, least["measured_s"] / measured_s - 1
    assert f"a sum of costs that is {less:.1%} less, yet measured end to end it is {slower:.1%} slower".replace("%", " %") in text


def test_the_other_sample_leaves_what_the_text_says() -> None:
    document = to_json(recorded_run("speech_transformer").document)
    [ncnn] = [row for row in document["baselines"] if row["name"] == "ncnn"]
    found = re.match(r"ncnn cannot take (\d+) of (\d+) nodes .*ncnn has no layer for (\w+)", ncnn["reason"])
    assert found is not None
    said = f"ncnn cannot take {found[1]} of its {found[2]} nodes, the first for want of a layer for `{found[3]}`"
    assert said in " ".join(TUTORIAL.split())


@pytest.mark.long
def test_what_measures_and_runs_does_so_on_a_small_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = {"crnn": "mini_mnist", "ncnn,onnxruntime,openvino": "onnxruntime", "5%": "900%"}
    said = {}
    for words in ours():
        if words[0] in STAND_INS:
            done = brief_collage(tmp_path / "home", *(small.get(word, word) for word in words))
            assert done.returncode == 0, done.stderr
            said[words[0]] = done.stdout
    assert "the whole" in said["run"]
    assert "the plan holds" in said["check"]
