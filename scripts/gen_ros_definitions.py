"""Writes the built-in definitions of ROS 2's common messages: types, names and array sizes, by distribution.

    python3 scripts/gen_ros_definitions.py FOLDER > internal/logs/message/defs/definitions.txt

FOLDER has clones, with all branches, of common_interfaces, rcl_interfaces, geometry2, unique_identifier_msgs, test_interface_files (of github.com/ros2)
and ros_tutorials (of github.com/ros), each in a folder of its name.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

DISTROS = "dashing eloquent foxy galactic humble iron jazzy rolling".split()
# The packages of each repository; None is all that it has.
REPOSITORIES = {
    "common_interfaces": None,
    "rcl_interfaces": None,
    "geometry2": {"tf2_msgs"},
    "unique_identifier_msgs": {"unique_identifier_msgs"},
    "ros_tutorials": {"turtlesim", "turtlesim_msgs"},
    "test_interface_files": {"test_msgs"},
}


def git(folder: Path, *args: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *args], check=True, capture_output=True, text=True).stdout


def branch_of(folder: Path, distro: str) -> str | None:
    """The distribution's branch; ros_tutorials has none of jazzy, which is as rolling there."""
    have = {line.strip("* ") for line in git(folder, "branch", "-a").splitlines()}
    for name in (distro, distro + "-devel", "rolling"):
        if name in have:
            return name
    return None


def field_of(line: str) -> str | None:
    """A field's type and name, without default and comment; None for what is no field."""
    # A # in a quoted default begins no comment, but nothing behind the name is kept anyway.
    words = line.split("#")[0].split()
    if len(words) < 2 or "=" in words[1] or len(words) > 2 and words[2].startswith("="):
        return None
    if not re.fullmatch(r"[a-zA-Z][\w/]*(<=\d+)?(\[(<=)?\d*\])?", words[0]):
        raise ValueError(f"no type: {line!r}")
    if not re.fullmatch(r"[a-zA-Z]\w*", words[1]):
        raise ValueError(f"no name: {line!r}")
    return " ".join(words[:2])


def types_of(root: Path, distro: str) -> dict[str, tuple[str, ...]]:
    types = {}
    for repository, packages in REPOSITORIES.items():
        folder = root / repository
        branch = branch_of(folder, distro)
        if branch is None:
            raise SystemExit(f"{repository} has no branch for {distro}")
        for path in git(folder, "ls-tree", "-r", "--name-only", branch).splitlines():
            parts = path.split("/")
            if not path.endswith(".msg"):
                continue
            package = "test_msgs" if repository == "test_interface_files" else parts[-3] if len(parts) > 2 else repository
            if packages is not None and package not in packages:
                continue
            text = git(folder, "show", f"{branch}:{path}")
            fields = [field_of(line) for line in text.splitlines()]
            types[f"{package}/{parts[-1][:-4]}"] = tuple(f for f in fields if f)
    return types


def main() -> None:
    root = Path(sys.argv[1])
    by_distro = {d: types_of(root, d) for d in DISTROS}
    names = sorted({name for types in by_distro.values() for name in types})
    print("distros " + " ".join(DISTROS))
    for name in names:
        variants: dict[tuple[str, ...], list[str]] = {}
        for distro in DISTROS:
            if name in by_distro[distro]:
                variants.setdefault(by_distro[distro][name], []).append(distro)
        for fields, distros in variants.items():
            # Where no distribution is named, it is that of all.
            print("= " + name + ("" if len(variants) == 1 else " " + " ".join(distros)))
            for field in fields:
                print(field)


if __name__ == "__main__":
    main()
