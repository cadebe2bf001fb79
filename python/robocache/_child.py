"""The helper process: the robocache binary, which plans, reads, decodes and computes on the CPU.

The first call that needs it starts it, as ``robocache serve`` on one end of a socket pair. It ends with this process. A message is a
frame: a header with 16 bytes (the magic, then the size of the JSON, the size of the blob and the number of file descriptors, each a
little-endian u32), the JSON object, the blob. One request is processed at a time, and each has one reply.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from ._errors import ForkError, OutOfMemoryError, ServerError, VersionError, from_reply
from ._version import __version__

PROTOCOL = 1
MAX_JSON = 64 << 20
MAX_BLOB = 1 << 30
KEEP = 128 << 20  # memory that the arena keeps between calls, bytes

_HEADER = struct.Struct("<4sIII")
_MAGIC = b"RCF1"
_LAST_LINES = 40
_READ = 1 << 16
_CONTROL = socket.CMSG_SPACE(4)
_CLOEXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode

Reply = Tuple[Dict[str, Any], bytes, int]


def located(name: str) -> str:
    """Returns a path that is valid for the helper process: absolute, except that a URL or a dataset's id is unchanged."""
    identity = re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", name) and not os.path.lexists(name)
    return name if "://" in name or identity else os.path.abspath(name)


def located_all(given: Any) -> List[str]:
    """Returns one path or several as a list of located paths."""
    return [located(os.fspath(p)) for p in ([given] if isinstance(given, (str, os.PathLike)) else given)]


def find_binary() -> str:
    """Returns the path of the binary: from ROBOCACHE_BINARY, else in this package, else on PATH. Else it raises ServerError."""
    given = os.environ.get("ROBOCACHE_BINARY")
    if given:
        found = shutil.which(given)
        if found is None:
            raise ServerError("ROBOCACHE_BINARY names {!r}, which is no program that can be run".format(given))
        return found
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "robocache")
    if os.path.exists(own):
        # Not from PATH: that may be a script that runs this package.
        if shutil.which(own) is None:
            raise ServerError("{} is there and cannot be run: want the permission to execute it".format(own))
        return own
    found = shutil.which("robocache")
    if found is None:
        raise ServerError("no robocache binary: want ROBOCACHE_BINARY to name one, or {}, or one on PATH".format(own))
    return found


def patience() -> float:
    """Returns how long an idle helper process may take to reply, seconds: ROBOCACHE_TIMEOUT, by default 300."""
    given = os.environ.get("ROBOCACHE_TIMEOUT") or "300"
    try:
        seconds = float(given)
        if not 0 < seconds < 1e9:
            raise ValueError
    except ValueError:
        raise ServerError("ROBOCACHE_TIMEOUT: got {!r}, want seconds, more than 0".format(given)) from None
    return seconds


class _Broken(Exception):
    """A reply that does not follow the protocol."""


