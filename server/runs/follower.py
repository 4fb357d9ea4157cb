"""`follow`: a run that another server on the same folder carries out, heard of through its journal.

What enters is what that server writes into the run's folder; what leaves are events for the pages of this one. Nothing is
written, and when the other server dies the run has failed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict

from ..http.errors import Problem
from ..messages.live import Numbered, RunStateChanged
from ..messages.runs import RunSnapshot
from . import store as run_store
from .journal import Reader
from .live_run import LiveRun
from .state import ENDED

LOOK_S = 0.25


def follow(session: LiveRun, is_over: Callable[[], bool], forget: Callable[[], None]) -> None:
    """Tell `session` what happens, in a thread of its own, until the run has ended or `is_over`; then `forget` is called."""
    threading.Thread(target=_work, args=(session, is_over, forget), name=f"collage-follow-{session.snapshot.id}", daemon=True).start()


def _work(session: LiveRun, is_over: Callable[[], bool], forget: Callable[[], None]) -> None:
    held: list[Numbered] = []
    pause = threading.Event()
    seq = session.snapshot.seq
    with closing(Reader(session.folder)) as reader:
        while not is_over():
            try:
                final = run_store.settled(session.snapshot.id)
            except Problem:
                break
            held += (item for item in reader.items() if item.seq > seq)
            session.hear(_due(held, final), final)
            if final is not None:
                break
            pause.wait(LOOK_S)
    forget()


def _due(held: list[Numbered], final: RunSnapshot | None) -> Iterable[Numbered]:
    """What can be told of `held`, which keeps the rest: the end is told when the run's last words can be had."""
    if final is None:
        place = next((place for place, item in enumerate(held) if _is_end(item)), len(held))
        due, held[:] = held[:place], held[place:]
        return due
    last = {"type": "RunStateChanged", **asdict(RunStateChanged(final.state, final.error, artifact=final.artifact))}
    known = [item for item in held if item.seq <= final.seq]
    return known if known and known[-1].seq == final.seq else [*known, Numbered(final.seq, last, final.now_s)]


def _is_end(item: Numbered) -> bool:
    return item.event["type"] == "RunStateChanged" and item.event.get("state") in ENDED
