"""Values: the GPU gives the bits of the CPU, and of the command line."""

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch

import robocache as rc
from robocache import _child
from support import DEVICE, EXACT, FLOATS, QUICK, both, check_equal, check_near, in_clock, need_cuda, on_device, targets_of, times_of, values_of

SHAPES = [(1, 2, 3, 1), (3, 31, 33, 7), (2, 33, 1, 14), (5, 127, 129, 32), (8, 129, 64, 14)] + ([] if QUICK else [(32, 500, 250, 256), (2, 1000, 999, 64)])


def job(seed, shape, dtype, clock, shared=False):
    rng = np.random.default_rng(seed)
    b, s, t, d = shape
    times = times_of(rng, (s,) if shared else (b, s), clock)
    return values_of(rng, (b, s, d), dtype), times, targets_of(rng, times, t)


def options_of(kind):
    return {"window": 0.02} if kind.startswith("window") else {}


def test_every_exact_kind_dtype_and_clock():
    for i, shape in enumerate(SHAPES):
        for kind in EXACT:
            for dtype in FLOATS:
                for clock in ("i64", "f64", "f32"):
                    if i > 1 and clock != ("i64", "f64", "f32")[i % 3]:
                        continue
                    args = job(i, shape, dtype, clock, shared=i % 2 == 1)
                    got, want = both(rc.resample, *args, kind=kind, valid=True, age=True, pad=True, **options_of(kind))
                    check_equal(got, want, (shape, kind, dtype, clock))


def test_every_rule_of_edges_and_gaps():
    args = job(5, (3, 31, 65, 7), "f32", "i64")
    for edge in ("clamp", "fill", "extrapolate", "hold"):
        for more in ({}, {"fill": -7.5}, {"max_gap": 0.001}, {"max_gap": 0.002, "fill_gaps": True}, {"snap": 0.0005}):
            got, want = both(rc.resample, *args, edge=edge, valid=True, age=True, **more)
            check_equal(got, want, (edge, more))
    got, want = both(rc.resample, *args, kind="nearest", tolerance=0.0005, valid=True)
    check_equal(got, want, "tolerance")


def test_other_kinds_within_their_bound():
    rng = np.random.default_rng(1)
    _, times, targets = job(2, (3, 40, 50, 8), "f32", "i64")
    for dtype in ("f32", "f64"):
        values = torch.from_numpy(rng.standard_normal((3, 40, 8))).to(FLOATS[dtype])
        for kind in ("slerp", "angle", "pchip", "catmull-rom", "hermite", "window-mean"):
            x = values / values.view(3, 40, 2, 4).norm(dim=-1, keepdim=True).expand(3, 40, 2, 4).reshape(3, 40, 8) if kind == "slerp" else values
            got, want = both(rc.resample, x, times, targets, kind=kind, **options_of(kind))
            # Hermite's velocities are times brackets of milliseconds; the largest value is the scale of all.
            check_near(got, want, max(float(x.abs().max()), 6.3), (kind, dtype))


def test_other_dtypes_of_the_result():
    args = job(3, (4, 50, 40, 16), "f32", "i64")
    for dtype in FLOATS:
        check_equal(*both(rc.resample, *args, dtype=dtype), what=dtype)