class Child:
    """One helper process and the connection to it. Calls may come from any thread of the process that made it.

    Attributes:
        lock: held during each request. A caller may hold it for several requests that belong together, such as those that use the arena.
        memo: facts about this helper process for callers, such as its numbers for targets.
        busy: a request is in progress. A thread that holds the lock and reads True is in a destructor, and must not send a request.

    max_memory is the process's memory limit, bytes or text such as "2GiB". Default: ROBOCACHE_MAX_MEMORY and the system's limits. decoder is the
    GPU for its video decoders, such as "cuda:0", or "cpu". ROBOCACHE_DEVICE replaces it.
    """

    def __init__(self, max_memory: str = "", decoder: str = "") -> None:
        self.lock = threading.RLock()
        self.memo: Dict[Any, Any] = {}
        self.hello: Dict[str, Any] = {}
        self.pid = os.getpid()
        self.busy = False
        self._why = "the helper process of robocache was closed"
        self._arena: Optional[mmap.mmap] = None
        binary = find_binary()
        number = "off" if decoder == "cpu" else decoder.replace("cuda:", "")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        log = None
        try:
            log = _log_file()
            # In its own session, so that Ctrl-C in the terminal reaches only this process.
            self._process = subprocess.Popen(
                [binary, "serve", "--fd", str(theirs.fileno())] + (["--max-memory", max_memory] if max_memory else []),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                close_fds=True,
                start_new_session=True,
                env=dict({"ROBOCACHE_DEVICE": number}, **os.environ) if decoder else None,
            )
        except BaseException as e:
            ours.close()
            if log is not None:
                os.close(log)
            if isinstance(e, OSError):
                raise ServerError("cannot start {}: {}".format(binary, e)) from e
            raise
        finally:
            theirs.close()
        self._socket = ours
        self._patience = patience()
        ours.settimeout(self._patience)
        self._log = log
        # Runs once: in close, when this object is collected, or when the interpreter ends.
        self._end = weakref.finalize(self, _end, self._process, ours, log, self.pid)
        self._greet(binary)

    def _greet(self, binary: str) -> None:
        try:
            self.hello = self.request("hello", protocol=PROTOCOL, version=__version__)[0]
        except BaseException:
            self.close()
            raise
        theirs = str(self.hello.get("version", ""))
        if theirs != __version__ and "dev" not in theirs and "dev" not in __version__:
            self.close()
            raise VersionError(
                "the Python package is robocache {} and {} is {}: install one wheel, or unset ROBOCACHE_BINARY".format(
                    __version__, binary, theirs
                )
            )

    @property
    def closed(self) -> bool:
        """True if the process has ended or was closed. A request is then a `ServerError`."""
        return not self._end.alive

    @property
    def process_id(self) -> int:
        """The helper process's process ID."""
        return self._process.pid

    def check_fork(self) -> None:
        """Raises `ForkError` in a process that was forked after the helper process was started."""
        if os.getpid() != self.pid:
            raise ForkError(
                "RoboCache was used in process {} before process {} was forked from it; start workers with the "
                "'spawn' or 'forkserver' method (multiprocessing_context='spawn' in a DataLoader), or use RoboCache in "
                "the workers only".format(self.pid, os.getpid())
            )

    def request(self, do: str, blob: Optional[Union[bytes, bytearray, memoryview]] = None, **fields: Any) -> Reply:
        """Sends a request and waits for its reply: the JSON object, the blob, and a file descriptor or -1, which the caller closes.

        An error reply is raised as its exception. If the process has ended, a `ServerError` has its last lines; `shared` then starts
        another. A busy process may take any time, an idle one `patience`. An interrupted request, for example with Ctrl-C, closes the
        connection, because the next request would receive its reply.
        """
        self.check_fork()
        fields["do"] = do
        data = _encode(fields).encode()
        size = 0 if blob is None else memoryview(blob).nbytes
        if len(data) > MAX_JSON or size > MAX_BLOB:
            raise ServerError("a request of {} bytes and a blob of {} is too large".format(len(data), size))
        with self.lock:
            if self.busy:
                self.close()
            if self.closed:
                raise ServerError(self._why)
            self.busy = True
            try:
                self._send(_HEADER.pack(_MAGIC, len(data), size, 0) + data, blob if size else None)
                reply, content, fd = self._receive()
                self.busy = False
            except _Broken as e:
                raise self._died(str(e), 0) from None
            except socket.timeout as e:
                late = "the helper process of robocache did nothing for {:g} s and has not replied: ROBOCACHE_TIMEOUT sets how long it may"
                raise self._died("", 0, late.format(self._patience)) from e
            except (OSError, EOFError) as e:
                raise self._died(str(e), 1) from e
            except BaseException:
                self.close()
                raise
        error = reply.get("error")
        if error is not None:
            if fd >= 0:
                os.close(fd)
            raise from_reply(error)
        return reply, content, fd

    def _send(self, head: bytes, blob: Optional[Union[bytes, bytearray, memoryview]]) -> None:
        self._socket.sendall(head)
        if blob is not None:
            self._socket.sendall(blob)

    def _patient(self, receive: Callable[[], Any]) -> Any:
        """Returns the result of receive. After a timeout it waits again if the process has used processor time."""
        worked = self._worked()
        while True:
            try:
                return receive()
            except socket.timeout:
                before, worked = worked, self._worked()
                if before == worked:
                    raise

    def _worked(self) -> Optional[List[bytes]]:
        """Returns the processor time that the process has used, in clock ticks, or None if unknown."""
        try:
            with open("/proc/{}/stat".format(self._process.pid), "rb") as f:
                return f.read().rpartition(b")")[2].split()[11:15]
        except OSError:
            return None

    def _receive(self) -> Reply:
        head = b""
        fds: List[int] = []
        try:
            while len(head) < _HEADER.size:
                # There is one reply at a time, so no byte of another reply is read.
                # (recv_fds is not used, because it ignores the flags before Python 3.12.)
                part, control, _, _ = self._patient(lambda: self._socket.recvmsg(_READ, _CONTROL, _CLOEXEC))
                for level, kind, data in control:
                    if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                        fds += struct.unpack("{}i".format(len(data) // 4), data[: len(data) // 4 * 4])
                if not part:
                    raise EOFError
                head += part
            magic, json_size, blob_size, n = _HEADER.unpack_from(head)
            if magic != _MAGIC or json_size > MAX_JSON or blob_size > MAX_BLOB or n != len(fds) or n > 1:
                raise _Broken("a reply that is none: {!r}".format(head[:80]))
            rest = head[_HEADER.size :]
            if len(rest) < json_size + blob_size:
                rest = self._read(rest, json_size + blob_size)
            elif len(rest) > json_size + blob_size:
                raise _Broken("a reply that goes on beyond its end")
            try:
                reply = json.loads(rest[:json_size])
            except ValueError:
                reply = None
            if not isinstance(reply, dict):
                raise _Broken("a reply that is no JSON object: {!r}".format(bytes(rest[:80])))
        except BaseException:
            for fd in fds:
                os.close(fd)
            raise
        return reply, bytes(memoryview(rest)[json_size:]), fds[0] if fds else -1

    def _read(self, begun: bytes, n: int) -> bytearray:
        """Returns n bytes; begun are the first of them."""
        data = bytearray(n)
        data[: len(begun)] = begun
        view = memoryview(data)[len(begun) :]
        while view:
            got = self._patient(lambda: self._socket.recv_into(view))  # noqa: B023
            if got == 0:
                raise EOFError
            view = view[got:]
        return data

    def _died(self, why: str, patience: float, late: str = "") -> ServerError:
        """Closes the connection and returns the error for it. patience: seconds to wait for the process to end."""
        try:
            # Its last lines are complete after it has ended.
            code: Optional[int] = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            code = None
        lines = _last_lines(self._log)
        self.close()
        if late:
            message = late
        elif code is None:
            message = "the helper process of robocache broke its protocol"
        elif code < 0:
            message = "the helper process of robocache was ended by {}".format(_signal_name(-code))
        else:
            message = "the helper process of robocache ended with exit code {}".format(code)
        if why:
            message += " ({})".format(why)
        self._why = message + (":\n" + lines if lines else "")
        return ServerError(self._why)

    def arena(self, size: int) -> memoryview:
        """Returns at least size bytes of memory that both processes map; size is 1 or more. A larger arena replaces the previous one."""
        self.check_fork()
        with self.lock:
            if self._arena is None or len(self._arena) < size:
                self._arena = None
                want = max(1 << 20, 1 << (size - 1).bit_length()) if size < KEEP else (size + KEEP - 1) // KEEP * KEEP
                _, _, fd = self.request("arena", bytes=want)
                if fd < 0:
                    raise ServerError("the helper process of robocache gave no memory")
                try:
                    have = os.fstat(fd).st_size
                    if have < want:
                        raise ServerError("the helper process of robocache gave {} bytes for {}".format(have, want))
                    self._arena = mmap.mmap(fd, have)
                except OSError as e:
                    raise OutOfMemoryError("cannot map {} bytes of memory: {}".format(want, e)) from e
                finally:
                    os.close(fd)
            return memoryview(self._arena)

    def trim(self) -> None:
        """Returns the arena's memory after the first `KEEP` bytes to the system. Its contents are lost."""
        if self._arena is not None and len(self._arena) > KEEP:
            self._arena.madvise(mmap.MADV_REMOVE, KEEP, len(self._arena) - KEEP)

    def close(self) -> None:
        """Ends the process, with a kill if it does not end in 0.2 s. A second call does nothing."""
        if os.getpid() != self.pid:
            return
        self._end()
        self._arena = None
        self.memo.clear()


def _log_file() -> int:
    """Returns an unnamed file for the process's output. Unlike a pipe, it needs no thread that reads it."""
    try:
        return os.memfd_create("robocache-log", os.MFD_CLOEXEC)
    except (AttributeError, OSError):
        import tempfile

        with tempfile.TemporaryFile() as f:
            return os.dup(f.fileno())


def _last_lines(log: int) -> str:
    try:
        size = os.fstat(log).st_size
        text = os.pread(log, 1 << 14, max(0, size - (1 << 14))).decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-_LAST_LINES:])


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal {}".format(number)


def _end(process: "subprocess.Popen[bytes]", connection: socket.socket, log: int, pid: int) -> None:
    """Ends a helper process. In a forked process, only the descriptors are closed, because the process belongs to the parent."""
    connection.close()
    os.close(log)
    if os.getpid() != pid:
        return
    try:
        process.wait(0.2)
    except BaseException as e:  # also Ctrl-C, so that the process ends in any case
        process.kill()
        process.wait()
        if not isinstance(e, subprocess.TimeoutExpired):
            raise


_shared: Optional[Child] = None
_shared_lock = threading.Lock()


def shared() -> Child:
    """Returns the helper process for operations. It starts one if there is none, or if the last one has ended."""
    global _shared
    child = _shared
    if child is not None and not child.closed:
        child.check_fork()
        return child
    with _shared_lock:
        if _shared is not None:
            _shared.check_fork()
        if _shared is None or _shared.closed:
            _shared = Child()
        return _shared


def stop() -> None:
    """Ends the helper process for operations. The next call starts another."""
    global _shared
    with _shared_lock:
        child, _shared = _shared, None
    if child is not None:
        child.close()


def _after_fork() -> None:
    # A thread of the parent may have held the lock.
    global _shared_lock
    _shared_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
