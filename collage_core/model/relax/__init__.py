"""Relax modules as models: a module of TVM enters, its regions leave as ONNX graphs that every toolchain can read.

A region is a part of a dataflow block without control flow or calls of unknown operators. A file of a user is read by a worker, since
that runs TVM, and a script even Python; a module that is in this process already is read here. Nothing is searched or compiled, except
for the reference.
"""
