"""Every message and resource between the server and the page: one dataclass each, in the files of `messages`.

The TypeScript types in ``frontend/src/data/protocol.ts`` are generated from them (``make protocol``); a test fails when
they are stale. Pipeline events are the classes of `collage_core.events`, carried as they are.

Live runs, over Socket.IO (namespace ``/``):

* client → server ``subscribe`` `Subscribe`; answered (acknowledgement) with `Subscribed` or ``{"error": ApiError}``.
* server → client ``batch`` `Batch`: numbered events, at most about 20 messages a second. The client answers each with its
  acknowledgement (with no value); until then only a small window of batches is sent.
* client → server ``unsubscribe`` `Subscribe`; answered in the same way.

Numbers ascend and may skip: where there are more thinnable events than a page can draw, some are left out, and nothing
else is. A client that is too slow for the decisions, comes late or returns (`Subscribe.after` says what it has seen)
gets what the server still holds; if that is not all, `Batch.gap` is true and `Batch.after` beyond what the client has.
Then it fetches ``GET /api/v1/runs/<id>`` (`RunSnapshot.seq` says up to which event it is) and drops queued events up to
that number.

When a run ends (`RunStateChanged` with ``done``, ``failed`` or ``cancelled``) the client fetches the snapshot: it holds
the final plan with its costs and transitions. ``POST /api/v1/runs`` with a `RunRequest.base` waits a moment for the
search, so its answer is mostly that snapshot already.
"""

from __future__ import annotations

from collage_core import events

from .messages import (
    bodies,
    candidates,
    inside,
    installation,
    kept,
    live,
    models,
    other_plans,
    other_terms,
    requests,
    runs,
    shapes,
    undecided,
)

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
    events.PlanDecided,
    events.Verified,
    events.Note,
)
"""The pipeline's events, as they travel: each is its fields and ``type``, the name of its class."""

PARTS = (live, installation, models, requests, runs, candidates, other_terms, other_plans, undecided, inside, shapes, bodies, kept)
"""The files of `messages`, in the order in which the page's types stand."""
