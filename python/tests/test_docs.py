"""The documents about Python do what they say.

Their ```python blocks are run from top to bottom, as one program for each document, in a folder with examples/data as a clone has it. Behind a comment
<!-- prints --> stands what the block before it prints, and <!-- needs: WHAT --> before a block says without what it is not run.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
from pathlib import Path

import pytest
from loader_data import ROOT, binary

BLOCK = re.compile(r"(?:<!-- needs: (?P<needs>[^ ]+) -->\n)?```python\n(?P<code>.*?)```\n(?:<!-- prints -->\n```\n(?P<prints>.*?)```\n)?", re.S)


def there(need: str) -> bool:
    if need == "cuda":
        torch = pytest.importorskip("torch")
        return bool(torch.cuda.is_available())
    if need == "torch2":
        torch = pytest.importorskip("torch")
        return int(torch.__version__.split(".")[0]) >= 2
    try:
        __import__(need)
    except ImportError:
        return False
    return True


@pytest.mark.parametrize("document", ["docs/python.md", "python/README.md"])
def test_documents_do_what_they_say(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary()
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert blocks and len(blocks) == text.count("```python\n")
    assert sum(b["prints"] is not None for b in blocks) == text.count("<!-- prints -->")
    assert sum(b["needs"] is not None for b in blocks) == text.count("<!-- needs:")
    if "import torch" in text:
        pytest.importorskip("torch")
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
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
