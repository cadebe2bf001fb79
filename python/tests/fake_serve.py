#!/usr/bin/env python3
"""Stands in for the robocache binary: answers a hello, then does what the request's "do" says, well or badly."""

import json
import os
import socket
import struct
import sys
import time


def reply(s, fields, blob=b"", fds=(), magic=b"RCF1", size=None):
    data = json.dumps(fields).encode()
    head = struct.pack("<4sIII", magic, len(data) if size is None else size, len(blob), len(fds))
    if fds:
        socket.send_fds(s, [head], list(fds))
    else:
        s.sendall(head)
    s.sendall(data + blob)


def main():
    s = socket.socket(fileno=int(sys.argv[sys.argv.index("--fd") + 1]))
    while True:
        head = s.recv(16, socket.MSG_WAITALL)
        if not head:
            return
        _, size, blob_size, _ = struct.unpack("<4sIII", head)
        request = json.loads(s.recv(size, socket.MSG_WAITALL))
        blob = s.recv(blob_size, socket.MSG_WAITALL) if blob_size else b""
        do = request["do"]
        if do == "hello":
            version = os.environ.get("FAKE_VERSION", request["version"])
            if os.environ.get("FAKE_PROTOCOL"):
                reply(s, {"error": {"class": "VersionError", "message": "protocol 1 is spoken to protocol 7"}})
                return
            reply(s, {"ok": True, "protocol": 1, "version": version})
        elif do == "echo":
            reply(s, {"ok": True, "request": request}, blob)
        elif do == "error":
            reply(s, {"error": request["error"]})
        elif do == "file":
            fd = os.memfd_create("fake")
            os.write(fd, b"content")
            reply(s, {"ok": True}, fds=[fd])
            os.close(fd)
        elif do == "arena":
            fd = os.memfd_create("fake")
            os.ftruncate(fd, request["bytes"])
            reply(s, {"ok": True}, fds=[fd])
            os.close(fd)
        elif do == "slow":
            time.sleep(request["seconds"])
            reply(s, {"ok": True})
        elif do == "work":
            end = time.monotonic() + request["seconds"]
            while time.monotonic() < end:
                pass
            reply(s, {"ok": True})
        elif do == "garbage":
            s.sendall(b"Traceback (most recent call last)")
        elif do == "magic":
            reply(s, {"ok": True}, magic=b"ELF!")
        elif do == "huge":
            reply(s, {"ok": True}, size=(1 << 32) - 1)
        elif do == "list":
            reply(s, [1])
        elif do == "half":
            s.sendall(b"RCF1\x10\0\0\0\0\0\0\0\0\0\0\0{")
            return
        elif do == "panic":
            print("panic: the fake fell over\n\ngoroutine 1 [running]:", file=sys.stderr)
            sys.stderr.flush()
            os._exit(2)


if __name__ == "__main__":
    main()
