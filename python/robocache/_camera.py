"""Camera, which sets how a Loader's batches have a camera's frames."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._arrays import dtype_name
from ._errors import ArgumentError
from ._asked import mapping, number, whole, wrong

Size = Tuple[int, int]


class Camera(NamedTuple):
    """A camera in a `Loader`'s batches. Sizes are (height, width) in pixels.

    A frame is decoded, converted to RGB and resized to the stored size once; see ``frame_level`` of `Loader`. Each batch then cuts, mirrors,
    jitters and normalises its frames. Random choices depend on the seed, the epoch and the window's position in it, and on nothing else.

    Args:
        size: size of a batch's frames.
        stored: size of the kept frames. If it is larger than size, crop cuts the batch's frames from them. Default: size.
        crop: "centre" or "random"; "" without one.
        flip: probability that a frame is mirrored left to right.
        brightness, contrast, saturation: largest change by a random factor, as in torchvision's ColorJitter: 0.2 is a factor of 0.8 to 1.2.
        jitter: (brightness, contrast, saturation), or one number for the three.
        per_frame: make the random choices for each frame, not for each window.
        dtype: uint8, float32, float16 or bfloat16. Default: uint8.
        normalise: of a float dtype: "imagenet" (mean and standard deviation), "lerobot" (0 to 1), "symmetric" (-1 to 1). Default: 0 to 1.
        layout: "HWC" or "CHW".
        frames: form of the kept frames: "rgb", or "yuv420" for videos, which takes half of the memory and gives other colours. Default: "rgb".
        names: the camera's name in each dataset of a mixture. A missing or empty one is its name in the batch.

    Example:
        >>> import robocache as rc
        >>> rc.Camera((224, 224), stored=(240, 320), crop="random", flip=0.5, jitter=0.2).layout
        'HWC'
    """

    size: Size
    stored: Optional[Size] = None
    crop: str = ""
    flip: float = 0.0
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    jitter: Union[None, float, Sequence[float]] = None
    per_frame: bool = False
    dtype: Any = "uint8"
    normalise: str = ""
    layout: str = "HWC"
    frames: str = "rgb"
    names: Sequence[str] = ()


def cameras(name: str, value: Any) -> List[Dict[str, Any]]:
    """Returns the cameras of a request."""
    want = "{name: (height, width)} in pixels, or {name: Camera}"
    return [_camera("{}[{!r}]".format(name, n), n, c) for n, c in mapping(name, value, want).items()]


def _camera(arg: str, name: str, given: Any) -> Dict[str, Any]:
    camera = given if isinstance(given, Camera) else Camera(given)
    height, width = _size(arg, camera.size)
    out: Dict[str, Any] = {"name": name, "height": height, "width": width, "per_frame": bool(camera.per_frame)}
    if camera.stored is not None:
        out["stored_height"], out["stored_width"] = _size(arg + ".stored", camera.stored)
    for field in ("crop", "normalise", "layout", "frames"):
        out[field] = getattr(camera, field)
        if not isinstance(out[field], str):
            raise wrong("{}.{}".format(arg, field), out[field], "text")
    if isinstance(camera.names, str) or not all(isinstance(n, str) for n in camera.names):
        raise wrong(arg + ".names", camera.names, "a name for each dataset")
    out["names"] = list(camera.names)
    out["dtype"] = _dtype(arg + ".dtype", camera.dtype)
    for field, x in _changes(arg, camera).items():
        if x:
            out[field] = number("{}.{}".format(arg, field), x)
    return out


def _changes(arg: str, camera: Camera) -> Mapping[str, Any]:
    jitter: Any = camera.jitter
    factors = [camera.brightness, camera.contrast, camera.saturation]
    if jitter is not None:
        if any(factors):
            raise wrong(arg + ".jitter", jitter, "it, or brightness, contrast and saturation")
        if not hasattr(jitter, "__len__"):
            jitter = [jitter] * 3
        if isinstance(jitter, str) or len(jitter) != 3:
            raise wrong(arg + ".jitter", jitter, "(brightness, contrast, saturation), or a number")
        factors = list(jitter)
    return dict(zip(("brightness", "contrast", "saturation"), factors), flip=camera.flip)


def _dtype(arg: str, value: Any) -> str:
    try:
        found = dtype_name(value, arg, "loader")
    except ArgumentError:
        found = ""
    if found not in ("u8", "f32", "f16", "bf16"):
        raise wrong(arg, value, "uint8, float32, float16 or bfloat16")
    return found


def _size(arg: str, size: Any) -> Size:
    try:
        height, width = size
    except (TypeError, ValueError):
        raise wrong(arg, size, "(height, width) in pixels") from None
    return whole(arg, height, 1, 1 << 20), whole(arg, width, 1, 1 << 20)
