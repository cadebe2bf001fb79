"""The helper process: frames, versions, its death, forks, threads; against a stand-in that answers badly where
asked."""

import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

import robocache as rc
from robocache import _child

FAKE = str(pathlib.Path(__file__).with_name("fake_serve.py"))


@pytest.fixture
def child(monkeypatch):
    monkeypatch.setenv("ROBOCACHE_BINARY", FAKE)
    c = _child.Child()
    yield c
    c.close()


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


def processes():
    """The processes that this one has started and not waited for, whether they have ended or not."""
    me = str(os.getpid())
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = pathlib.Path("/proc", pid, "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[1] == me:
            found.add(pid)
    return found


def test_a_request_has_its_reply_with_json_and_blob(child):
    blob = bytes(range(256)) * 1000
    reply, back, fd = child.request("echo", blob, big=(1 << 63) - 1, text="\u00e9")
    assert reply["request"] == {"do": "echo", "big": (1 << 63) - 1, "text": "\u00e9"}
    assert back == blob and fd == -1


def test_a_descriptor_comes_with_its_reply(child):
    _, _, fd = child.request("file")
    try:
        assert os.pread(fd, 100, 0) == b"content"
        assert not os.get_inheritable(fd)
    finally:
        os.close(fd)


def test_the_arena_grows_and_keeps_what_it_need_not_replace(child):
    a = child.arena(100)
    a[:4] = b"abcd"
    assert len(a) >= 100
    assert bytes(child.arena(200)[:4]) == b"abcd"
    b = child.arena(len(a) + 1)
    assert len(b) > len(a)
    big = child.arena(_child.KEEP + 4096)
    big[0], big[_child.KEEP + 5] = 7, 9
    child.trim()
    assert (big[0], big[_child.KEEP + 5]) == (7, 0)


@pytest.mark.parametrize("bad", ["garbage", "magic", "huge", "list"])
def test_a_reply_that_is_none_ends_the_process(child, bad):
    with pytest.raises(rc.ServerError, match="broke its protocol"):
        child.request(bad)
    assert child.closed
    with pytest.raises(rc.ServerError):
        child.request("echo")


def test_a_reply_cut_short_is_a_server_error(child):
    with pytest.raises(rc.ServerError, match="ended with exit code 0"):
        child.request("half")


def test_the_last_lines_of_a_process_that_died_are_told(child):
    with pytest.raises(rc.ServerError, match=r"exit code 2.*\npanic: the fake fell over\n"):
        child.request("panic")


def test_a_request_after_the_process_was_killed_says_by_what(child):
    os.kill(child.process_id, signal.SIGKILL)
    with pytest.raises(rc.ServerError, match="SIGKILL"):
        child.request("echo")


def test_an_interrupted_request_never_gives_its_reply_to_the_next(child):
    def interrupt():
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        child.request("slow", seconds=30)
    assert child.closed and str(child.process_id) not in processes()


def test_versions_that_differ_are_refused_and_both_named(monkeypatch):
    monkeypatch.setenv("ROBOCACHE_BINARY", FAKE)
    monkeypatch.setenv("FAKE_VERSION", "9.8.7")
    before = processes()
    monkeypatch.setattr(_child, "__version__", "1.2.3")
    with pytest.raises(rc.VersionError, match="1.2.3.*9.8.7"):
        _child.Child()
    monkeypatch.setenv("FAKE_PROTOCOL", "7")
    with pytest.raises(rc.VersionError, match="protocol"):
        _child.Child()
    assert processes() == before


def test_a_binary_that_is_missing_or_fails_is_a_server_error(monkeypatch, tmp_path):
    monkeypatch.setenv("ROBOCACHE_BINARY", str(tmp_path / "none"))
    with pytest.raises(rc.ServerError, match="ROBOCACHE_BINARY"):
        _child.Child()
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    monkeypatch.setenv("ROBOCACHE_BINARY", str(broken))
    with pytest.raises(rc.ServerError, match="cannot start"):
        _child.Child()
    monkeypatch.setenv("ROBOCACHE_BINARY", "/bin/false")
    with pytest.raises(rc.ServerError, match="exit code 1"):
        _child.Child()
    monkeypatch.delenv("ROBOCACHE_BINARY")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(rc.ServerError, match="no robocache binary"):
        _child.find_binary()


def test_the_packages_own_binary_comes_before_path(monkeypatch, tmp_path):
    monkeypatch.delenv("ROBOCACHE_BINARY")
    own, other = tmp_path / "robocache" / "bin" / "robocache", tmp_path / "path" / "robocache"
    for f in (own, other):
        f.parent.mkdir(parents=True)
        f.write_text("#!/bin/sh\n")
        f.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert _child.find_binary() == str(other)
    monkeypatch.setattr(_child, "__file__", str(own.parent.parent / "_child.py"))
    assert _child.find_binary() == str(own)
    own.chmod(0o644)
    with pytest.raises(rc.ServerError, match="cannot be run"):
        _child.find_binary()


def test_nothing_is_left_of_a_process(monkeypatch):
    monkeypatch.setenv("ROBOCACHE_BINARY", FAKE)
    gc.collect()
    before = descriptors(), processes()
    for end in ("close", "collect", "die"):
        c = _child.Child()
        c.arena(1 << 20)
        if end == "close":
            c.close()
            c.close()
        elif end == "die":
            with pytest.raises(rc.ServerError):
                c.request("panic")
        del c
        gc.collect()
        assert (descriptors(), processes()) == before, end


def test_an_error_reply_is_the_error_that_it_names(child):
    with pytest.raises(rc.DataError) as e:
        child.request(
            "error",
            error={
                "class": "ValueError",
                "op": "Fuse",
                "arg": "Streams[2].SrcTimes",
                "kind": "time goes backwards",
                "row": 0,
                "index": 3,
            },
        )
    assert (e.value.op, e.value.arg, e.value.row, e.value.index) == ("fuse", "streams[2].times", 0, 3)
    assert str(e.value) == "fuse: streams[2].times: time goes backwards at row 0, index 3"
    child.request("echo")


def test_the_next_call_after_a_death_raises_once_and_then_all_goes_on():
    rc.resample([[0.0], [1.0]], [0.0, 1.0], [0.5])
    before = _child.shared()
    os.kill(before.process_id, signal.SIGKILL)
    with pytest.raises(rc.ServerError, match="SIGKILL"):
        rc.resample([[0.0], [1.0]], [0.0, 1.0], [0.5])
    assert rc.resample([[0.0], [1.0]], [0.0, 1.0], [0.5]).tolist() == [[0.5]]
    assert _child.shared() is not before


def in_fork(body):
    """Runs a function in a fork of this process and returns what it raised, as text."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            try:
                said = repr(body())
            except BaseException as e:
                said = type(e).__name__ + ": " + str(e)
            os.write(w, said.encode())
        finally:
            os._exit(0)
    os.close(w)
    with os.fdopen(r) as f:
        said = f.read()
    assert os.waitpid(pid, 0)[1] == 0
    return said


def test_a_fork_is_refused_with_advice_and_the_parent_goes_on():
    def call():
        return rc.resample([[0.0], [1.0]], [0.0, 1.0], [0.5]).tolist()

    call()
    said = in_fork(call)
    assert said.startswith("ForkError") and "spawn" in said
    # Also of a process that was asked for in the parent, and ended in the child: the parent's goes on.
    child = _child.shared()
    assert in_fork(child.close) == "None"
    assert in_fork(lambda: child.arena(10)).startswith("ForkError")
    assert _child.shared() is child and call() == [[0.5]]


def test_a_fork_that_came_first_starts_a_process_of_its_own():
    _child.stop()
    assert in_fork(lambda: rc.resample([[0.0], [1.0]], [0.0, 1.0], [0.5]).tolist()) == "[[0.5]]"


def test_a_lock_held_by_a_thread_at_a_fork_does_not_hang_the_child():
    held, go = threading.Event(), threading.Event()

    def hold():
        with _child.shared().lock, _child._shared_lock:
            held.set()
            go.wait(10)

    t = threading.Thread(target=hold)
    t.start()
    held.wait(10)
    assert in_fork(lambda: rc.info()).startswith("ForkError")
    go.set()
    t.join()


def test_the_process_ends_with_its_parent_even_if_that_is_killed():
    code = (
        "import os, sys, signal, robocache as rc\n"
        "rc.info()\n"
        "print(rc._child.shared().process_id, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL) if sys.argv[1] == 'kill' else None\n"
    )
    for how in ("kill", "exit"):
        p = subprocess.run([sys.executable, "-c", code, how], stdout=subprocess.PIPE, timeout=30)
        pid = int(p.stdout)
        for _ in range(100):
            if not os.path.exists("/proc/{}/stat".format(pid)):
                break
            time.sleep(0.05)
        else:
            pytest.fail("process {} outlived its parent".format(pid))


def test_ctrl_c_in_a_terminal_is_the_parents_alone():
    rc.info()
    assert os.getsid(_child.shared().process_id) != os.getsid(0)


def test_a_url_is_no_path():
    assert _child.located("s3://bucket/a b") == "s3://bucket/a b"
    assert _child.located("hf://datasets/org/name@v1/data") == "hf://datasets/org/name@v1/data"
    assert _child.located("a") == os.path.abspath("a")
