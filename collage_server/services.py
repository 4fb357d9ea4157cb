"""`Services`: what the routes and the sockets work with, made once with the app and kept in it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from flask import Flask, current_app

from .config import ServerConfig
from .model_store import ModelStore
from .process_pool import ProcessPool
from .runs.control import RunControl
from .runs.dry_runs import DryRuns
from .runs.factory import RunFactory
from .runs.queue import RunQueue
from .runs.recorded import Recorded
from .runs.service import RunService
from .runs.traces import TraceService

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
    pool: ProcessPool
    recorded: Recorded
    runs: RunService
    queue: RunQueue
    factory: RunFactory
    dry_runs: DryRuns
    control: RunControl
    traces: TraceService
    news: threading.Event
    on_close: list[Callable[[], None]] = field(default_factory=list)

    def close(self) -> None:
        """Stop every run and process."""
        for action in self.on_close:
            action()
        self.traces.close()
        self.runs.close()
        self.queue.close()


def make(config: ServerConfig) -> Services:
    """Make the services of one app; a worker process is being started when this returns."""
    news = threading.Event()
    models, pool = ModelStore(config), ProcessPool(config.engine)
    pool.start()
    recorded = Recorded(config, pool)
    runs, queue = RunService(pool, recorded, news.set), RunQueue(config, pool)
    factory = RunFactory(config, models, pool, runs, queue, news.set)
    dry_runs = DryRuns(config, pool, factory, queue)
    control = RunControl(config, runs, factory, queue, dry_runs)
    return Services(config, models, pool, recorded, runs, queue, factory, dry_runs, control, TraceService(config, pool, runs, queue), news)


def attach(app: Flask, services: Services) -> None:
    """Keep the services in `app`."""
    app.extensions[_KEY] = services


def services() -> Services:
    """Return the services of the app that answers this request."""
    return current_app.extensions[_KEY]
