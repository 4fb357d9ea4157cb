"""Runs `collage` and stops it at given moments: ``held_run.py MOMENT=ACTION,… ARGUMENT…``, for tests that kill a run at known points.

A moment is ``PHASE`` (it begins), ``PHASE:N`` (its N-th trial is about to begin), ``costed:N`` (the N-th cost has come) or
``repetition:N`` (a trial that was made N times already is about to begin). The action is ``die`` (by SIGKILL), or the stage at which
the toolchain `Holds` stops: ``build``, ``assemble`` or ``run``. ``over=ACTION`` ends the budget as soon as that toolchain has stopped
there, and not before; ``brief=yes`` has the run measure briefly (`brief_runs`). The label of each first trial that begins is appended
to the file ``trials`` in the folder that `HOLD` names.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from collage_test_toolchains import HOLD

from collage_core.cli import terminal
from collage_core.cli.main import main
from collage_core.events import CandidateBuilding, CandidateCosted, Event, PhaseStarted
from collage_core.pipeline.loop.budget import Budget

FOLDER = Path(os.environ[HOLD])
ACTIONS = dict(pair.split("=") for pair in sys.argv[1].split(","))


class Stopping(terminal.Progress):
    """Listens as the command line does, and stops the run at each moment."""

    def __init__(self, *, quiet: bool = False):
        super().__init__(quiet=quiet)
        self.phase = ""
        self.counts: dict[str, int] = {}

    def __call__(self, event: Event) -> None:
        super().__call__(event)
        action = ACTIONS.get(self._name(event))
        if action == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if action is not None:
            (FOLDER / action).write_text("1")

    def _name(self, event: Event) -> str:
        if isinstance(event, PhaseStarted):
            self.phase = event.phase
            return event.phase
        if isinstance(event, CandidateBuilding) and event.repetition > 1:
            return f"repetition:{event.repetition - 1}"
        if isinstance(event, CandidateBuilding):
            with (FOLDER / "trials").open("a") as trials:
                trials.write(f"{event.label}\n")
            return self._counted(self.phase)
        return self._counted("costed") if isinstance(event, CandidateCosted) else ""

    def _counted(self, what: str) -> str:
        self.counts[what] = self.counts.get(what, 0) + 1
        return f"{what}:{self.counts[what]}"


if __name__ == "__main__":
    terminal.Progress = Stopping  # type: ignore[misc]
    if "over" in ACTIONS:
        Budget.is_over = lambda budget: (FOLDER / f"{ACTIONS['over']}.held").exists()  # type: ignore[method-assign]
    main(sys.argv[2:])
