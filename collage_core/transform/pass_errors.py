"""`carried`: mistakes of a user, as one line that survives a pass.

TVM carries an error out of a pass as its class and its message, and knows none but the classes that are registered with it. So a hint
becomes part of the message, and a class of its own becomes `CollageError`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..errors import CollageError


def carried(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return `method`, which TVM calls, with every `CollageError` as TVM can carry it."""

    @wraps(method)
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            return method(*arguments, **named)
        except CollageError as error:
            hint = f" ({error.hint})" if error.hint else ""
            raise CollageError(error.message + hint, "", error.code) from error

    return called
