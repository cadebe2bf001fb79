// Command resample measures Resample on a GPU beside the speed-of-light kernel, which only reads and writes the least bytes
// that the operation must move. Both run in one process, as CUDA-graph replays over input sets that together are several
// times the L2, timed with events; the figures are medians. See bench/README.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// job is one shape: B rows of S samples onto T targets, D bf16 features, float32 times.
type job struct{ B, S, T, D int }

func (j job) String() string { return fmt.Sprintf("%dx%d->%dx%d", j.B, j.S, j.T, j.D) }

var jobs = []job{
	{64, 4096, 1024, 32}, {32, 500, 250, 256}, {256, 500, 250, 32}, {64, 1000, 500, 512}, {256, 4096, 4096, 256},
	{8, 250, 128, 128}, {4, 100, 50, 32},
}

// row is one line of the result. Times are microseconds of GPU time.
type row struct {
	Job    string  `json:"job"`
	Ours   float64 `json:"ours_us"`
	Null   float64 `json:"null_us"` // an empty kernel, launched the same way
	Limit  float64 `json:"limit_us"`
	Ratio  float64 `json:"ratio"`
	GBs    float64 `json:"gb_per_s"`
	HostNs float64 `json:"host_ns_per_run"`
}

func main() {
	started := time.Now()
	asJSON := flag.Bool("json", false, "print JSON")
	only := flag.String("only", "", "measure one shape, such as 64x4096->1024x32")
	first := flag.Bool("first", false, "only measure the time from the start of the program to the first result")
	flag.Parse()
	dev, err := ops.Open("cuda")
	check(err)
	if *first {
		firstResult(dev, started)
		return
	}
	var rows []row
	for _, j := range jobs {
		if *only != "" && *only != j.String() {
			continue
		}
		rows = append(rows, measure(dev, j))
	}
	if *asJSON {
		check(json.NewEncoder(os.Stdout).Encode(map[string]any{"device": dev.Info(), "resample": rows}))
		return
	}
	info := dev.Info()
	fmt.Printf("%s, %s\n%s\nbf16 values, f32 times, checking on; medians of graph replays, us of GPU time\n", info.Product, info.Driver, info.Kernels)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "shape\tours\tlimit\tratio\tempty\tGB/s\thost ns/run\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t\n", r.Job, r.Ours, r.Limit, r.Ratio, r.Null, r.GBs, r.HostNs)
	}
	check(w.Flush())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "resample:", err)
		os.Exit(1)
	}
}

func firstResult(dev *ops.Device, started time.Time) {
	_, err := dev.Resample(ops.ResampleArgs{
		Src:      tensor.Must(tensor.Of([]float32{0, 1, 2}, 3, 1)),
		SrcTimes: tensor.Must(tensor.Of([]int64{0, 10, 20}, 3)),
		Targets:  ops.Uniform(0, 2e8, 5),
	}, ops.ResampleOptions{})
	check(err)
	fmt.Printf("start to first result: %.0f ms (%s)\n", time.Since(started).Seconds()*1e3, dev.Info().Kernels)
}

// sets are input sets that together exceed 300 MB, one after the other in a few allocations.
type sets struct {
	n                       int
	src, times, target, dst *tensor.Tensor
}

func makeSets(dev *ops.Device, j job) sets {
	each := 2*j.B*j.D*(j.S+j.T) + 4*j.B*(j.S+j.T)
	s := sets{n: max(300_000_000/each, 1)}
	alloc := func(d tensor.DType, shape ...int) *tensor.Tensor {
		t, err := dev.Alloc(d, shape...)
		check(err)
		return t
	}
	s.src, s.times = alloc(tensor.BF16, s.n, j.B, j.S, j.D), alloc(tensor.F32, s.n, j.B, j.S)
	s.target, s.dst = alloc(tensor.F32, s.n, j.B, j.T), alloc(tensor.BF16, s.n, j.B, j.T, j.D)
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([]tensor.BFloat16, j.B*j.S*j.D)
	for i := range values {
		if values[i] = values[i%(1<<22)]; i < 1<<22 {
			values[i] = tensor.BF16FromF32(rng.Float32()*2 - 1)
		}
	}
	stamps, targets := make([]float32, j.B*j.S), make([]float32, j.B*j.T)
	step := 5 / float32(j.S-1)
	for i := range stamps {
		k := i % j.S
		stamps[i] = float32(k) * step
		if k > 0 && k < j.S-1 {
			stamps[i] += (rng.Float32()*0.4 - 0.2) * step
		}
	}
	for i := range targets {
		targets[i] = float32(i%j.T) * 5 / float32(j.T-1)
	}
	for i := range s.n {
		upload(dev, at(s.src, i), values)
		upload(dev, at(s.times, i), stamps)
		upload(dev, at(s.target, i), targets)
	}
	return s
}

// at is set i of a tensor of sets.
func at(t *tensor.Tensor, i int) *tensor.Tensor {
	v := tensor.Must(t.Slice(0, i, i+1))
	return tensor.Must(v.Reshape(v.Shape()[1:]...))
}

func upload[T tensor.Element](dev *ops.Device, dst *tensor.Tensor, data []T) {
	check(dev.Copy(dst, tensor.Must(tensor.Of(data, dst.Shape()...))))
}

