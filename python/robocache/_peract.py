"""PerAct's grid, the preset "peract" of voxelize."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ._arrays import Group
from ._options import mistake
from ._voxelize import Box, Job, Size, Voxels, check_points, vector

_OP = "voxelize"


def voxelize(
    arrays: Dict[str, Any],
    options: Dict[str, Any],
    unused: Mapping[str, Any],
    lo: Optional[Size],
    hi: Optional[Size],
    backend: str,
    wanted: bool,
    check: bool,
) -> Voxels:
    """Returns PerAct's grid: the means of x, y, z, the features and a feature that is 1, then each cell's index before the last."""
    for name, x in unused.items():
        if x is not None:
            raise mistake(_OP, name, "a value with preset 'peract'", "None")
    if lo is None or hi is None:
        raise mistake(_OP, "min" if lo is None else "max", "None", "the bounds of the grid", "missing argument")
    low, high = vector(lo, "min"), vector(hi, "max")
    group = Group(_OP, {name: x for name, x in arrays.items() if x is not None})
    check_points(group.views["Points"], True)
    framework = group.framework
    points = framework.cast(group.views["Points"].array, "f32")
    parts = [points, framework.cast(points[:, :1] == points[:, :1], "f32")]
    if "Features" in group.views:
        parts.insert(1, framework.cast(group.views["Features"].array, "f32"))
    given = {"Points": points, "Features": framework.join(parts)}
    if arrays["Offsets"] is not None:
        given["Offsets"] = arrays["Offsets"]
    x, y, z = ((b - a) / 100 for a, b in zip(low, high))
    job = Job(Group(_OP, given), options, Box(low, high, (x, y, z)), None, None, backend)
    job.preset, job.cells = "peract", (100, 100, 100)
    voxels = job.run(wanted, check)
    means, occupied = voxels.grid[..., :-1], voxels.grid[..., -1:]
    axis = framework.cast(framework.asarray([i / 100 for i in range(100)], points, True), "f32")
    index = [occupied * 0 + axis[:, None, None, None], occupied * 0 + axis[:, None, None], occupied * 0 + axis[:, None]]
    return voxels._replace(grid=framework.join([means] + index + [occupied]), occupied=occupied[..., 0])
