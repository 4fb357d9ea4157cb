"""TVM as toolchains: import, fusion, packing, schedules, tuning, and what TVM itself would partition.

A sub-model enters; a package of compiled kernels leaves. TVM is imported only when one of them is asked for, and never for its rules.
"""
