"""Errors: their classes, fields and words."""

import os
import pickle
import subprocess
import sys

import pytest

import robocache as rc
from robocache import _errors

ALL = [getattr(rc, name) for name in _errors.__all__]


def test_every_error_is_an_error_of_the_package_and_of_its_kind():
    assert all(issubclass(c, rc.Error) for c in ALL)
    for cls, base in [
        (rc.ArgumentError, ValueError),
        (rc.DataError, ValueError),
        (rc.OutOfMemoryError, MemoryError),
        (rc.UnsupportedError, NotImplementedError),
        (rc.ServerError, RuntimeError),
    ]:
        assert issubclass(cls, base)


@pytest.mark.parametrize("cls", ALL)
def test_errors_keep_their_fields_when_they_travel(cls):
    e = cls(
        "text", op="fuse", arg="streams[1].times", row=0, index=7, got="a", want="b", path="p", stream="s", kind="k"
    )
    back = pickle.loads(pickle.dumps(e))
    assert type(back) is cls and str(back) == "text" and vars(back) == vars(e)


@pytest.mark.parametrize(
    "go, python",
    [
        ("Src", "values"),
        ("Streams[2].SrcTimes", "streams[2].times"),
        ("Streams[15].Options.Interp", "streams[15].kind"),
        ("Streams[0].Options.Channels[3].Interp", "streams[0].channels[3].kind"),
        ("Channels[1]", "channels[1]"),
        ("Options.MaxGap", "max_gap"),
        ("Options.FillGaps", "fill_gaps"),
        ("Targets", "targets"),
        ("Targets.Times", "targets"),
        ("Targets.Anchors", "targets.anchors"),
        ("Targets.Rate", "targets.rate"),
        ("DstOffsets", "target_offsets"),
        ("SrcStarts", "starts"),
        ("Dst", "out"),
        ("Options.MaxPoints", "max_points"),
        ("ClipMin", "clip"),
        ("RowSplits", "out.row_splits"),
        ("Points", "points"),
    ],
)
def test_arguments_have_their_python_names(go, python):
    assert _errors.python_argument(go) == python


def test_explanations_have_python_names_too():
    e = _errors.from_reply(
        {
            "class": "ArgError",
            "op": "Resample",
            "arg": "SrcLengths",
            "kind": "missing argument",
            "got": "nil, with SrcStarts",
            "want": "a tensor [B]",
        }
    )
    assert type(e) is rc.ArgumentError
    assert str(e) == "resample: lengths: missing argument: got None, with starts, want a tensor [B]"
    e = _errors.from_reply(
        {
            "class": "ArgError",
            "op": "Fuse",
            "arg": "Src",
            "kind": "wrong shape",
            "got": "a batch of 2",
            "want": "a batch of 3, as Streams[0].Src",
        }
    )
    assert e.want == "a batch of 3, as streams[0].values"


@pytest.mark.parametrize(
    "reply, cls",
    [
        ({"class": "ArgError", "kind": "not supported", "op": "Voxelize", "arg": "Points"}, rc.UnsupportedError),
        ({"class": "MemoryError", "message": "out of memory on host: asked for 9 bytes"}, rc.OutOfMemoryError),
        ({"class": "FormatError", "path": "a.ulg", "stream": "imu", "message": "cut"}, rc.RecordingError),
        ({"class": "PlanError", "message": "line 3"}, rc.PlanError),
        ({"class": "VersionError", "message": "1 and 2"}, rc.VersionError),
        ({"class": "RequestError", "arg": "tensors", "message": "x"}, rc.ServerError),
        ({"class": "PanicError", "message": "index out of range"}, rc.ServerError),
        ({"class": "Error", "message": "x"}, rc.Error),
        ({"class": "SomethingNew", "message": "y"}, rc.Error),
        ({}, rc.Error),
    ],
)
def test_every_class_of_reply_has_its_error(reply, cls):
    e = _errors.from_reply(reply)
    assert type(e) is cls
    assert e.path == reply.get("path") and e.stream == reply.get("stream")
    if "message" in reply:
        assert str(e) == reply["message"]


def test_errors_of_the_system_are_marked(tmp_path):
    # The child reads the address from its environment, so it is another process.
    program = """
import robocache as rc
for path in ("s3://bucket/set", {missing!r}):
    try:
        rc.Recording(path)
    except rc.RecordingError as e:
        print(e.system)
""".format(missing=str(tmp_path / "missing"))
    keys = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    run = subprocess.run([sys.executable, "-c", program], env=dict(os.environ, **keys), stdout=subprocess.PIPE, check=True)
    assert run.stdout.split() == [b"True", b"False"]
