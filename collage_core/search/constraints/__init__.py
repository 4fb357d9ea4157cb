"""Pins, vetoes and cuts, targets that exclude each other, and minimal conflicts among constraints.

Constraints as a user writes them enter; for every candidate it leaves whether it may be in a plan. No plan is searched here, except to
find a conflict.
"""
