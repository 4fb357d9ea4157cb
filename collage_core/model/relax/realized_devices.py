"""`with_realized_devices`: hints at devices as types of tensors, by TVM's own `RealizeVDevice`.

A module enters. One that has a hint at another device than the processor leaves with a `VDevice` in the types of all that the hint reaches,
and `to_vdevice` where two devices differ; any other leaves as it was.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from ...errors import CollageError


def with_realized_devices(module: tvm.IRModule) -> tvm.IRModule:
    """Return `module` with the devices of its hints realized, where there is a hint at another device than the processor.

    Raises:
        CollageError: the hints clash with the types, or name a device that TVM has no target for.
    """
    hinted = _hinted(module)
    if all(device.dlpack_device_type() == tvm.cpu().dlpack_device_type() for device in hinted):
        return module
    try:
        infos = list(module.global_infos["vdevice"]) if "vdevice" in module.global_infos else []
        for device in hinted:
            kinds = ("llvm", "c") if device.type == "cpu" else (device.type,)
            if not any(str(info.target.kind.name) in kinds and int(info.vdevice_id) == device.index for info in infos):
                infos.append(relax.VDevice(tvm.target.Target(kinds[0]), device.index, "global"))
        global_infos = {**module.global_infos, "vdevice": infos}
        known = tvm.IRModule(dict(module.functions_items()), attrs=module.attrs, global_infos=global_infos)
        return relax.transform.RealizeVDevice()(known)
    except Exception as error:  # any exception of TVM is its reason
        reason = next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
        raise CollageError(
            f"the devices that the module hints at cannot be realized: {reason[:300]}",
            "mend the hint_on_device calls, or the VDevices in the types",
            "device_conflict",
        ) from error


def _hinted(module: tvm.IRModule) -> list[Any]:
    """Return the devices of all hints, each once, in order."""
    devices: dict[tuple[str, int], Any] = {}

    def visit(expr: Any) -> None:
        if isinstance(expr, relax.Call) and getattr(expr.op, "name", "") == "relax.hint_on_device":
            device = tvm.device(int(expr.attrs.device_type), int(expr.attrs.index))
            devices.setdefault((device.type, device.index), device)

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return list(devices.values())
