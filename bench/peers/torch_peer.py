#!/usr/bin/env python3
"""Measures PyTorch on the jobs of robocache bench, on the GPU or with --device cpu:

    robocache bench resample forms fuse backward voxelize --list --json | bench/peers/torch_peer.py > torch.json
    robocache bench --backend cuda --compare torch.json

On a GPU each job is measured four ways: eager, wall (as a program calls it, the wait included, by the clock on the wall); eager in a
CUDA graph; torch.compile, wall; torch.compile in a CUDA graph. In a graph the time is that between two events around a replay, over
sets of inputs that exceed the L2 together, as in robocache. On the CPU there are eager and, with --compile, torch.compile, by the clock
on the wall. Of forms it does values and times of every dtype, all clocks, shuffled targets, masks and ages, all linear; jobs of other kinds, channel
tables and gap limits are left out, and said to be. Gradients are autograd's of the same resampling, which it makes first, eager only. Nothing is checked: unordered times and non-finite points would give nonsense. Each job's result is compared with
numpy's first.
"""
import sys

import numpy as np
import torch

import common

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "f64": torch.float64}
CLOCKS = {"f32": torch.float32, "f64": torch.float64, "i64": torch.int64}


def resample(src, times, targets, valid=False, age=False):
    """src [B,S,D] at times [B,S], linearly, at targets [B,T]; the ends are held. Then, if asked for, mask and age [B,T]."""
    d = src.shape[2]
    wide = torch.float64 if src.dtype == torch.float64 else torch.float32
    hi = torch.searchsorted(times, targets, right=True)
    out = []
    if valid:
        out.append(((targets >= times[:, :1]) & (targets <= times[:, -1:])).to(torch.uint8))
    if age:
        out.append(targets - times.gather(1, (hi - 1).clamp(min=0)))
    hi = hi.clamp(1, times.shape[1] - 1)
    lo = hi - 1
    t0, t1 = times.gather(1, lo), times.gather(1, hi)
    w = ((targets - t0) / (t1 - t0)).clamp(0, 1).to(wide).unsqueeze(2)  # of int64 in float32
    v0 = src.gather(1, lo.unsqueeze(2).expand(-1, -1, d)).to(wide)
    v1 = src.gather(1, hi.unsqueeze(2).expand(-1, -1, d)).to(wide)
    return [(v0 + w * (v1 - v0)).to(src.dtype), *out]


def fuse(sources, targets, valid=False, age=False):
    parts = zip(*(resample(src, times, targets, valid, age) for src, times in sources))
    return [torch.cat(list(p), 2) if p[0].dim() == 3 else torch.stack(list(p), 2) for p in parts]


def backward(src, times, targets, grad):
    """The gradient of resample with respect to src, from that with respect to what it gives."""
    return torch.autograd.grad(resample(src, times, targets)[0], src, grad)


def voxels(points, features, n, reduce):
    """A dense grid [n^3] or [n^3,F] over the cube from -10 to 10."""
    cell = torch.floor((points + 10) / (20 / n)).long()
    inside = ((cell >= 0) & (cell < n)).all(1)
    # Points outside go to a cell of their own, which is cut off: no result has a size that depends on the data.
    flat = torch.where(inside, (cell[:, 2] * n + cell[:, 1]) * n + cell[:, 0], n**3)
    size = n**3 + 1
    if reduce == "occupancy":
        return torch.zeros(size, dtype=torch.uint8, device=points.device).scatter_(0, flat, 1)[:-1]
    if reduce in ("max", "min"):
        grid = torch.zeros(size, features.shape[1], device=points.device)
        index = flat.unsqueeze(1).expand(-1, features.shape[1])
        return grid.scatter_reduce_(0, index, features, "a" + reduce, include_self=False)[:-1]
    count = torch.zeros(size, dtype=torch.int32, device=points.device).scatter_add_(0, flat, torch.ones_like(flat, dtype=torch.int32))
    if reduce == "count":
        return count[:-1]
    sums = torch.zeros(size, features.shape[1], device=points.device).index_add_(0, flat, features)
    return (sums if reduce == "sum" else sums / count.clamp(min=1).unsqueeze(1))[:-1]


