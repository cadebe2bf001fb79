"""Replays exported plans on a GPU: patches addresses into parameters, and launches.

A *plan* is the list of kernel launches for an operation with given shapes, options and device; the helper process makes it once.
An *instance* of a plan has its own device buffers and launch parameters. Each plan and stream has one instance, so that work on two
streams shares nothing. Each plan, stream and CUDA graph capture has one more: a graph may be replayed at any time on any stream, so
its instance belongs to the graph and stays for the life of the process.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, Callable, Dict, Hashable, List, Optional, Tuple

from . import _child, _staging
from ._arrays import HOST, device_name
from ._call import Call
from ._cells import Cells
from ._cuda import UNFIT, DriverError, driver, version_text
from ._device import Device, Module, device
from ._errors import DataError, Error, ServerError, UnsupportedError
from ._plan import Buffers, Instance, Plan, Request
from ._recent import Recent

# The kinds of kernel image, best first. If the driver refuses one, the next is tried.
KINDS = ("cubin", "sm_90.ptx", "sm_80.ptx")
# Limits of the cache: plans, instances, and bytes of their device memory, without instances of captured graphs.
PLANS, PLAN_BYTES = 512, 1 << 30


class Replayer:
    """The plans of one device. Methods may be called from any thread."""

    def __init__(self, on: Device) -> None:
        self.device = on
        self.cells = Cells(on)
        self.refused: List[str] = []  # images that the driver refused, with reasons
        self.flags = self.cells.flags
        self._lock = threading.RLock()  # for everything except the hot path; acquired before an instance's lock
        self._plans: Recent[Plan] = Recent(PLANS, 0, lambda plan: None)
        self._instances: Recent[Instance] = Recent(PLANS, PLAN_BYTES, Instance.close)
        self._captured: Dict[Hashable, Instance] = {}
        self._modules: Dict[str, Module] = {}
        self._kernels = os.environ.get("ROBOCACHE_KERNELS", "")
        self._forced = self._kernels != ""
        self._reason = ""
        self._faults: List[Tuple[Buffers, int, int]] = []  # not raised yet: owner, cell address, fault
        on.pool.reclaim += [self.trim, _framework_caches]

    def run(
        self,
        key: Hashable,
        make_request: Callable[[], Request],
        pointers: Tuple[int, ...],
        stream: int,
        check: bool = False,
        keep: Any = None,
        counts: bool = False,
    ) -> Optional[Dict[str, int]]:
        """Queues an operation on a stream. Returns the counters of a voxelize if counts, else None.

        Args:
            key: equal for calls with equal plans: everything except addresses.
            make_request: returns the operation's request, without "align"; called if no plan has the key.
            pointers: device addresses, in the order of the request's tensors.
            check: wait, and raise errors that the kernels found.
            keep: objects that must live until the instance's next run.
            counts: wait, and return the counters of a voxelize.

        An error in values from an earlier call is raised here as a `DataError`, before any launch, except while the stream is being
        captured.
        """
        if self.flags[0]:
            self.raise_late(stream)
        wait = check or counts
        while True:
            instance = self._instances.young.get((key, stream))
            if instance is None:
                instance = self._instance(key, make_request, pointers, stream)
            elif pointers != instance.pointers:
                bits = 0
                for pointer in pointers:
                    bits |= pointer
                if bits & 15:
                    instance = self._instance(key, make_request, pointers, stream)
            state = b""
            with instance.lock:
                queued = instance.run(pointers, keep)
                if queued and counts:
                    state = instance.read_counts()
            if not queued:
                queued, state = self.run_apart(instance, pointers, keep, wait, counts)
            if queued:
                return self.waited(instance, state, counts) if wait else None

    def known(self, key: Hashable, stream: int) -> Optional[Instance]:
        """Returns the instance for a plan and stream, or None.

        The caller may use its method run if all addresses are multiples of 16 and flags[0] is 0. run returns False after the instance is
        closed.
        """
        return self._instances.young.get((key, stream))

    def run_apart(
        self, instance: Instance, pointers: Tuple[int, ...], keep: Any, wait: bool, counts: bool
    ) -> Tuple[bool, bytes]:
        """Runs an instance that Instance.run refuses: the stream is being captured, or is the default stream of another context.

        Returns whether it ran, and the bytes of the counters. A closed instance does not run.
        """
        if instance.closed:
            with self._lock:
                self._instances.discard(instance.place)
            return False, b""
        with self.device:
            number = instance.captured or self.device.capture(instance.stream)
            if number:
                if wait:
                    raise UnsupportedError(
                        "a stream that is being captured cannot be waited for: want no check=True and no counts of a "
                        "voxelize; errors come with a later call or with robocache.synchronize()"
                    )
                if not instance.captured:
                    shared = instance.buffers if instance.shared else None
                    instance = self._captured_instance(instance.place, instance.plan, instance.stream, number, shared)
            with instance.lock:
                if instance.closed:
                    return False, b""
                instance.queue(pointers, keep)
                return True, instance.read_counts() if counts else b""

    def waited(self, instance: Instance, state: bytes, counts: bool) -> Optional[Dict[str, int]]:
        """Waits for a run, raises its errors, and returns its counters or None. state has the counters' bytes."""
        self.device.synchronize(instance.stream)
        if self.flags[0]:
            self._collect(instance.stream)
            self._raise(instance)
        if not counts:
            return None
        child = _child.shared()
        with child.lock:
            reply, _, _ = child.request("counts", blob=state, target=self._target(child), request=instance.plan.request)
        found: Dict[str, int] = reply["counts"]
        return found

    def _instance(
        self, key: Hashable, make_request: Callable[[], Request], pointers: Tuple[int, ...], stream: int
    ) -> Instance:
        """Returns the instance for a plan and stream, or for the capture that the stream is in. It makes plan and instance if necessary."""
        aligns = tuple([pointer & 15 for pointer in pointers])
        aligned = not any(aligns)
        place: Hashable = (key, stream) if aligned else (key, stream, aligns)
        with self._lock:
            found = self._instances.find(place)
            if found is not None:
                if not found.closed:
                    return found
                self._instances.discard(place)
            plan_key: Hashable = key if aligned else (key, aligns)
            plan = self._plans.find(plan_key)
            if plan is None:
                request = make_request()
                named = zip(request["tensors"].items(), aligns)
                request["tensors"] = {name: dict(tensor, align=align) for (name, tensor), align in named}
                plan = self._plan(request)
                self._plans.put(plan_key, plan)
            number = self.device.capture(stream)
            if number:
                return self._captured_instance(place, plan, stream, number)
            instance = Instance(Buffers(plan, self.device, self.cells), self.device, stream, place)
            self._instances.put(place, instance, instance.buffers.size)
            return instance

    def _captured_instance(
        self, place: Hashable, plan: Plan, stream: int, number: int, shared: Optional[Buffers] = None
    ) -> Instance:
        with self._lock:
            found = self._captured.get((place, number))
            if found is None or found.closed:
                buffers = shared or Buffers(plan, self.device, self.cells)
                found = Instance(buffers, self.device, stream, place, number, shared is not None)
                self._captured[place, number] = found
            return found

    def _plan(self, request: Request) -> Plan:
        """Requests a plan, and tries kinds of images until the driver accepts one. The caller holds the lock."""
        while True:
            child = _child.shared()
            with child.lock:
                reply, payload, _ = child.request("plan", target=self._target(child), request=request)
                plan = Plan(reply["plan"], payload, request)
                for image in plan.images:
                    try:
                        plan.modules.append(self._module(child, image))
                    except DriverError as e:
                        if e.code not in UNFIT or not self._take_next(image["file"], str(e)):
                            raise
                        break
                else:
                    return plan

    def load(self, plan: Plan, child: Any) -> None:
        """Loads a plan's images; the plan is for the number that target returned."""
        with self._lock, child.lock:
            plan.modules += [self._module(child, image) for image in plan.images]

    def target(self, child: Any) -> int:
        """Returns the helper process's number for this device."""
        with self._lock, child.lock:
            return self._target(child)

    def _target(self, child: Any) -> int:
        name = ("target", self.device.ordinal, self._kernels)
        number = child.memo.get(name)
        if number is None:
            attributes = {str(a): v for a, v in self.device.attributes.items()}
            described = {"name": self.device.name, "driver": self.device.driver.number, "attributes": attributes}
            reply, _, _ = child.request("target", target=dict(described, kernels=self._kernels))
            number = child.memo[name] = reply["target"]
            self._reason = str(reply.get("reason", ""))
        return int(number)

    def _module(self, child: Any, image: Dict[str, Any]) -> Module:
        module = self._modules.get(image["hash"])
        if module is None:
            _, data, _ = child.request("image", hash=image["hash"])
            module = self._modules[image["hash"]] = self.device.load(data)
        return module

    def _take_next(self, file: str, why: str) -> bool:
        """Selects the next kind of image after a refused one, and reports whether there is a next kind."""
        self.refused.append("{}: {}".format(file, why))
        kind = next((i for i, k in enumerate(KINDS) if k in file), len(KINDS))
        if self._forced or kind + 1 >= len(KINDS):
            return False
        self._kernels = KINDS[kind + 1]
        return True

    def raise_late(self, stream: int) -> None:
        """Raises an error from earlier calls, unless the stream is being captured."""
        self.device.check_fork()
        if not self.device.capture(stream):
            self._collect(stream)
            self._raise(None)

    def _collect(self, stream: Optional[int]) -> None:
        """Reads and clears the fault cells.

        With a stream, it waits for that stream only. Kernels on other streams may still lower a fault, so a found fault is read again
        after 1 ms.
        """
        with self._lock, self.device as d:
            if stream is not None:
                d.synchronize(stream)
            self.flags[0] = 0
            found = self.cells.read()
            if found and stream is not None:
                time.sleep(0.001)
                found = self.cells.read()
            for cell, fault, owner in found:
                self.cells.reset(cell)
                self._faults.append((owner, cell, fault))

    def _raise(self, first: Optional[Instance]) -> None:
        """Raises one collected fault, the first one from the instance if it has one. The next call raises the next fault."""
        with self._lock:
            if not self._faults:
                return
            mine = [i for i, (owner, _, _) in enumerate(self._faults) if first is not None and owner is first.buffers]
            owner, cell, fault = self._faults.pop(mine[0] if mine else 0)
            self.flags[0] = 1 if self._faults else self.flags[0]
        try:
            error = self._explain(owner, cell, fault)
        except ServerError:
            with self._lock:
                self._faults.insert(0, (owner, cell, fault))  # so that the next helper process can explain it
                self.flags[0] = 1
            raise
        raise error

    def _explain(self, owner: Buffers, cell: int, fault: int) -> Error:
        """Returns the error for a fault, with the helper process's text."""
        plan = owner.plan
        if plan.explain is not None:
            return plan.explain({len(plan.arguments) + owner.addresses.index(cell): fault})
        request = plan.request or {}
        contents = {}
        for (name, tensor), pointer in zip(request["tensors"].items(), owner.user.pointers if owner.user else ()):
            if name.endswith("Offsets"):
                raw = self.device.read(pointer, 8 * tensor["shape"][0], self.device.stream)
                contents[name] = list(memoryview(raw).cast("q"))
        try:
            child = _child.shared()
            with child.lock:
                child.request("explain", target=self._target(child), request=request, fault=fault, contents=contents)
        except DataError as e:
            return e
        return DataError("{}: a bad value, fault {:#x}, which nobody can explain".format(request.get("op"), fault))

    def synchronize(self) -> None:
        """Waits for all work on the device, and raises an error from earlier calls."""
        self.device.synchronize()
        if self.flags[0]:
            self._collect(None)
            self._raise(None)

    def trim(self) -> bool:
        """Closes the instances without a captured graph, and reports whether there were any. Later calls make new ones."""
        with self._lock:
            return self._instances.clear()

    def check_fork(self) -> None:
        """Raises `ForkError` in a process that was forked after the driver was started."""
        self.device.check_fork()

    def forget(self) -> None:
        """Makes every call fail after a fork, because the forked process does not have the flag's pinned memory."""
        self._lock = threading.RLock()
        self.flags = memoryview(bytearray([1, 0, 0, 0])).cast("I")

    def info(self) -> Dict[str, Any]:
        """The device's name, kernels, and numbers of plans and instances, for robocache.info()."""
        with self._lock:
            return {
                "device": self.device.name,
                "kernels": self._reason,
                "refused": list(self.refused),
                "plans": len(self._plans),
                "instances": len(self._instances),
                "captured": len(self._captured),
                "bytes": self.device.pool.allocated(),
            }