def test_strides_slices_and_odd_addresses():
    on_device(None)
    rng = np.random.default_rng(4)
    wide = values_of(rng, (4, 60, 40), "f32")
    times = times_of(rng, (4, 60), "i64")
    targets = targets_of(rng, times, 50)
    for name, values in {
        "columns": wide[:, :, 3:20],
        "rows": wide[:, ::2],
        "broadcast": wide[:1].expand(4, 60, 40),
        "transposed": wide.transpose(0, 1).contiguous().transpose(0, 1),
    }.items():
        t = times[:, ::2] if name == "rows" else times
        want = rc.resample(values, t, targets, backend="cpu", valid=True)
        got = rc.resample(_same_strides(values), on_device(t), on_device(targets), valid=True)
        check_equal(tuple(got), tuple(want), name)
    for dtype in FLOATS:
        flat = values_of(rng, (4 * 60 * 8 + 9,), dtype)
        for shift in (1, 2, 3, 4, 8):
            values = flat[shift : shift + 4 * 60 * 8].view(4, 60, 8)
            moved = on_device(flat)[shift : shift + 4 * 60 * 8].view(4, 60, 8)
            out = torch.empty(4 * 50 * 8 + 9, dtype=FLOATS[dtype], device=DEVICE)[shift : shift + 4 * 50 * 8].view(4, 50, 8)
            got = rc.resample(moved, on_device(times), on_device(targets), out=out)
            check_equal(got, rc.resample(values, times, targets, backend="cpu"), (dtype, shift))


