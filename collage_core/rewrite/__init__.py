"""Phase 4: turns a `Plan` and its model into one Relax module, an artifact on disk, and files for other viewers.

A plan and the model that it was made for enter; a folder that `runtime` runs leaves. Nothing here searches or measures.
"""
