"""Prints how many files and functions of ours run for a partitioning and for a pin (``make footprint``), by room.

The name of a sample enters; a table leaves. Costs are mock ones, so nothing is measured, and what runs depends on the code alone. The
functions of this process are counted; its workers, which build and run the plan, are not. With ``--files`` each file is listed in the
order in which it is entered first, with its functions, as docs/architecture.md walks through them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from collage_core.api import partition  # noqa: E402
from collage_core.what_if.questions import WHAT_IF  # noqa: E402

TARGETS = ("onnxruntime", "openvino")
COSTS = {"targets": {"onnxruntime": {"op_s": 1, "decay": 0.9}, "openvino": {"op_s": 1.2, "decay": 0.8}}}

OURS = f"{ROOT / 'collage_core'}/"

Functions = dict[CodeType, None]
"""The functions that ran, in the order in which each began first."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="mini_mnist", help="a sample, or a model file (default: %(default)s)")
    parser.add_argument("--files", action="store_true", help="list the files in the order in which they are entered")
    options = parser.parse_args()
    ran, pinned = footprints(options.model)
    rows = {"partition": ran, "pin": pinned, "both": ran | pinned}
    print("\n".join(f"{name:<10} {count(functions)}" for name, functions in rows.items()))
    print()
    print("\n".join(by_room(rows["both"])))
    if options.files:
        for name in ("partition", "pin"):
            print(f"\n{name}")
            print("\n".join(listed(rows[name])))


def footprints(model: str) -> tuple[Functions, Functions]:
    """Return what ran to partition `model`, and to pin a node to a target other than that of the plan."""
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder, "costs.json")
        costs.write_text(json.dumps(COSTS))
        with recorded() as ran:
            record = partition(model, targets=TARGETS, costs=f"mock:{costs}")
        chosen = record.plan.partitions[0]
        other = next(target for target in TARGETS if target != chosen.target)
        with recorded() as pinned:
            WHAT_IF.ask(record, list(TARGETS), [{"kind": "pin", "nodes": list(chosen.nodes[:1]), "target": other}])
    return ran, pinned


@contextmanager
def recorded() -> Iterator[Functions]:
    """Record the functions of ours that begin, in every thread, until the end of the block."""
    functions: Functions = {}

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_new = event == "call" and code.co_filename.startswith(OURS) and code not in functions
        # Lambdas and comprehensions (`<lambda>`) are part of the function around them; what an import runs is no step of a run.
        if is_new and not code.co_name.startswith("<") and not is_import(frame):
            functions.setdefault(code)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield functions
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def is_import(frame: FrameType | None) -> bool:
    """Return whether a file of ours is being imported in `frame`, or in one that called it."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(OURS):
            return True
        frame = frame.f_back
    return False


def file_of(code: CodeType) -> str:
    return code.co_filename.removeprefix(OURS)


def count(functions: Functions) -> str:
    return f"{len({file_of(code) for code in functions}):>4} files {len(functions):>5} functions"


def by_room(functions: Functions) -> list[str]:
    """Return a line for each room, most functions first."""
    rooms = Counter(file_of(code).partition("/")[0] for code in functions)
    files = Counter(name.partition("/")[0] for name in {file_of(code) for code in functions})
    return [f"{room:<16} {files[room]:>4} files {number:>5} functions" for room, number in rooms.most_common()]


def listed(functions: Functions) -> list[str]:
    """Return a line for each file, in the order in which it is entered first, with its functions."""
    names: dict[str, list[str]] = {}
    for code in functions:
        names.setdefault(file_of(code), []).append(code.co_qualname)
    return [f"  {file}: {', '.join(of_file)}" for file, of_file in names.items()]


if __name__ == "__main__":
    main()
