"""Plans for many models, one run each, in one table: how long each toolchain takes alone, the plan, what it gains, and why not more.

Models and the options of a run enter; rows and files of them leave. A model of a stranger may crash the process that reads it, so each
run is in a child process. What was planned before is not planned again.
"""
