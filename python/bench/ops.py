"""What an operation costs from Python, beside PyTorch doing the same in the same run.

    python3 python/bench/ops.py --out ops.json

It needs torch; parts that need a GPU or JAX are left out where there is none. It prints a table, and writes every
number as JSON.

  call      host time of a call, in microseconds: the median of batches of calls that are queued and then waited
            for, the wait not counted
  gpu       GPU time of a call, in microseconds: that of many calls in a CUDA graph, by events
  step      a training step in one CUDA graph, in milliseconds, with its preprocessing inside: of RoboCache, of
            PyTorch, and none
  start     seconds to import the package, and to its first result, each in a process of its own
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import torch

import robocache as rc

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
SHAPES = {"small": (1, 100, 50, 14), "usual": (32, 500, 250, 256), "fuse": (32, 500, 250, 64)}


def wait():
    if GPU:
        torch.cuda.synchronize()


def call_time(function, quick, batch=50):
    """Host microseconds of a call."""
    for _ in range(20):
        function()
    wait()
    found = []
    for _ in range(10 if quick else 100):
        begin = time.perf_counter()
        for _ in range(batch):
            function()
        took = time.perf_counter() - begin
        wait()
        found.append(took / batch * 1e6)
    return statistics.median(found)


def captured(function):
    """Returns a CUDA graph of what a function queues, which was warmed up on a side stream."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph


def graph_times(graphs, quick, calls):
    """GPU microseconds of a call in each graph, measured in turns: the median of rounds."""
    found = {name: [] for name in graphs}
    for _ in range(5 if quick else 30):
        for name, graph in graphs.items():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            graph.replay()
            begin.record()
            for _ in range(10):
                graph.replay()
            end.record()
            end.synchronize()
            found[name].append(begin.elapsed_time(end) / 10 / calls * 1e3)
    return {name: statistics.median(times) for name, times in found.items()}


def torch_resample(values, times, targets):
    """Linear, clamped at the ends: search, gather and lerp."""
    k = (torch.searchsorted(times, targets, right=True) - 1).clamp_(0, times.shape[1] - 2)
    t0, t1 = times.gather(1, k), times.gather(1, k + 1)
    a = ((targets - t0).double() / (t1 - t0).double()).float().clamp_(0, 1)[..., None]
    index = k[..., None].expand(-1, -1, values.shape[-1])
    return torch.lerp(values.gather(1, index).float(), values.gather(1, index + 1).float(), a).to(values.dtype)


def torch_fuse(streams, targets):
    return torch.cat([torch_resample(v, t, targets) for v, t in streams], -1)


