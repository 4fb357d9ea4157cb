"""Runs our own module-level functions in warm child processes that may crash, hang or be killed without harm.

What enters is a function and picklable arguments; what leaves is its result, its own mistake (`CollageError`), or a
`WorkerError` that says how the child failed. A child never shares the parent's sockets, terminal or standard output.
"""

from .errors import WorkerDied, WorkerError, WorkerFailed, WorkerTimeout
from .report import report
from .worker import Pool, Worker

__all__ = ["Pool", "Worker", "WorkerDied", "WorkerError", "WorkerFailed", "WorkerTimeout", "report"]
