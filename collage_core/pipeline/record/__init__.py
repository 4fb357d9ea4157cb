"""The record of a run, as a file and as documents: everything that the run found out.

The results of a run enter; plain data leaves that is saved, checked when it is read back, and explained where no toolchain is installed.
Nothing is computed anew here.
"""