def inputs(shape, dtype):
    b, s, t, d = shape
    torch.manual_seed(1)
    values = torch.randn(b, s, d, device=DEVICE).to(dtype)
    times = (torch.arange(s, device=DEVICE) * 4_000_000).expand(b, s).contiguous() + torch.randint(0, 1_000_000, (b, s), device=DEVICE)
    targets = (torch.arange(t, device=DEVICE) * (s * 4_000_000 // t)).expand(b, t).contiguous() + 1_234_567
    return values, times, targets


def check_close(ours, theirs):
    differ = (ours.float() - theirs.float()).abs().max().item()
    assert differ < 0.05, "the results differ by {}".format(differ)


def compiled(function, *args):
    """Returns the function compiled by torch, or None where this torch cannot."""
    if not hasattr(torch, "compile"):
        return None
    try:
        made = torch.compile(function, fullgraph=True)
        made(*args)
        return made
    except Exception as e:  # what a compiler may raise has no one type
        print("torch.compile: {}: {}".format(type(e).__name__, str(e)[:200]), file=sys.stderr)
        return None


def bench_resample(name, dtype, quick):
    values, times, targets = inputs(SHAPES[name], dtype)
    check_close(rc.resample(values, times, targets), torch_resample(values, times, targets))
    out = rc.resample(values, times, targets)
    ways = {
        "robocache": lambda: rc.resample(values, times, targets),
        "robocache out=": lambda: rc.resample(values, times, targets, out=out),
        "torch eager": lambda: torch_resample(values, times, targets),
    }
    fast = compiled(torch_resample, values, times, targets)
    if fast is not None:
        ways["torch.compile"] = lambda: fast(values, times, targets)
    if GPU:
        ways["replayed"] = replayed(values, times, targets, out)
        ways["torch.empty_like"] = lambda: torch.empty_like(out)
    return measured(ways, quick, graphed=("robocache", "torch eager", "torch.compile"))


def bench_fuse(quick):
    b, s, t, d = SHAPES["fuse"]
    streams = [inputs((b, n, t, w), torch.float32)[:2] for n, w in ((s, d), (s // 5, d // 2), (s // 10, 7))]
    targets = inputs((b, s // 10, t, 1), torch.float32)[2].clamp(max=int(streams[2][1].max()))
    ours = [rc.Stream(v, x) for v, x in streams]
    check_close(rc.fuse(ours, targets), torch_fuse(streams, targets))
    ways = {"robocache": lambda: rc.fuse(ours, targets), "torch eager": lambda: torch_fuse(streams, targets)}
    fast = compiled(torch_fuse, streams, targets)
    if fast is not None:
        ways["torch.compile"] = lambda: fast(streams, targets)
    return measured(ways, quick, graphed=tuple(ways))


def measured(ways, quick, graphed):
    result = {name: {"call_us": call_time(way, quick)} for name, way in ways.items()}
    if GPU:
        calls = 20
        graphs = {}
        for name in graphed:
            if name in ways:
                graphs[name] = captured(lambda way=ways[name]: [way() for _ in range(calls)])
        for name, took in graph_times(graphs, quick, calls).items():
            result[name]["gpu_us"] = took
    return result


def replayed(values, times, targets, out):
    """Returns the last part of a call alone: its plan is known, its addresses are at hand."""
    from robocache import _replay

    one = _replay.replayer(values.device.index)
    names = {"f": {torch.float32: "f32", torch.bfloat16: "bf16"}[values.dtype]}
    tensors = {
        name: {"dtype": dtype, "shape": list(x.shape), "strides": list(x.stride())}
        for name, dtype, x in (("Dst", names["f"], out), ("Src", names["f"], values), ("SrcTimes", "i64", times), ("Targets", "i64", targets))
    }
    request = {"op": "resample", "tensors": tensors, "options": {"interp": "linear", "edge": "clamp"}}
    pointers = tuple(x.data_ptr() for x in (out, values, times, targets))
    stream = torch.cuda.current_stream().cuda_stream
    key = ("bench", tuple(values.shape), values.dtype)
    one.run(key, lambda: request, pointers, stream, check=True)
    return lambda: one.run(key, None, pointers, stream)


def bench_dlpack(quick):
    """A capsule in and a result out, without work between."""
    from robocache import _device, _dlpack

    x = torch.zeros(32, 500, 256, device="cuda")
    on = _device.device(0)
    return {
        "capsule in": {"call_us": call_time(lambda: _dlpack.Taken(x.__dlpack__()).close(), quick)},
        "memory and capsule out": {
            "call_us": call_time(lambda: torch.utils.dlpack.from_dlpack(_dlpack.Memory(on, "f32", (250, 256), on.stream)), quick)
        },
    }


def bench_jax(quick):
    try:
        import jax

        gpu = jax.devices("gpu")[0]
    except (ImportError, RuntimeError) as e:
        return {"left out": str(e).splitlines()[0][:200]}
    values, times, targets = inputs(SHAPES["usual"], torch.bfloat16)
    x = jax.device_put(values.float().cpu().numpy(), gpu).astype(jax.numpy.bfloat16)
    t, q = times.cpu().numpy() / 1e9, targets.cpu().numpy() / 1e9
    t, q = jax.device_put(t.astype("float32"), gpu), jax.device_put(q.astype("float32"), gpu)

    def same(x, t, q):
        def row(x, t, q):
            k = jax.numpy.clip(jax.numpy.searchsorted(t, q, side="right") - 1, 0, t.shape[0] - 2)
            a = jax.numpy.clip((q - t[k]) / (t[k + 1] - t[k]), 0, 1)[:, None]
            return (x[k] + a * (x[k + 1] - x[k]).astype("float32")).astype(x.dtype)

        return jax.vmap(row)(x, t, q)

    from robocache import _device, _dlpack

    jitted = jax.jit(same)
    on = _device.device(0)
    ways = {
        "robocache": lambda: rc.resample(x, t, q),
        "jax.jit": lambda: jitted(x, t, q),
        "x + x": lambda: x + x,
        "x.__dlpack__": lambda: x if _dlpack.Taken(x.__dlpack__(stream=on.stream)) else x,
        "jax.dlpack.from_dlpack": lambda: jax.dlpack.from_dlpack(_dlpack.Memory(on, "bf16", (32, 250, 256), on.stream)),
    }
    result = {}
    for name, way in ways.items():
        way().block_until_ready()
        found = []
        for _ in range(5 if quick else 40):
            begin = time.perf_counter()
            for _ in range(20):
                y = way()
            took = time.perf_counter() - begin
            y.block_until_ready()
            found.append(took / 20 * 1e6)
        result[name] = {"call_us": statistics.median(found)}
    return result


def in_a_process(part, quick):
    """A part in a process of its own: JAX wants to be told before it is imported how much memory to leave."""
    command = [sys.executable, os.path.abspath(__file__), "--part", part] + (["--quick"] if quick else [])
    out = subprocess.run(
        command, env=dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false"), capture_output=True, text=True
    )
    if out.returncode != 0:
        return {"failed": out.stderr[-500:]}
    return json.loads(out.stdout.splitlines()[-1])


def bench_step(quick):
    """A step of a four-layer transformer encoder on the usual shape, captured whole."""
    b, s, t, d = SHAPES["usual"]
    raw, times, targets = inputs((b, s, t, d), torch.bfloat16)
    ready = rc.resample(raw, times, targets)
    fast = compiled(torch_resample, raw, times, targets)
    ways = {
        "none": lambda: ready,
        "robocache": lambda: rc.resample(raw, times, targets),
        "torch eager": lambda: torch_resample(raw, times, targets),
    }
    if fast is not None:
        ways["torch.compile"] = lambda: fast(raw, times, targets)
    graphs, alive = {}, []
    for name, way in ways.items():
        torch.manual_seed(2)
        layer = torch.nn.TransformerEncoderLayer(d, 8, 1024, dropout=0.0, batch_first=True)
        model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).to(DEVICE, torch.bfloat16)
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, capturable=True)

        def step(way=way, model=model, optimiser=optimiser):
            optimiser.zero_grad(set_to_none=True)
            loss = model(way()).float().pow(2).mean()
            loss.backward()
            optimiser.step()

        graphs[name] = captured(step)
        alive.append((model, optimiser))  # a graph holds addresses, not memory
    took = graph_times(graphs, quick, 1)
    result = {}
    for name, us in took.items():
        result[name] = {"step_ms": us / 1e3, "share_percent": 100 * (us - took["none"]) / us}
    return result


def bench_start():
    """Seconds in processes of their own, the best of three; with torch imported before."""
    root = str(pathlib.Path(rc.__file__).parents[1])
    head = "import sys, time; sys.path.insert(0, {!r}); import torch; d = {!r}; torch.zeros(1, device=d)\n".format(root, DEVICE)
    head += "a = time.perf_counter(); import robocache as rc; b = time.perf_counter()\n"
    work = (
        "x = torch.zeros(2, 10, 3, device=d); t = torch.arange(10, device=d)\n"
        "c = time.perf_counter(); y = rc.resample(x, t, t).cpu(); e = time.perf_counter(); z = rc.resample(x, t, t).cpu()\n"
        "print(b - a, e - c, time.perf_counter() - e)"
    )
    found = []
    for _ in range(3):
        out = subprocess.run([sys.executable, "-c", head + work], capture_output=True, text=True)
        if out.returncode != 0:
            return {"left out": out.stderr[-300:]}
        found.append([float(x) for x in out.stdout.split()])
    best = [min(column) for column in zip(*found)]
    return {"robocache": {"import_s": best[0], "first_s": best[1], "second_s": best[2]}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="ops.json")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="parts whose names contain this")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    quick = options.quick
    if options.part == "jax":
        print(json.dumps(bench_jax(quick)))
        return 0
    jobs = {
        "start": bench_start,
        "resample small f32": lambda: bench_resample("small", torch.float32, quick),
        "resample usual bf16": lambda: bench_resample("usual", torch.bfloat16, quick),
        "fuse f32": lambda: bench_fuse(quick),
    }
    if GPU:
        jobs["dlpack"] = lambda: bench_dlpack(quick)
        jobs["step"] = lambda: bench_step(quick)
        jobs["jax usual bf16"] = lambda: in_a_process("jax", quick)
    result = {
        "machine": {
            "gpu": torch.cuda.get_device_name() if GPU else None,
            "processor": platform.processor() or platform.machine(),
            "python": platform.python_version(),
            "torch": torch.__version__,
            "robocache": rc.__version__,
            "shapes": SHAPES,
        }
    }
    failed = 0
    for name, job in jobs.items():
        if options.only not in name:
            continue
        try:
            result[name] = job()
        except Exception as e:  # the other parts are worth having
            import traceback

            traceback.print_exc()
            result[name] = {"failed": "{}: {}".format(type(e).__name__, e)}
            failed = 1
        show(name, result[name])
    result["info"] = rc.info()
    with open(options.out, "w") as f:
        json.dump(result, f, indent=1)
    return failed


def show(name, rows):
    print("\n" + name)
    for row, numbers in rows.items():
        if isinstance(numbers, dict):
            print("  {:24}".format(row) + "".join("{:>16}".format("{} {:.4g}".format(k, v)) for k, v in numbers.items()))
        else:
            print("  {:24}{}".format(row, numbers))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
