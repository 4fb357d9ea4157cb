"""Phase 4: a `Plan` and its model become one Relax module, an artifact on disk, and files for other viewers.

What enters is a plan and the model that it was made for; what leaves is a folder that `runtime` runs. Nothing here searches or
measures.
"""
