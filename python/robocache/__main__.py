"""The command line: `python -m robocache`, and the command `robocache` in an installed wheel."""

from __future__ import annotations

import os
import sys

from ._child import find_binary
from ._errors import ServerError


def main() -> None:
    """Replaces this process with the robocache binary, with the same arguments.

    If no binary can run here, it exits with 127, as a shell does.
    """
    try:
        binary = find_binary()
        if os.path.exists(sys.argv[0]) and os.path.samefile(binary, sys.argv[0]):  # PATH led to this script
            raise ServerError("no robocache binary beside this package, nor another on PATH")
        os.execv(binary, ["robocache"] + sys.argv[1:])
    except ServerError as e:
        print("robocache: {}".format(e), file=sys.stderr)
    except FileNotFoundError:  # the file exists, but its dynamic loader does not
        why = "it needs Linux with glibc, which musl (Alpine) is not"
        print("robocache: {} does not run here: {}".format(binary, why), file=sys.stderr)
    except OSError as e:
        print("robocache: {} does not run here: {}".format(binary, e.strerror), file=sys.stderr)
    sys.exit(127)


if __name__ == "__main__":
    main()
