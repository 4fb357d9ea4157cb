"""From the most expensive partition to outputs elsewhere: why, a veto, the plan kept and exported, and run by the runtime alone."""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from collage_core.model.reference.accuracy import output_errors
from collage_core.pipeline.discover import load_as_planned
from collage_core.rewrite.plan import read_plan
from tests.helpers.runtime_environment import runtime_python

from .conftest import OpenPage
from .explorer import Explorer, download, http, show_tab

SAMPLE = "speech_lstm"
"""Its targets need no TVM, so that an artifact of it needs none either."""

RUN = """
import sys

import numpy as np

from collage_core import open_artifact

with open_artifact(sys.argv[1]) as artifact:
    np.savez(sys.argv[3], **artifact.run(dict(np.load(sys.argv[2]))))
foreign = {"flask", "onnx", "scipy", "tvm", "collage_server", "sqlalchemy"} & set(sys.modules)
assert not foreign, foreign
"""


@pytest.mark.long
def test_from_the_most_expensive_partition_to_its_outputs_elsewhere(explorer: Explorer, open_page: OpenPage, tmp_path: Path) -> None:
    watched = open_page(f"{explorer.address}?sample={SAMPLE}")
    page = watched.page
    plan = http.get(f"{explorer.address}api/v1/runs/recorded-{SAMPLE}", timeout=60).json()["plan"]
    dearest = max(plan["partitions"], key=lambda part: part["cost_s"])
    show_tab(page, "Partitions")
    page.locator("table.partitions tbody tr").first.get_by_role("button").click()
    watched.idle()
    why = page.get_by_role("tabpanel", name="Why")
    runs = re.compile(rf"^{dearest['target']} runs (it|the partition of \d+ nodes that holds it) in [\d.]+ m?s")
    expect(why.get_by_text(runs)).to_be_visible()

    watched.press("v")
    expect(page.locator(".decision")).to_contain_text(re.compile(r"What if: .*, against the kept plan"))
    watched.press("k")
    run = re.search(r"run=([\w-]+)", page.url)
    assert run is not None
    kept = http.get(f"{explorer.address}api/v1/runs/{run[1]}", timeout=60).json()["plan"]["partitions"]
    assert not [part for part in kept if part["target"] == dearest["target"] and set(part["nodes"]) & set(dearest["nodes"])]

    page.get_by_role("button", name="Export", exact=True).click()
    native = page.get_by_role("radio", name="The toolchain's own files")
    assert native.is_disabled() == (len(kept) > 1), "several toolchains have no files of one"
    page.keyboard.press("Escape")
    with zipfile.ZipFile(download(page)) as packed:
        packed.extractall(tmp_path)
    manifest = json.loads((tmp_path / "artifact" / "artifact.json").read_text())
    assert manifest["form"] in ("pieces", "native")

    model = load_as_planned(read_plan(tmp_path / "plan.json"), SAMPLE)
    given = model.seeded_inputs()
    np.savez(tmp_path / "given.npz", **given)
    used = {entry["target"].partition("@")[0] for entry in manifest["partitions"]} - {"host"}
    python, told = runtime_python(tmp_path, used), [str(tmp_path / name) for name in ("artifact", "given.npz", "made.npz")]
    ran = subprocess.run([str(python), "-I", "-c", RUN, *told], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    errors = output_errors(dict(np.load(tmp_path / "made.npz")), model.reference(given))
    assert max(errors.values()) <= 1e-3
