"""Libraries of calls as toolchains: each candidate is one call for which the library has a function (BLAS, oneDNN, your own).

A sub-model of labelled calls enters; a package that says which functions to call leaves. A library never gets a part for which it has
no single function.
"""
