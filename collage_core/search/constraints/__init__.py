"""Pins, vetoes and cuts, and targets that exclude each other.

Constraints as a user writes them enter; for every candidate it leaves whether it may be in a plan. No plan is searched here.
"""
