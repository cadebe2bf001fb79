"""Cameras of loaders on a GPU, against the stand-in driver: the frames in its memory, and when the helper process decodes them."""

from __future__ import annotations

import os
import signal
import struct
import sys
import types

import numpy as np
import pytest

from loader_data import LONG, ROOT, shared, written
from robocache import Camera, _replay
from robocache._ahead import Staged
from robocache._asked import request
from robocache._cuda import DriverError
from robocache._errors import ArgumentError, DataError, OutOfMemoryError, RecordingError, ServerError, UnsupportedError
from robocache._loader import Loader
from robocache._resident import Resident
from test_loader_resident import DEFAULTS, driver, torch  # noqa: F401: driver is a fixture

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stand-in is built for Linux")

HIGH, WRIST = "observations/images/cam_high", "observations/images/cam_left_wrist"
CAMERAS = {HIGH: (6, 8), WRIST: Camera((5, 6), stored=(7, 9), crop="random", flip=0.5, dtype="bfloat16", layout="CHW")}
FRAMES = 4  # of each camera


@pytest.fixture(params=[False, True], ids=["whole", "damaged"])
def path(request, tmp_path):
    """An ALOHA recording with JPEG frames, of which the first camera's second one may be damaged."""
    data = bytearray((ROOT / "dataset/aloha/testdata/jpeg.hdf5").read_bytes())
    if request.param:
        at = data.index(b"\xff\xd8\xff", data.index(b"\xff\xd8\xff") + 1)
        data[at : at + 16] = bytes(16)
    file = tmp_path / "episode_0.hdf5"
    file.write_bytes(data)
    return file


def options(**more):
    found = dict(DEFAULTS, batch=2, hz=1, rate=1, windows=None, seed=4, shuffle="none", cameras=CAMERAS, last="short", frame_level="")
    return dict(found, **more)


def opened(path, restart=False, **more):
    return Resident(dict(request(path, **options(**more)), frames_on="cpu"), torch.device("cpu", 0), "", restart)


def store(one, camera):
    """Returns a camera's frames and their places in the device's memory."""
    at, device = one.reply["stores"][camera], _replay.replayer(0).device
    report = one.reply["report"]["cameras"][camera]
    frames = device.read(one._session._having().address(at["frames"][0]) + at["frames"][1], report["bytes"], 0)
    places = device.read(one._session._having().address(at["places"][0]) + at["places"][1], 8 * FRAMES, 0)
    return np.frombuffer(frames, "u1"), list(struct.unpack("<{}q".format(FRAMES), places))


def want(path, name, size, tmp_path):
    """Returns the frames that ``robocache batches`` gives, and whether they are valid."""
    args = ["--rate=1", "--hz=1", "--batch=4", "--shuffle=none", "--last=short", "--steps=1", "--camera={}={}x{}".format(name, size[1], size[0])]
    (file,) = written(tmp_path / name.replace("/", "-"), str(path), *args)
    return file[name + ".frames"].reshape(-1, *size, 3), file[name + ".valid"].ravel()


def test_the_store_has_the_frames_of_the_command(driver, path, tmp_path):
    one = opened(path)
    assert one.report()["report"]["decoder"] == {"device": "cpu"}
    assert [c["left"] for c in one.report()["report"]["cameras"]] == [FRAMES, FRAMES]
    one.fill()
    for camera, (name, size) in enumerate([(HIGH, (6, 8)), (WRIST, (7, 9))]):
        frames, places = store(one, camera)
        expected, valid = want(path, name, size, tmp_path)
        assert [p < FRAMES for p in places] == [bool(v) for v in valid[:FRAMES]]
        for k, place in enumerate(places):
            if place < FRAMES:
                assert frames.reshape(-1, *size, 3)[place].tobytes() == expected[k].tobytes(), (name, k)
            else:
                assert place == 1 << 40
    report = one.report()["report"]["cameras"]
    assert [(c["level"], c["left"], c["decoded"]) for c in report] == [("device", 0, FRAMES)] * 2
    assert report[0]["bad"] == sum(p >= FRAMES for p in store(one, 0)[1])
    assert one.report()["waits"]["frames_seconds"] > 0
    batch = one.next()
    assert batch[HIGH].shape == (2, 1, 6, 8, 3) and batch[HIGH].dtype == torch.uint8
    assert batch[WRIST].shape == (2, 1, 3, 5, 6) and batch[WRIST].dtype == torch.bfloat16
    one.close()


