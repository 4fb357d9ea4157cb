"""`ResultFile`: what a long benchmark has measured so far, in a JSON file, so that an interrupted run goes on where it ended.

Results enter one by one, under a key each; the file is written anew after each, and holds for one machine and its versions. The
options of the command line that belong to it are added here, too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from collage_core.cost.database.records import machine_id

SCHEMA = 1


class Failing(Protocol):
    """A dataclass with a `failure`: why there is no figure; empty where there is one."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def failure(self) -> str: ...


R = TypeVar("R", bound=Failing)


class ResultFile(Generic[R]):
    """Keeps the results of all jobs.

    Args:
        path: None to keep nothing.
        machine: What the results hold for.
        read: Makes a result of what `asdict` made of it.
    """

    def __init__(self, path: Path | None, machine: str, read: Callable[[Mapping[str, Any]], R]):
        self.path = path
        self.machine = machine
        self.results: dict[str, R] = {}
        self._read = read

    def begin(self, resumes: bool) -> None:
        """Read an interrupted run's results where the user wants to go on.

        Raises:
            ValueError: as `resume`; or there is a file already, and the user does not want to go on.
        """
        if resumes:
            self.resume()
        elif self.path is not None and self.path.exists():
            raise ValueError(f"{str(self.path)!r} is there already: add --resume to go on with it, or remove it")

    def resume(self) -> None:
        """Read the results of an interrupted run, if there are any; those that failed are left out, so that they are measured again.

        Raises:
            ValueError: the file holds no such results, or those of another machine.
        """
        if self.path is None:
            raise ValueError("--resume needs --json FILE, the file to go on with")
        if not self.path.exists():
            return
        try:
            data = json.loads(self.path.read_text())
            schema, machine, kept = data["schema"], data["machine"], data["results"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{str(self.path)!r} cannot be read as results of this benchmark: {error}") from error
        if (schema, machine) != (SCHEMA, self.machine):
            raise ValueError(f"{str(self.path)!r} holds results of {machine!r}, schema {schema}; this is {self.machine!r}, schema {SCHEMA}")
        found = {key: self._read(value) for key, value in kept.items()}
        self.results = {key: result for key, result in found.items() if not result.failure}

    def add(self, key: str, result: R) -> None:
        """Add a result, and write the file anew."""
        self.results[key] = result
        if self.path is None:
            return
        kept = {key: asdict(result) for key, result in self.results.items()}
        beside = self.path.with_name(f".{self.path.name}.new")
        beside.write_text(json.dumps({"schema": SCHEMA, "machine": self.machine, "results": kept}, indent=1) + "\n")
        beside.replace(self.path)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which file keeps the results, and where the tables go."""
    parser.add_argument("--json", metavar="FILE", type=Path, help="keep every result there as soon as it is known")
    parser.add_argument("--resume", action="store_true", help="go on with the results in the file of --json")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write what is printed there too")


def this_machine(packages: Sequence[str]) -> str:
    """Return the machine and the versions of `packages` that results hold for."""
    return ", ".join([machine_id(), *(f"{name} {metadata.version(name)}" for name in packages)])
