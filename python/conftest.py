"""What all tests and the examples in doc strings need: the package on the path, and a robocache binary.

ROBOCACHE_BINARY names the binary; unless given, one is built from the sources around this folder.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
_built = None


def pytest_configure(config):
    global _built
    # A shell that starts this in the background has it ignore interrupts, which tests send.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")]))
    if "ROBOCACHE_BINARY" not in os.environ:
        _built = tempfile.TemporaryDirectory(prefix="robocache-")
        binary = os.path.join(_built.name, "robocache")
        subprocess.run(["go", "build", "-trimpath", "-o", binary, "./cmd/robocache"], cwd=HERE.parent, check=True)
        os.environ["ROBOCACHE_BINARY"] = binary


@pytest.fixture(autouse=True)
def _examples_are_run_beside_their_data(request, monkeypatch):
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(HERE.parent / "examples" / "data")


def pytest_unconfigure(config):
    if _built is not None:
        _built.cleanup()
