"""Device planning as TVM's RFC 38 describes it: which device computes each node and holds each tensor, and where copies are.

A `DeviceProblem` enters: nodes, tensors and the annotations of a user, as plain data. A `DevicePlan` leaves, in which every tensor has
exactly one virtual device. Nothing here builds, times or searches: a node that may be on several devices is the search's to decide.
"""