class Job:
    """A function, the arguments of its sets, and what numpy says of the first."""

    def __init__(self, j, args):
        self.j, rng = j, np.random.default_rng(1)
        put = lambda a, dtype: torch.from_numpy(a).to(args.device, dtype)
        if j["suite"] == "voxelize":
            points = put(common.cloud(rng, j["points"], j["cloud"]), torch.float32)
            features = put(common.values(rng, j["points"], j.get("features", 0)), torch.float32)
            self.fn, self.sets = voxels, [(points, features, j["cells"], j["reduce"])]
            return
        dtype, clock = DTYPES[j.get("values", "bf16")], CLOCKS[j.get("times", "f32")]
        streams = j["streams"] if j["suite"] == "fuse" else [{"S": j["S"], "D": j["D"]}]
        value, timestamp = torch.empty(0, dtype=dtype).element_size(), torch.empty(0, dtype=clock).element_size()
        b, t = j["B"], j["T"]
        each = b * t * timestamp + sum(b * s["S"] * (value * s["D"] + timestamp) + b * t * value * s["D"] for s in streams)
        ticks = lambda a: put(np.round(a * 1e9) if clock == torch.int64 else a, clock)
        one = [(put(common.values(rng, b, s["S"], s["D"]), dtype), ticks(common.timestamps(rng, b, s["S"], common.clock(j)))) for s in streams]
        targets = ticks(common.targets(rng, j))
        if j["suite"] == "backward":
            grad = put(common.values(rng, b, t, j["D"]), dtype)
            new = lambda: (one[0][0].clone().requires_grad_(), one[0][1].clone(), targets.clone(), grad.clone())
            self.fn, self.sets = backward, [new() for _ in range(common.count_sets(each, args.rotate * 1e6))]
            return
        self.sets = []
        for _ in range(common.count_sets(each, args.rotate * 1e6)):
            sources = [(src.clone(), times.clone()) for src, times in one]
            self.sets.append((sources, targets.clone()) if j["suite"] == "fuse" else (*sources[0], targets.clone()))
        fn, masks = fuse if j["suite"] == "fuse" else resample, (j.get("valid", False), j.get("age", False))
        self.fn = lambda *of: fn(*of, *masks)

    def check(self):
        """Compares the first set's result with numpy's."""
        args, j = self.sets[0], self.j
        result = self.fn(*args)
        got = (result if j["suite"] == "voxelize" else result[0]).detach().double().cpu().numpy()
        if j["suite"] == "backward":
            c, t, g = (x[0].double().cpu().numpy() for x in args[1:])
            weights = np.stack([np.interp(t, c, one) for one in np.eye(len(c))], 1)
            off = np.abs(got[0] - weights.T @ g).max()
            assert off < 0.02 * max(1, np.abs(got[0]).max()), f"{j['name']}: off by {off} from numpy"
            return
        if j["suite"] == "voxelize":
            points = args[0].cpu().numpy()
            n = j["cells"]
            cell = np.floor((points + np.float32(10)) / np.float32(20 / n)).astype(np.int64)
            inside = ((cell >= 0) & (cell < n)).all(1)
            want = np.bincount(((cell[:, 2] * n + cell[:, 1]) * n + cell[:, 0])[inside], minlength=n**3)
            filled = got if got.ndim == 1 else np.abs(got).max(1)
            # The division differs from numpy's in the last bit, so that points on a border may lie in the next cell.
            wrong = ((want > 0) != (filled > 0)).sum() if j["reduce"] != "count" else (want != got).sum()
            assert wrong <= 1e-3 * n**3 + 10, f"{j['name']}: {wrong} cells differ from numpy's"
            return
        sources, targets = args if j["suite"] == "fuse" else ([args[:2]], args[2])
        at, seen = 0, []
        for src, times in sources:
            s, c, t = (x.double().cpu().numpy() for x in (src[0], times[0], targets[0]))
            for d in (0, s.shape[1] - 1):
                off = np.abs(got[0, :, at + d] - np.interp(t, c, s[:, d])).max()
                assert off < 0.02, f"{j['name']}: off by {off} from numpy"
            for name, more in zip([m for m in ("valid", "age") if j.get(m)], result[1:]):
                want = np.ones(len(t)) if name == "valid" else t - c[np.maximum(np.searchsorted(c, t, "right") - 1, 0)]
                more = (more if j["suite"] != "fuse" else more[:, :, len(seen)])[0].double().cpu().numpy()
                assert np.allclose(more, want, rtol=1e-6, atol=1e-6), f"{j['name']}: {name} differs from numpy's"
            seen.append(src)
            at += s.shape[1]


def in_a_graph(fn, sets, args):
    """Times replays of a CUDA graph of calls by events."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(side):
        for i in range(3):
            fn(*sets[i % len(sets)])
        start.record()
        for i in range(10):
            fn(*sets[i % len(sets)])
        end.record()
        end.synchronize()
    torch.cuda.current_stream().wait_stream(side)
    calls = max(min(int(args.batch / max(start.elapsed_time(end) / 1e4, 1e-6)), 2000), len(sets))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(calls):
            fn(*sets[i % len(sets)])
    samples = []
    for i in range(args.samples + common.WARM_UPS):
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        if i >= common.WARM_UPS:
            samples.append(start.elapsed_time(end) / 1e3)
    return common.stats(samples, calls)


def main():
    p = common.arguments(__doc__.split("\n")[0])
    p.add_argument("--device", default="cuda", help="cuda (default), cuda:N or cpu")
    p.add_argument("--compile", action="store_true", help="torch.compile on the CPU too")
    args = p.parse_args()
    gpu = args.device.startswith("cuda")
    if gpu and not torch.cuda.is_available():
        sys.exit("torch finds no GPU: --device cpu measures on the CPU")
    if gpu:
        torch.cuda.set_device(args.device if ":" in args.device else "cuda:0")
    args.rotate = (300 if gpu else 64) if args.rotate is None else args.rotate
    rows = []
    for j in common.jobs(args, ("resample", "forms", "fuse", "backward", "voxelize")):
        if j.get("reduce") == "hard" or common.lacking(j):
            print(f"not measured: {j['suite']} {j['name']}", file=sys.stderr)
            continue
        job = Job(j, args)
        job.check()
        forms = [("eager", job.fn)]
        if (gpu or args.compile) and j["suite"] != "backward":
            torch._dynamo.reset()  # it compiles one function for so many shapes, and then no more
            forms.append(("torch.compile", torch.compile(job.fn, dynamic=False)))
        for name, fn in forms:
            common.tell(j, name)

            def run(i):
                fn(*job.sets[i])
                if gpu:
                    torch.cuda.synchronize()

            run(0)  # compiles
            rows.append(common.row(j, f"{name}, wall" if gpu else name, common.on_the_wall(run, len(job.sets), args), "wall", len(job.sets)))
            if gpu:
                common.tell(j, f"{name}, graph")
                rows.append(common.row(j, f"{name}, graph", in_a_graph(fn, job.sets, args), "events", len(job.sets)))
        del job
    product = torch.cuda.get_device_name() if gpu else f"CPU, {torch.get_num_threads()} threads"
    common.write(f"PyTorch {torch.__version__}", {"backend": args.device, "name": args.device, "product": product}, rows)


if __name__ == "__main__":
    main()
