"""`Services`: what the routes and the sockets work with, made once with the app and kept in it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from flask import Flask, current_app

from .config import ServerConfig
from .models.store import ModelStore
from .runs.control import RunControl
from .runs.job_pool import JobPool
from .runs.recorded import Recorded
from .runs.run_factory import RunFactory
from .runs.run_queries import RunQueries
from .runs.run_queue import RunQueue
from .runs.service import RunService
from .runs.traces import TraceService
from .runs.what_if import WhatIfService

_KEY = "collage"


@dataclass(frozen=True)
class Services:
    """Everything behind the routes.

    Attributes:
        news: Set when a run has new events.
        on_close: Called first when all is closed.
    """

    config: ServerConfig
    models: ModelStore
    pool: JobPool
    recorded: Recorded
    runs: RunService
    line: RunQueue
    orders: RunFactory
    control: RunControl
    questions: RunQueries
    traces: TraceService
    what_if: WhatIfService
    news: threading.Event
    on_close: list[Callable[[], None]] = field(default_factory=list)

    def close(self) -> None:
        """Stop every run and process."""
        for action in self.on_close:
            action()
        self.traces.close()
        self.runs.close()
        self.line.close()


def make(config: ServerConfig) -> Services:
    """The services of one app; a spare process is being made when this returns."""
    news = threading.Event()
    models, pool = ModelStore(config), JobPool(config.pipeline)
    recorded = Recorded(pool.look_up)
    pool.start()
    runs, line = RunService(pool, recorded, news.set), RunQueue(config, pool)
    orders = RunFactory(models, pool, runs, line, news.set)
    return Services(
        config,
        models,
        pool,
        recorded,
        runs,
        line,
        orders,
        RunControl(runs, orders, line),
        RunQueries(runs, pool),
        TraceService(pool, runs, line),
        WhatIfService(runs, pool),
        news,
    )


def attach(app: Flask, services: Services) -> None:
    """Keep the services in `app`."""
    app.extensions[_KEY] = services


def services() -> Services:
    """The services of the app that answers this request."""
    return current_app.extensions[_KEY]
