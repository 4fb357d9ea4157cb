"""Measuring on other machines: `collage worker` on each, TVM's RPC tracker between, `FleetRunner` on the machine that asks.

What enters a `FleetRunner` are trials; what leaves are records, as from a `TrialRunner`. What a worker sends is JSON that is
checked, never a pickle. TVM is imported in processes of their own alone.
"""
