"""Every message and resource between the server and the page: one dataclass each, in the files of `messages` or among the engine's records.

The TypeScript types in ``frontend/src/data/protocol.ts`` are generated from them (``make protocol``); a test fails when
they are stale. Pipeline events are the classes of `collage_core.events`, carried as they are.

Live runs, over Socket.IO (namespace ``/``):

* client → server ``subscribe`` `Subscribe`, to the snapshot of a run or to its events; answered (acknowledgement) with `Subscribed` or
  ``{"error": ApiError}``. A second time it goes on from the `Subscribe.after` that it names then.
* server → client ``change`` `Change`: what changed of the snapshot since the one before.
* server → client ``batch`` `Batch`: numbered events.
* client → server ``unsubscribe`` `Subscribe`; answered in the same way.

Of either kind come at most about 20 messages a second. The client answers each with its acknowledgement (with no value); until then only a
small window of them is sent.

Changes are for a client that shows a run, such as the page; the server alone makes a snapshot from events. A change is JSON Patch
(RFC 6902) for the snapshot of number `Change.after`, and the next change is for its result, whatever happened to the run meanwhile:
a client that is slow gets fewer and larger ones. A client that subscribes with the number of the newest snapshot gets what changes
from then on; with any other number it gets the whole snapshot first. So it may come late, or return after its connection broke, at
any time. Where a change is for another snapshot than the client has, the client drops it and subscribes again. The change that says
``done``, ``failed`` or ``cancelled`` brings the final plan with its costs and transitions.

Events are for a client that tells what happened, such as the page's log. Numbers ascend and may skip: where there are more thinnable events
than can be drawn, some are left out, and nothing else is. A client that is too slow for the decisions, comes late or returns
(`Subscribe.after` says what it has seen) gets what the server still holds; if that is not all, `Batch.gap` is true and `Batch.after`
beyond what the client has. Then ``GET /api/v1/runs/<id>/log`` and ``…/events`` have the decisions that it missed, and
``GET /api/v1/runs/<id>`` the snapshot: `RunSnapshot.seq` says up to which event it is. It holds the final plan when the run has ended
(`RunStateChanged`).

``POST /api/v1/runs`` with a `RunRequest.base` waits a moment for the
search, so its answer is mostly that snapshot already.
"""

from __future__ import annotations

from typing import Any

from collage_core import events
from collage_core.documents.model_view import ModelCard, WeightValues
from collage_core.documents.node_times import InsideTimes
from collage_core.documents.two_plans import CompareRequest, TwoPlans
from collage_core.what_if.questions import CANDIDATES, QUESTIONS, WHAT_IF

from .messages import candidates, installation, kept, live, models, requests, runs

EVENTS = (
    events.PhaseStarted,
    events.PhaseEnded,
    events.StepStarted,
    events.CandidatesFound,
    events.CandidateBuilding,
    events.CandidateCosted,
    events.SearchingBody,
    events.PlanConsidered,
    events.SearchProgress,
    events.PlanImproved,
    events.ComparingPlans,
    events.BaselineMeasured,
    events.TargetAlone,
    events.PlanDecided,
    events.Verified,
    events.Note,
)
"""The pipeline's events, as they travel: each is its fields and ``type``, the name of its class."""

PARTS = (live, installation, models, requests, runs, candidates, kept)
"""The files of `messages`, in the order in which the page's types stand."""

ASKED = tuple(question for question in QUESTIONS if question.method is not None)
"""The questions about a run that the web API answers."""

SENT = {WHAT_IF: candidates.WhatIf, CANDIDATES: CANDIDATES.answer}
"""Question → the type that its answer travels as, of those whose answer is not `ANSWERS`."""

ANSWERS = (*(question.answer for question in ASKED if question not in SENT), InsideTimes)
"""Records of the engine about a run; they travel as their fields behind ``run``, the run's id."""

REQUESTS: tuple[Any, ...] = tuple(dict.fromkeys(question.request for question in ASKED if question.method == "POST"))
"""Records of the engine that are the bodies of requests."""

RECORDS: tuple[type, ...] = (CANDIDATES.answer, ModelCard, WeightValues, *REQUESTS, CompareRequest, TwoPlans)
"""Records of the engine that travel as they are."""