def _framework_caches() -> bool:
    """Makes torch and CuPy return their cached memory to the driver; reports whether one of them is in use."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if cupy is not None:
        cupy.get_default_memory_pool().free_all_blocks()
    return torch is not None or cupy is not None


_lock = threading.Lock()
_replayers: Dict[int, Replayer] = {}


def replayer(ordinal: int) -> Replayer:
    """Returns the process's replayer for a device. If the device cannot be used, UnsupportedError has the reason."""
    found = _replayers.get(ordinal)
    if found is None:
        on = device(ordinal)
        with _lock:
            found = _replayers.get(ordinal)
            if found is None:
                found = _replayers[ordinal] = Replayer(on)
    return found


def run(call: Call, ordinal: int, check: bool = False) -> Optional[Dict[str, int]]:
    """Runs a call on a device, on the framework's current stream; arrays on the host are copied.

    Returns the counters of a voxelize that wants them, after waiting, else None.
    """
    one = replayer(ordinal)
    views = {**call.outputs, **call.inputs}
    if any(v.device == HOST for v in views.values()):
        return _staging.run(one, call, check)
    for name, view in views.items():
        if view.device != ordinal:
            got, want = device_name(view.device), device_name(ordinal)
            raise UnsupportedError(
                "{}: arrays on {} are not computed on {}: want backend={!r} or 'auto'".format(call.op, got, want, got),
                op=call.op, arg="backend", kind="wrong device", got=want, want=got,
            )  # fmt: skip
    key = (call.op, call.key, tuple([(n, v.dtype, v.shape, v.strides) for n, v in views.items()]))
    pointers = tuple([v.pointer for v in views.values()])
    keep = [v.array for n, v in views.items() if n.endswith("Offsets")]
    counts = one.run(
        key,
        lambda: call.request(call.described()),
        pointers,
        call.framework.stream(ordinal),
        check,
        keep,
        call.counts,
    )
    call.framework.queued(views.values(), ordinal)
    return counts


def info() -> Dict[str, Any]:
    """Returns the driver's path and version, the number of devices, and facts about each used device, for robocache.info()."""
    drv = driver()
    used = {device_name(n): one.info() for n, one in sorted(_replayers.items())}
    return {"library": drv.path, "driver": version_text(drv.number), "devices": drv.devices, "used": used}


def synchronize() -> None:
    """Waits for all used devices, and raises an error from earlier calls."""
    try:
        for one in list(_replayers.values()):
            one.synchronize()
    finally:
        jax = sys.modules.get(__package__ + "._jax")
        if jax is not None:
            jax.framework.let_go()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    for one in _replayers.values():
        one.forget()


os.register_at_fork(after_in_child=_after_fork)
