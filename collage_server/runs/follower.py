"""`follow`: shows a run that another server on the same folder carries out, by reading its journal.

It takes all that the other server writes into the run's folder, and gives events for the pages of this server. Nothing is written.
When the other server dies, the run has failed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict

from ..http.error_answers import Problem
from ..messages.live import Numbered, RunStateChanged
from ..messages.runs import RunSnapshot
from . import run_store
from .journal import Reader
from .live_run import LiveRun
from .state import ENDED

POLL_S = 0.25


def follow(run: LiveRun, is_over: Callable[[], bool], forget: Callable[[], None]) -> None:
    """Read the journal of `run` in a thread of its own until the run has ended or `is_over`; then call `forget`."""
    threading.Thread(target=_poll, args=(run, is_over, forget), name=f"collage-follow-{run.snapshot.id}", daemon=True).start()


def _poll(run: LiveRun, is_over: Callable[[], bool], forget: Callable[[], None]) -> None:
    held: list[Numbered] = []
    pause = threading.Event()
    seq = run.snapshot.seq
    with closing(Reader(run.folder)) as reader:
        while not is_over():
            try:
                final = run_store.final_snapshot(run.snapshot.id)
            except Problem:
                break
            held += (item for item in reader.items() if item.seq > seq)
            run.follow(_due(held, final), final)
            if final is not None:
                break
            pause.wait(POLL_S)
    forget()


def _due(held: list[Numbered], final: RunSnapshot | None) -> Iterable[Numbered]:
    """Take out of `held` what can be told now; the end is told only with the `final` snapshot."""
    if final is None:
        end = next((index for index, item in enumerate(held) if _is_end(item)), len(held))
        due, held[:] = held[:end], held[end:]
        return due
    last = {"type": "RunStateChanged", **asdict(RunStateChanged(final.state, final.error, artifact=final.artifact))}
    known = [item for item in held if item.seq <= final.seq]
    return known if known and known[-1].seq == final.seq else [*known, Numbered(final.seq, last, final.now_s)]


def _is_end(item: Numbered) -> bool:
    return item.event["type"] == "RunStateChanged" and item.event.get("state") in ENDED
