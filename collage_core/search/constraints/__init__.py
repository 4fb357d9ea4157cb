"""Pins, vetoes and cuts as filters over candidates, toolchains that exclude each other, and minimal conflicts among constraints.

What enters are constraints as a user writes them; what leaves says of every candidate whether it may be in a plan.
"""
