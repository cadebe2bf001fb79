"""The documents about Python do what they say.

Their ```python blocks are run from top to bottom, as one program for each document, in a folder with the data that a clone
has. Behind a comment <!-- prints --> stands what the block before it prints. <!-- needs: cuda --> stands before a block that
is not run without a GPU. <!-- commands: NAME --> stands before shell commands, which are run first.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
from loader_data import ROOT, binary, safetensors

BLOCK = re.compile(
    r"(?:<!-- needs: (?P<needs>[^ ]+) -->\n)?```python\n(?P<code>.*?)```\n"
    r"(?:<!-- prints -->\n```\n(?P<prints>.*?)```\n)?",
    re.S,
)
COMMANDS = re.compile(r"<!-- commands: [^ ]+ -->\n```sh\n(.*?)```\n", re.S)


def there(need: str) -> bool:
    if need == "cuda":
        return bool(pytest.importorskip("torch").cuda.is_available())
    raise AssertionError("nobody knows whether there is " + need)


def run_commands(text: str, where: Path) -> None:
    env = dict(os.environ, PATH=os.path.dirname(binary()) + os.pathsep + os.environ["PATH"], ROBOCACHE_LIBCUDA="none")
    for commands in COMMANDS.findall(text):
        subprocess.run(["sh", "-ec", commands], cwd=where, env=env, check=True, stdout=subprocess.DEVNULL)


def without_safetensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a package safetensors there whose load_file is ours, where there is none: Debian has none."""
    if importlib.util.find_spec("safetensors") is None:
        torch = pytest.importorskip("torch")
        ours = types.ModuleType("safetensors.torch")
        ours.load_file = lambda path: {  # type: ignore[attr-defined]
            name: torch.from_numpy(x.copy()) for name, x in safetensors(Path(path)).items()
        }
        monkeypatch.setitem(sys.modules, "safetensors", types.ModuleType("safetensors"))
        monkeypatch.setitem(sys.modules, "safetensors.torch", ours)


@pytest.mark.parametrize("document", ["README.md", "docs/python.md", "docs/train.md", "python/README.md"])
def test_documents_do_what_they_say(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary()
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert blocks and len(blocks) == text.count("```python\n")
    assert sum(b["prints"] is not None for b in blocks) == text.count("<!-- prints -->")
    assert sum(b["needs"] is not None for b in blocks) == text.count("<!-- needs:")
    if "import torch" in text:
        pytest.importorskip("torch", reason="python has no torch, which {} is run with".format(document))
    if "import safetensors" in text or "from safetensors" in text or "from policy import" in text:
        without_safetensors(monkeypatch)
    for folder in ("examples/data", "examples/pytorch", "dataset/aloha/testdata"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    if document != "README.md":  # Go's tests run its commands, some of which need the tree
        run_commands(text, tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "document"}
    for block in blocks:
        if block["needs"] and not there(block["needs"]):
            continue
        line = text.count("\n", 0, block.start("code"))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + block["code"], str(ROOT / document), "exec"), names)
        if block["prints"] is not None:
            assert printed.getvalue().rstrip() == block["prints"].rstrip(), "{} line {}".format(document, line)
