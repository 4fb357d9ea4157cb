"""`Refusal`: a request that is answered with an error, and its HTTP status."""

from __future__ import annotations


class Refusal(Exception):
    """Raised where a request cannot be answered.

    Attributes:
        status: The HTTP status of the answer.
        message: What was found, with the value quoted, and what to do.
    """

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status, self.message = status, message