def test_a_batch_waits_for_its_frames_and_then_the_helper_ends(driver, path):
    one = opened(path)
    child = one._filler.child
    one.next()
    frames, places = store(one, 0)
    assert frames.reshape(FRAMES, -1)[0].any()
    for _ in range(4):
        one.next()
    assert one._filler is None and child.closed
    one.seek(one.place.state)
    one.next()
    one.close()


def test_a_capture_needs_all_frames(driver, path, monkeypatch):
    one = opened(path)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    before = one.place
    for call in (one.next, one.fill):
        with pytest.raises(UnsupportedError, match="loader.fill"):
            call()
    assert one.place == before
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    one.fill()
    one.fill()
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    one.next()
    one.close()


def killed(one):
    os.kill(one._filler.child.process_id, signal.SIGKILL)


def test_a_killed_helper_is_an_error_or_another_goes_on(driver, path):
    one = opened(path)
    killed(one)
    with pytest.raises(ServerError, match="restart=True"):
        one.next()
    one.close()
    one = opened(path, restart=True)
    whole = opened(path)
    whole.fill()
    for _ in range(3):
        place = one.place
        if one._filler:
            killed(one)
        one.next()
        assert one.place != place
    one.fill()
    for camera in range(2):
        assert store(one, camera)[1] == store(whole, camera)[1]
        if max(store(one, camera)[1]) < FRAMES:
            assert store(one, camera)[0].tobytes() == store(whole, camera)[0].tobytes()
    one.close(), whole.close()


def test_after_a_move_the_helper_gives_the_frames_there(driver, path):
    one = opened(path, batch=1, workers=1)
    asked, ask = [], one._filler.child.request

    def recorded(do, **fields):
        asked.append((do, fields))
        return ask(do, **fields)

    one._filler.child.request = recorded
    one.seek(dict(one.place.state, epoch=2, taken=3))
    one.next()
    assert [f.get("state", {}).get("taken") for do, f in asked if do == "fill"][0] == 3
    assert store(one, 0)[0].reshape(FRAMES, -1)[3].any()
    one.close()


def test_after_an_interrupt_the_frames_come_again(driver, path, monkeypatch):
    one = opened(path)
    copy = one._session.copy

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(one._session, "copy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        one.next()
    monkeypatch.setattr(one._session, "copy", copy)
    first = one._filler.child
    one.next()
    assert first.closed
    one.fill()
    assert all(store(one, 1)[0].reshape(FRAMES, -1).any(1))
    one.close()


def test_a_damaged_frame_is_an_error_of_a_strict_loader(driver, path):
    one = opened(path, strict=True)
    try:
        one.fill()
        damaged = False
    except (RecordingError, DataError):
        damaged = True
        with pytest.raises((RecordingError, DataError)):
            one.fill()
    assert damaged == (path.read_bytes() != (ROOT / "dataset/aloha/testdata/jpeg.hdf5").read_bytes())
    one.close()


@pytest.fixture
def begin(driver, path, monkeypatch):
    """Begins a loader's way as on a GPU with torch, which this torch cannot use."""
    handle = _replay.replayer(0).device.new_stream()
    monkeypatch.setattr(torch.cuda, "Stream", lambda device=None: types.SimpleNamespace(cuda_stream=handle))
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *size, **more: empty(*size, **dict(more, device="cpu")))
    loader = Loader.__new__(Loader)
    loader.device, loader.framework, loader._max_memory = types.SimpleNamespace(type="cuda", index=0), "torch", ""
    yield lambda **more: loader._begin(dict(request(path, **options(**more)), frames_on="cpu"), False, 2, False)
    _replay.replayer(0).device.close_stream(handle)


def test_frames_without_room_are_kept_by_the_helper(driver, path, begin):
    allocated = _replay.replayer(0).device.pool.allocated()
    with pytest.raises(OutOfMemoryError, match="frames"):
        opened(path, frame_memory=500)
    assert _replay.replayer(0).device.pool.allocated() == allocated
    for more, kind, level in [
        ({}, Resident, "device"),
        ({"frame_memory": 500}, Staged, "streaming"),
        ({"frame_level": "pinned"}, Staged, "pinned"),
        ({"frame_level": "streaming"}, Staged, "streaming"),
    ]:
        way = begin(**more)
        assert type(way) is kind
        assert [c["level"] for c in way.report()["report"]["cameras"]] == [level, level], more
        if kind is Staged:
            with pytest.raises(UnsupportedError, match="fill"):
                way.fill()
        way.close()
    with pytest.raises(OutOfMemoryError):
        begin(frame_level="device", frame_memory=500)


