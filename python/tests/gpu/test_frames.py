"""Cameras of loaders on a GPU: their batches are those of the CPU, to the bit, wherever the frames are kept."""

import unittest

import torch

from robocache import Camera
from robocache._ahead import Staged
from robocache._errors import UnsupportedError
from robocache._loader import Loader
from robocache._resident import Resident
from support import need_cuda
from test_batches import ROOT, SHARED, compare, same

JPEG = ROOT / "dataset" / "aloha" / "testdata" / "jpeg.hdf5"
HIGH, LEFT = "observations/images/cam_high", "observations/images/cam_left_wrist"
FRONT, WRIST = "observation.images.front", "observation.images.wrist"


def changed(size, stored, dtype="bfloat16"):
    return Camera(size, stored=stored, crop="random", flip=0.5, jitter=0.2, dtype=dtype, normalise="imagenet", layout="CHW")


def lerobot():
    for folder in SHARED:
        if (folder / "lerobot_v3_g1").is_dir():
            return folder / "lerobot_v3_g1"
    raise unittest.SkipTest("the shared recordings are not here")


def pair(path, **options):
    need_cuda()
    host = dict(options, framework="numpy", frame_level="", decode="cpu")
    return Loader(path, framework="torch", device="cuda", **options), Loader(path, **host)


def images(**options):
    cameras = {HIGH: (6, 8), LEFT: changed((5, 6), (9, 12))}
    return pair(JPEG, batch=2, hz=5, rate=1, seed=3, cameras=cameras, last="short", **options)


def videos(**options):
    cameras = {FRONT: changed((48, 40), (56, 60)), WRIST: (32, 32)}
    options = {"windows": {FRONT: (-0.2, 0.0), "action": (0.0, 1.0)}, **options}
    return pair(lerobot(), batch=16, seed=5, cameras=cameras, **options)


def test_frames_on_the_device_are_those_of_the_cpu():
    for made in (images, videos):
        on, host = made()
        assert isinstance(on._way, Resident)
        with on, host:
            compare(on, host, 12, made.__name__)
            state = dict(on.state_dict()["state"], epoch=2, taken=0)
            for one in (on, host):
                one.load_state_dict({"version": 1, "epoch": 2, "state": state})
            compare(on, host, 6, made.__name__ + " after a move")
            on.fill()
            assert on._way._filler is None
            compare(on, host, 12, made.__name__ + " when all are there")
            report = on.report()
            assert [(c["level"], c["left"], c["bad"]) for c in report["cameras"]] == [("device", 0, 0)] * 2
            print("decoder:", report["decoder"])


def test_frames_elsewhere_are_those_of_the_cpu():
    for made in (images, videos):
        for more in ({"frame_level": "pinned"}, {"frame_level": "streaming"}, {"frame_level": "streaming", "decode": "cpu"}):
            on, host = made(**more)
            assert isinstance(on._way, Staged)
            with on, host:
                compare(on, host, 8, "{} {}".format(made.__name__, more))


def test_batches_with_frames_are_captured_after_fill():
    on, host = images()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            on.next()
    except UnsupportedError as e:
        assert "loader.fill" in str(e)
    else:
        raise AssertionError("it was captured")
    on.fill()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        same(on.next(), host.next(), "before the capture")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        batch = on.next()
    for k in range(5):
        graph.replay()
        torch.cuda.synchronize()
        same(batch, host.next(), "replay {}".format(k))
    assert on.state_dict() == host.state_dict()
    del graph
    on.close(), host.close()
