"""Runs the tests of this folder, which need an NVIDIA GPU, torch and NumPy, without pytest.

    python3 python/tests/gpu/run.py

    --quick     fewer repeats, for compute-sanitizer
    --only TEXT tests whose names contain TEXT
    --list      names only

ROBOCACHE_BINARY names the binary, unless it is in the package or on PATH. It prints PASS, SKIP or FAIL and the time of
each test; the exit code is 0 if none failed and at least one passed.
"""

import argparse
import importlib
import os
import pathlib
import sys
import time
import traceback
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.quick:
        os.environ["ROBOCACHE_TEST_QUICK"] = "1"
    counts = {"PASS": 0, "SKIP": 0, "FAIL": 0}
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(path.stem)
        for name, test in sorted(vars(module).items(), key=lambda item: getattr(item[1], "__code__", main.__code__).co_firstlineno):
            full = "{}.{}".format(path.stem, name)
            if not name.startswith("test_") or options.only not in full:
                continue
            if options.list:
                print(full)
                counts["PASS"] += 1
                continue
            begin = time.perf_counter()
            try:
                test()
                result = "PASS"
            except unittest.SkipTest as e:
                result = "SKIP ({})".format(e)
            except BaseException as e:
                if isinstance(e, KeyboardInterrupt):
                    raise
                traceback.print_exc()
                result = "FAIL ({}: {})".format(type(e).__name__, str(e)[:200])
            counts[result[:4]] += 1
            print("{:7.2f} s  {}  {}".format(time.perf_counter() - begin, result, full), flush=True)
    print("{PASS} passed, {FAIL} failed, {SKIP} skipped".format(**counts), flush=True)
    return 0 if counts["FAIL"] == 0 and counts["PASS"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
