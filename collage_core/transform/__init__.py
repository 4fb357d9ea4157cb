"""Collage inside TVM: a module pass that partitions Relax modules, and the toolchains as codegens of TVM.

A Relax module enters; one in which every partition of a toolchain is a function of that codegen leaves, as TVM's own partitioning
writes it. Importing this package registers ``relax.ext.<target>`` for every toolchain, and what an exported library needs to run.
Toolchains build in worker processes; the functions of a built module run in this one. Nothing here chooses a plan: the pipeline does.
"""

from tvm_ffi.error import register_error

from ..errors import CollageError
from ..toolchains.tvm.tvm_build import cpu_target
from .codegens import register_codegens
from .collage_partition import CollagePartition
from .cpu_pipeline import ScheduleRest, cpu_pipeline
from .hooks import RunHooks, RunTirHooks

register_error(CollageError)  # else an error in a pass leaves it as another one, without its class
register_codegens()

__all__ = ["CollagePartition", "RunHooks", "RunTirHooks", "ScheduleRest", "cpu_pipeline", "cpu_target"]
