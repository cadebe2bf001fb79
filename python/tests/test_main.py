"""The command line that comes with the package, and the examples of README.md."""

import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run(args, **env):
    """Runs Python with the package on its path, and returns its exit code, standard output and standard error."""
    env = dict(os.environ, PYTHONPATH=ROOT, **env)
    done = subprocess.run([sys.executable] + args, env=env, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def program(folder, text, mode=0o755):
    path = str(folder / "robocache")
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def test_the_command_becomes_the_binary(tmp_path):
    binary = program(tmp_path, '#!/bin/sh\necho "$# $1 $2 $ASKED"\nexit 5\n')
    done = run(["-m", "robocache", "a b", "--flag"], ROBOCACHE_BINARY=binary, ASKED="yes")
    assert done == (5, "2 a b --flag yes\n", "")


def test_a_missing_binary_is_said():
    code, out, err = run(["-m", "robocache"], ROBOCACHE_BINARY="/nowhere/robocache")
    assert (code, out) == (127, "")
    assert re.match(r"robocache: .*'/nowhere/robocache'.*\n$", err)


def test_a_system_without_the_binarys_loader_is_said(tmp_path):
    binary = program(tmp_path, "#!/lib/ld-nowhere.so.1\n")  # looked for as the loader of a binary is
    code, out, err = run(["-m", "robocache"], ROBOCACHE_BINARY=binary)
    assert (code, out) == (127, "")
    why = "it needs Linux with glibc, which musl (Alpine) is not"
    assert err == "robocache: {} does not run here: {}\n".format(binary, why)


def test_a_binary_for_another_processor_is_said(tmp_path):
    binary = program(tmp_path, "\x7fELF\x02\x01\x01" + "\x00" * 100)
    code, out, err = run(["-m", "robocache"], ROBOCACHE_BINARY=binary)
    assert (code, out) == (127, "")
    assert err == "robocache: {} does not run here: Exec format error\n".format(binary)


def test_the_command_never_runs_itself(tmp_path):
    text = "#!{}\nfrom robocache.__main__ import main\nmain()\n".format(sys.executable)
    script = program(tmp_path, text)
    env = {"PATH": str(tmp_path), "ROBOCACHE_BINARY": script}
    code, out, err = run([script], **env)
    assert (code, out) == (127, "")
    assert "no robocache binary" in err


def test_the_examples_of_the_readme_run(tmp_path):
    pytest.importorskip("numpy")
    with open(os.path.join(ROOT, "README.md")) as f:
        examples = re.findall(r"^```python\n(.*?)^```$", f.read(), re.M | re.S)
    assert examples
    for text in examples:
        path = tmp_path / "example.py"
        path.write_text(text)
        code, out, err = run([str(path)])
        assert code == 0 and out, err
