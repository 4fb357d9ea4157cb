"""Value contracts: which calls a toolchain computes right, by tables that are measured, and which it takes and computes wrong.

A graph and a node enter; a reason in words leaves, empty where the call is right. No toolchain's library is imported.
"""
