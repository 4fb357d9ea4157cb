"""The two value policies of a run: whether NaN and infinities must be right, too (docs/values.md).

Rules and comparisons read the policy; nothing is computed here. Whatever it is, finite values of the reference must be right.
"""

from __future__ import annotations

FINITE = "finite"
"""Any value is right where the reference is NaN or infinite."""
ANY = "any"
"""NaN and infinities must be where the reference has them."""

VALUE_POLICIES = (FINITE, ANY)