@pytest.mark.parametrize("level", ["device", "pinned"])
def test_a_loader_is_closed_if_its_gpu_is_lost(begin, monkeypatch, level):
    def fails(code):
        def unregister(*_):
            raise DriverError("cuMemHostUnregister", code=code)

        return unregister

    device = _replay.replayer(0).device
    lost, other = begin(frame_level=level), begin(frame_level=level)
    monkeypatch.setattr(device, "unregister", fails(710))  # CUDA_ERROR_ASSERT
    lost.close()
    lost.close()
    monkeypatch.setattr(device, "unregister", fails(1))
    with pytest.raises(DriverError):
        other.close()
    monkeypatch.undo()
    other.close()


def test_cameras_are_those_of_a_loader_on_the_cpu(path):
    with Loader(path, framework="numpy", **options(batch=4, frame_memory=0)) as loader:
        batch = next(iter(loader))
        assert batch[WRIST].shape == (4, 1, 3, 5, 6) and batch[WRIST].dtype == np.uint16
        assert "decoder" in loader.report()


@pytest.mark.skipif(not LONG, reason="it decodes 3,313 frames of videos twice: ROBOCACHE_LONG=1")
def test_more_frames_than_rooms_are_copied(driver):
    front = "observation.images.front"
    more = dict(batch=8, hz=None, rate=None, cameras={front: (12, 16)}, shuffle=None, frame_memory=0)
    path = shared("lerobot_v3_g1")
    one = opened(path, **dict(options(**more), workers=1))
    n = one.report()["report"]["cameras"][0]["wanted"]
    for _ in range(3):
        one.next()
    assert one._filler is not None
    one.seek(dict(one.place.state, epoch=1, taken=16))
    one.next()
    one.fill()
    at, device = one.reply["stores"][0], _replay.replayer(0).device
    frames = device.read(one._session._having().address(at["frames"][0]) + at["frames"][1], n * 12 * 16 * 3, 0)
    with Loader(path, framework="numpy", **dict(options(**more), shuffle=False, batch=n)) as loader:
        assert loader.next()[front].tobytes() == frames
    assert one.report()["report"]["cameras"][0]["decoded"] == n
    one.close()


@pytest.mark.parametrize(
    "camera, text",
    [
        (3, "cameras['a']: got 3, want (height, width)"),
        (Camera((0, 3)), "cameras['a']: got 0"),
        (Camera((2, 3), stored=4), "cameras['a'].stored: got 4"),
        (Camera((2, 3), crop=1), "cameras['a'].crop: got 1"),
        (Camera((2, 3), dtype="float64"), "cameras['a'].dtype: got 'float64'"),
        (Camera((2, 3), flip="x"), "cameras['a'].flip: got 'x'"),
        (Camera((2, 3), frames=420), "cameras['a'].frames: got 420"),
        (Camera((2, 3), names="b"), "cameras['a'].names: got 'b'"),
        (Camera((2, 3), jitter=(1, 2)), "cameras['a'].jitter: got (1, 2)"),
        (Camera((2, 3), jitter=0.1, contrast=0.1), "cameras['a'].jitter: got 0.1"),
    ],
)
def test_a_camera_is_checked(camera, text):
    with pytest.raises(ArgumentError) as caught:
        request("x", cameras={"a": camera})
    assert text in str(caught.value)


def test_jitter_is_of_three_factors():
    (one,) = request("x", cameras={"a": Camera((2, 3), jitter=0.2, flip=0.5)})["cameras"]
    assert (one["brightness"], one["contrast"], one["saturation"], one["flip"]) == (0.2, 0.2, 0.2, 0.5)
    (one,) = request("x", cameras={"a": Camera((2, 3), jitter=(0.1, 0, 0.3))})["cameras"]
    assert (one["brightness"], one["saturation"]) == (0.1, 0.3) and "contrast" not in one


def test_a_camera_has_its_own_name_in_each_dataset():
    whole, plan = ROOT / "dataset/aloha/testdata/jpeg.hdf5", dict(options(batch=8, frame_memory=0), framework="numpy")
    camera = {"cam": Camera((6, 8), names=[HIGH, WRIST], frames="rgb")}
    with Loader([whole, whole], **dict(plan, cameras=camera)) as loader:
        got = loader.next()
    with Loader(whole, **dict(plan, batch=4, cameras={HIGH: (6, 8), WRIST: (6, 8)})) as loader:
        want = loader.next()
    assert got["cam"].tobytes() == want[HIGH].tobytes() + want[WRIST].tobytes()
    assert got["dataset_index"].tolist() == [0] * 4 + [1] * 4
    with pytest.raises(ArgumentError, match="yuv420"):  # its frames are images
        Loader(whole, **dict(plan, cameras={HIGH: Camera((6, 8), frames="yuv420")}))
