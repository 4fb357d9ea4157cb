"""Session files: a model, its runs and what their user wrote of them in one file, for a colleague who may have no toolchain.

Models and runs of the store enter and a file leaves, or the other way round. A file of a stranger is read in worker processes
(`server.worker.session_files`), never here, and nothing of it enters the store before all of it was checked.
"""