func measure(dev *ops.Device, j job) row {
	s := makeSets(dev, j)
	stream := dev.Stream()
	var plans []ops.Plan
	for i := range s.n {
		p, err := dev.PlanResample(ops.ResampleArgs{Dst: at(s.dst, i), Src: at(s.src, i), SrcTimes: at(s.times, i), Targets: ops.At(at(s.target, i))}, ops.ResampleOptions{})
		check(err)
		plans = append(plans, p)
	}
	queue, err := cuda.Queue(stream)
	check(err)
	launches := max(s.n, 200)
	graph, err := stream.Capture(func() error {
		for i := range launches {
			if err := plans[i%s.n].Run(stream); err != nil {
				return err
			}
		}
		return nil
	})
	check(err)
	ours := replay(queue, launches, func() error { return graph.Launch(stream) })
	check(dev.Synchronize(context.Background()))
	values := min(j.B*j.S, 2*j.B*j.T) * j.D * 2
	bytes := values + 2*j.B*j.T*j.D + 4*j.B*(j.S+j.T)
	limit, null := limits(queue, s, j, values, launches)
	begun := time.Now()
	for i := range 1000 {
		check(plans[i%s.n].Run(stream))
	}
	host := float64(time.Since(begun).Nanoseconds()) / 1000
	check(dev.Synchronize(context.Background()))
	check(graph.Close())
	for _, p := range plans {
		check(p.Close())
	}
	for _, t := range []*tensor.Tensor{s.src, s.times, s.target, s.dst} {
		check(t.Close())
	}
	return row{Job: j.String(), Ours: ours, Limit: limit, Null: null, Ratio: ours / limit, GBs: float64(bytes) / ours / 1e3, HostNs: host}
}

// replay returns the median time of one launch in microseconds, from replays of a graph of several.
func replay(queue *cudadrv.Stream, launches int, launch func() error) float64 {
	ctx := queue.Context()
	var events [2]*cudadrv.Event
	for i := range events {
		e, err := ctx.NewEvent(cudadrv.EventOptions{})
		check(err)
		defer e.Close()
		events[i] = e
	}
	var times []float64
	for i := range 25 {
		check(queue.Record(events[0]))
		check(launch())
		check(queue.Record(events[1]))
		check(events[1].Synchronize(context.Background()))
		d, err := events[1].Elapsed(events[0])
		check(err)
		if i >= 5 {
			times = append(times, float64(d.Nanoseconds())/1e3/float64(launches))
		}
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// limits returns the time of the kernel that only moves the bytes, the best of several launch shapes, and of an empty one.
func limits(queue *cudadrv.Stream, s sets, j job, values, launches int) (best, null float64) {
	module, err := queue.Context().LoadModule(image(queue, "copy").Data())
	check(err)
	defer module.Close()
	empty := bind(module, "rc_null", cudadrv.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{32}})
	null = replayed(queue, launches, []*cudadrv.Launch{empty})
	out := 2 * j.B * j.T * j.D
	for _, threads := range []int{128, 256, 512} {
		for _, each := range []int{1, 2, 4, 8} {
			blocks := max((out/16+threads*each-1)/(threads*each), 1)
			var bound []*cudadrv.Launch
			for i := range s.n {
				var args []any
				for _, buf := range []struct {
					t     *tensor.Tensor
					bytes int
				}{{s.src, values}, {s.times, 4 * j.B * j.S}, {s.target, 4 * j.B * j.T}, {s.dst, out}} {
					address, _ := at(buf.t, i).Addr()
					chunks := buf.bytes / 16
					args = append(args, cudadrv.DevicePtr(address), uint64(chunks), uint64((chunks+blocks-1)/blocks))
				}
				bound = append(bound, bind(module, "rc_speed_of_light", cudadrv.LaunchConfig{Grid: [3]uint32{uint32(blocks)}, Block: [3]uint32{uint32(threads)}}, args...))
			}
			if t := replayed(queue, launches, bound); best == 0 || t < best {
				best = t
			}
		}
	}
	return best, null
}

// bind binds an entry of the copy kernels, with its parameters declared for drivers that cannot tell them.
func bind(module *cudadrv.Module, name string, config cudadrv.LaunchConfig, args ...any) *cudadrv.Launch {
	kernel, err := module.Kernel(name)
	check(err)
	_, entry, _ := ptx.Lookup(name)
	sizes := make([]int, len(entry.Params))
	for i, p := range entry.Params {
		sizes[i] = p.Size
	}
	check(kernel.Declare(sizes))
	launch, err := kernel.Bind(config, args...)
	check(err)
	return launch
}

// replayed captures launches in turn and returns replay's time of one.
func replayed(queue *cudadrv.Stream, launches int, bound []*cudadrv.Launch) float64 {
	graph, err := queue.Capture(func(q *cudadrv.Stream) error {
		for i := range launches {
			if err := bound[i%len(bound)].Run(q); err != nil {
				return err
			}
		}
		return nil
	})
	check(err)
	exec, err := graph.Instantiate()
	check(err)
	t := replay(queue, launches, func() error { return exec.Launch(queue) })
	check(exec.Close())
	check(graph.Close())
	return t
}

func image(queue *cudadrv.Stream, family string) ptx.Image {
	device := queue.Context().Device()
	major, minor := device.ComputeCapability()
	choice, err := ptx.Choose(family, major, minor, device.Driver().Version(), os.Getenv("ROBOCACHE_KERNELS"))
	check(err)
	return choice.Image
}