def _same_strides(x):
    storage = x.untyped_storage() if hasattr(x, "untyped_storage") else x.storage()
    flat = torch.as_strided(x, (storage.nbytes() // x.element_size(),), (1,), 0)
    return torch.as_strided(flat.to(DEVICE), x.shape, x.stride(), x.storage_offset())


def test_packed_rows_lengths_and_selected_rows():
    rng = np.random.default_rng(5)
    lengths = np.array([7, 1, 33, 20])
    offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    values = values_of(rng, (int(lengths.sum()), 14), "f32")
    times = torch.cat([times_of(rng, (n,), "i64") for n in lengths])
    targets = torch.from_numpy(rng.integers(-(10**6), 6 * 10**7, (4, 25)))
    check_equal(*both(rc.resample, values, times, targets, offsets=offsets, valid=True), what="offsets")
    starts, some = torch.tensor([8, 0, 41, 8, 10]), torch.tensor([33, 7, 20, 5, 1])
    chosen = torch.from_numpy(rng.integers(0, 6 * 10**7, (5, 25)))
    check_equal(*both(rc.resample, values, times, chosen, starts=starts, lengths=some, pad=True), what="starts")
    deltas = torch.arange(-5, 20) * 10**6
    anchored = rc.Anchored(torch.tensor([10**6, 0, 5 * 10**6, 3 * 10**7, 10**7]), deltas)
    check_equal(*both(rc.resample, values, times, anchored, starts=starts, lengths=some, pad=True, kind="previous"), what="anchored")
    padded, t, x = job(6, (4, 40, 30, 9), "bf16", "f64")
    check_equal(*both(rc.resample, padded, t, x, lengths=torch.tensor([40, 1, 17, 39]), valid=True), what="lengths")


def test_a_uniform_clock():
    values, times, _ = job(7, (4, 200, 1, 12), "f32", "i64", shared=True)
    for rate, count in ((50, 30), (333.3, 100)):
        check_equal(*both(rc.resample, values, times, rc.Uniform(0, rate, count), valid=True), what=rate)


def test_channels_of_several_kinds():
    values, times, targets = job(8, (4, 100, 70, 20), "f32", "i64")
    channels = [rc.Channel(0, 5, "linear"), rc.Channel(5, 6, "previous"), rc.Channel(6, 20, "nearest")]
    check_equal(*both(rc.resample, values, times, targets, channels=channels, valid=True), what="channels")


def fused(dtype="f32", clock="i64", b=4):
    rng = np.random.default_rng(9)
    streams = []
    for i, (s, d, kind) in enumerate(((100, 14, "linear"), (30, 7, "previous"), (61, 3, "nearest"))):
        times = times_of(rng, (b, s), clock, step=200_000_000 // s)
        more = {"shift": rng.standard_normal(d).tolist(), "scale": rng.uniform(0.5, 2, d).tolist()} if i == 0 else {}
        streams.append(rc.Stream(values_of(rng, (b, s, d), dtype), times, kind=kind, max_gap=0.05, offset=0.001 * i, **more))
    targets = in_clock(rng.integers(0, 2 * 10**8, (b, 80)), clock)
    return streams, targets


def test_fuse():
    for dtype in FLOATS:
        for clock in ("i64", "f64"):
            streams, targets = fused(dtype, clock)
            want = rc.fuse(streams, targets, valid=True, age=True, backend="cpu")
            got = rc.fuse([on_device(s) for s in streams], on_device(targets), valid=True, age=True)
            check_equal(tuple(got), tuple(want), (dtype, clock))
    streams, _ = fused()
    clock = rc.Uniform(0, 500, 90)
    got = rc.fuse([on_device(s) for s in streams], clock, dtype="bf16")
    check_equal(got, rc.fuse(streams, clock, dtype="bf16", backend="cpu"), "uniform")


def test_voxelize():
    rng = np.random.default_rng(10)
    for n in (1, 1000) if QUICK else (1, 33, 5000, 200000):
        points = torch.from_numpy(rng.uniform(-1, 11, (n, 3)).astype(np.float32))
        if n > 30:
            points[7, 1] = float("nan")
        features = torch.from_numpy(rng.standard_normal((n, 4)).astype(np.float32))
        labels = torch.from_numpy(rng.integers(0, 5, n).astype(np.int32))
        box = {"size": 0.5, "min": 0, "max": 10}
        for mode, reduce, more in (
            ("dense", "occupancy", {}),
            ("dense", "count", {}),
            ("dense", "max", {"features": features, "empty": -1}),
            ("dense", "mean", {"features": features}),
            ("dense", "majority", {"labels": labels}),
            ("hard", None, {"features": features, "max_points": 4, "max_voxels": 500}),
            ("sparse", "mean", {"features": features}),
            ("sparse", "max", {"features": features}),
        ):
            got, want = both(rc.voxelize, points, mode=mode, reduce=reduce, **box, **more)
            assert got.found == want.found, (n, mode, reduce, got.found, want.found)
            for name in ("grid", "values", "coords", "counts", "row_splits", "point_voxel"):
                g, w = getattr(got, name), getattr(want, name)
                assert (g is None) == (w is None), (mode, name)
                if w is not None and reduce == "mean" and w.is_floating_point():
                    check_near(g, w, 8 * float(features.abs().max()), (n, mode, reduce, name))
                elif w is not None:
                    check_equal(g, w, (n, mode, reduce, name))


def test_depth_images_and_far_points():
    rng = np.random.default_rng(12)
    for b, h, w in ((1, 3, 5), (3, 48, 64)) if QUICK else ((1, 3, 5), (3, 48, 64), (2, 480, 640)):
        depth = torch.from_numpy(rng.uniform(0, 4, (b, h, w)).astype(np.float32))
        depth[0, 0, :3] = torch.tensor([0, float("nan"), float("inf")])
        k = torch.from_numpy(rng.uniform(30, 60, (b, 4)).astype(np.float32))
        got, want = both(rc.deproject, depth, k, near=0.5, far=3)
        for name in got._fields:
            if getattr(want, name) is not None:
                check_equal(getattr(got, name), getattr(want, name), (b, h, w, name))
        color = torch.from_numpy(rng.integers(0, 256, (b, h, w, 3)).astype(np.uint8))
        compact, want_compact = both(rc.deproject, depth, k, near=0.5, far=3, compact=True, color=color)
        for name in compact._fields:
            check_equal(getattr(compact, name), getattr(want_compact, name), (b, h, w, "compact", name))
        points = want.points.reshape(b, -1, 3)
        for seed in (0, 3):
            got, want_indices = both(rc.farthest_points, points, min(h * w, 50), seed=seed)
            check_equal(got, want_indices, (b, h, w, seed))
    points = torch.from_numpy(rng.uniform(-1.1, 1.1, (20000, 3)).astype(np.float32))
    got, want = both(rc.voxelize, points, points.abs(), preset="peract", min=-1, max=1)
    check_equal(got.grid, want.grid, "peract")


def test_gradients():
    values, times, targets = job(11, (4, 60, 80, 12), "f32", "i64")
    targets = targets.sort(dim=-1).values
    values = torch.nan_to_num(values, 0.5, 1, -1)
    for dtype in ("f32", "f64", "bf16"):
        for kind in ("linear", "previous", "next", "nearest"):
            grads = []
            for move in (lambda x: x, on_device):
                x = move(values.to(FLOATS[dtype])).detach().requires_grad_()
                backend = "cpu" if move is not on_device else "auto"
                y = rc.resample(x, move(times), move(targets), kind=kind, backend=backend)
                y.backward(move(torch.linspace(-1, 1, y.numel()).view(y.shape).to(y.dtype)))
                grads.append(x.grad)
            check_equal(grads[1], grads[0], (dtype, kind))


def test_numpy_and_host_tensors_on_the_gpu():
    need_cuda()
    values, times, targets = job(12, (4, 60, 80, 12), "f32", "i64")
    want = rc.resample(values, times, targets, valid=True, backend="cpu")
    got = rc.resample(values, times, targets, valid=True, backend="cuda")
    check_equal(tuple(got), tuple(want), "torch")
    got = rc.resample(values.numpy(), times.numpy(), targets.numpy(), backend="cuda:0")
    assert isinstance(got, np.ndarray)
    check_equal(torch.from_numpy(got), want[0], "numpy")
    back = rc.resample(on_device(values), on_device(times), on_device(targets), backend="cpu")
    assert back.is_cuda
    check_equal(back, want[0], "computed on the CPU")


def test_the_command_line_gives_the_same_file():
    binary = _child.find_binary()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        for kind, more, flags in (
            ("linear", {}, []),
            ("previous", {"edge": "hold"}, ["--edge", "hold"]),
            ("nearest", {"edge": "fill", "fill": -7.5}, ["--edge", "fill", "--fill", "-7.5"]),
            ("linear", {"max_gap": 0.002}, ["--max-gap", "2ms"]),
        ):
            values, times, targets = job(13, (6, 200, 120, 14), "f32", "i64")
            np.savez(path / "in.npz", values=values.numpy(), times=times.numpy(), targets=targets.numpy())
            subprocess.run(
                [binary, "resample", "in.npz", "-o", "out.npz", "--backend", "cpu", "--method", kind, "--snap", "0s"] + flags,
                cwd=folder, check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            got = rc.resample(on_device(values), on_device(times), on_device(targets), kind=kind, valid=True, age=True, **more)
            with np.load(path / "out.npz") as f:
                check_equal(got.values, torch.from_numpy(f["values"]), (kind, more))
                assert np.array_equal(got.valid.cpu().numpy().astype(bool), f["valid"].astype(bool)), (kind, more)
                assert np.array_equal(got.age.cpu().numpy(), f["age"]), (kind, more)


def test_forced_images():
    """The PTX that the driver compiles gives the bits of the machine code."""
    need_cuda()
    code = (
        "import sys, torch; sys.path[:0] = sys.argv[1:]; import robocache as rc\n"
        "x = torch.arange(4000, dtype=torch.float32, device='cuda').view(4, 100, 10).sin(); t = torch.arange(100, device='cuda') * 10\n"
        "y = rc.resample(x, t, torch.arange(333, device='cuda') * 3, check=True); print(y.view(torch.int32).sum().item())\n"
        "print(rc.info()['cuda']['used']['cuda:0']['kernels'])"
    )
    said = {}
    for kind in ("cubin", "sm_90.ptx", "sm_80.ptx"):
        here = str(pathlib.Path(rc.__file__).parents[1])
        out = subprocess.run([sys.executable, "-c", code, here], env=dict(os.environ, ROBOCACHE_KERNELS=kind), capture_output=True, text=True)
        if out.returncode != 0 and kind == "cubin":
            continue  # there is none for this device
        assert out.returncode == 0, out.stderr
        said[kind] = out.stdout.splitlines()[0]
    assert len(set(said.values())) == 1 and len(said) >= 2, said
