// Command cpu measures Resample on the CPU. It runs torch and numpy.interp in turn with it, if Python has them. See
// bench/README.md.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// job is one shape: B rows with S samples are resampled to T targets with D features. Times are float32.
type job struct {
	B, S, T, D int
	DType      tensor.DType `json:"-"`
}

func (j job) String() string { return fmt.Sprintf("%dx%d->%dx%d", j.B, j.S, j.T, j.D) }

// bytes returns the smallest number of bytes that the job must move: the values (all, or two rows a target if that is less), the
// output and all timestamps.
func (j job) bytes() int {
	return (min(j.B*j.S, 2*j.B*j.T)+j.B*j.T)*j.D*j.DType.Size() + 4*j.B*(j.S+j.T)
}

var jobs = []job{
	{64, 4096, 1024, 32, 0}, {32, 500, 250, 256, 0}, {256, 500, 250, 32, 0}, {64, 1000, 500, 512, 0}, {256, 4096, 4096, 256, 0},
	{8, 250, 128, 128, 0}, {4, 100, 50, 32, 0}, {8, 4096, 1024, 32, 0},
}

// row is a line in the result. Times are medians over all runs, in milliseconds.
type row struct {
	Job     string  `json:"job"`
	DType   string  `json:"dtype"`
	Threads int     `json:"threads"`
	Ours    float64 `json:"ours_ms"`
	Best    float64 `json:"ours_best_ms"`
	GBs     float64 `json:"gb_per_s"` // the smallest number of bytes divided by the median time
	Peer    string  `json:"peer,omitempty"`
	Theirs  float64 `json:"peer_ms,omitempty"`
	TheirsB float64 `json:"peer_best_ms,omitempty"`
	Ratio   float64 `json:"ratio,omitempty"` // the peer's time divided by ours, the median over the rounds
}

func main() {
	asJSON := flag.Bool("json", false, "print JSON")
	only := flag.String("only", "", "measure one shape, such as 64x4096->1024x32")
	dtype := flag.String("dtype", "", "measure one dtype")
	threads := flag.Int("threads", 0, "measure with this many threads; 0 is with 1, then with all")
	rounds := flag.Int("rounds", 7, "how often each side has its turn")
	peer := flag.String("peer", "bench/peers/cpu_resample.py", "the peers' script; empty to leave them out")
	python := flag.String("python", "/usr/bin/python3", "the Python that runs it")
	flag.Parse()
	counts := []int{1, runtime.NumCPU()}
	if *threads > 0 {
		counts = []int{*threads}
	}
	var theirs *peers
	if *peer != "" {
		theirs = startPeers(*python, *peer)
		defer theirs.close()
	}
	var rows []row
	for _, n := range slices.Compact(counts) {
		for _, j := range jobs {
			for _, d := range []tensor.DType{tensor.BF16, tensor.F32} {
				if j.DType = d; (*only != "" && *only != j.String()) || (*dtype != "" && *dtype != d.String()) {
					continue
				}
				rows = append(rows, measure(j, n, *rounds, theirs)...)
			}
		}
	}
	if *asJSON {
		check(json.NewEncoder(os.Stdout).Encode(map[string]any{"resample": rows}))
		return
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "shape\tdtype\tthreads\tours ms\tbest\tGB/s\tpeer\tms\tbest\tratio\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.3f\t%.3f\t%.2f\t%s\t%.3f\t%.3f\t%.1f\t\n", r.Job, r.DType, r.Threads, r.Ours, r.Best, r.GBs, r.Peer, r.Theirs, r.TheirsB, r.Ratio)
	}
	check(w.Flush())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "cpu:", err)
		os.Exit(1)
	}
}

// peers is a running script for the peers.
type peers struct {
	cmd     *exec.Cmd
	jobs    io.WriteCloser
	answers *bufio.Scanner
}

func startPeers(python, script string) *peers {
	p := &peers{cmd: exec.Command(python, script)}
	p.cmd.Stderr = os.Stderr
	var err error
	p.jobs, err = p.cmd.StdinPipe()
	check(err)
	out, err := p.cmd.StdoutPipe()
	check(err)
	p.answers = bufio.NewScanner(out)
	check(p.cmd.Start())
	return p
}

func (p *peers) close() {
	check(p.jobs.Close())
	check(p.cmd.Wait())
}

// run returns the seconds for each run, and the peer's version.
func (p *peers) run(name string, j job, threads, runs int) ([]float64, string) {
	check(json.NewEncoder(p.jobs).Encode(map[string]any{
		"peer": name, "B": j.B, "S": j.S, "T": j.T, "D": j.D, "dtype": j.DType.String(), "threads": threads, "runs": runs,
	}))
	if !p.answers.Scan() {
		check(fmt.Errorf("%s gave no answer", name))
	}
	var answer struct {
		Seconds []float64
		Version string
	}
	check(json.Unmarshal(p.answers.Bytes(), &answer))
	return answer.Seconds, answer.Version
}

// measure returns a row for each peer: torch, and numpy if there is one thread and few features.
func measure(j job, threads, rounds int, theirs *peers) []row {
	runtime.GOMAXPROCS(threads)
	dev, err := ops.Open("cpu")
	check(err)
	defer dev.Close()
	plans := makePlans(dev, j)
	at := 0
	ours := func(runs int) (seconds []float64) {
		for range runs {
			begun := time.Now()
			check(plans[at%len(plans)].Run(dev.Queue()))
			seconds = append(seconds, time.Since(begun).Seconds())
			at++
		}
		return seconds
	}
	warm := slices.Max(ours(3))
	runs := min(max(int(0.1/warm), 3), 1000)
	names := []string{""}
	if theirs != nil {
		names = []string{"torch"}
		if j.B*j.D <= 256 && j.DType == tensor.F32 && threads == 1 && j.S >= 4096 {
			names = append(names, "numpy")
		}
	}
	var rows []row
	for _, name := range names {
		r := row{Job: j.String(), DType: j.DType.String(), Threads: threads}
		var mine, other, ratios []float64
		for range rounds {
			own := ours(runs)
			mine = append(mine, own...)
			if name != "" {
				var got []float64
				got, r.Peer = theirs.run(name, j, threads, min(runs, 20))
				other = append(other, got...)
				ratios = append(ratios, median(got)/median(own))
			}
		}
		r.Ours, r.Best = 1e3*median(mine), 1e3*slices.Min(mine)
		r.GBs = float64(j.bytes()) / r.Ours / 1e6
		if name != "" {
			r.Theirs, r.TheirsB, r.Ratio = 1e3*median(other), 1e3*slices.Min(other), median(ratios)
		}
		rows = append(rows, r)
	}
	return rows
}

func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x[len(x)/2]
}

// makePlans binds the job to several input sets that together exceed 300 MB, so that no input is in a cache.
func makePlans(dev *ops.Device, j job) (plans []*ops.Plan) {
	rng := rand.New(rand.NewPCG(1, 2))
	timestamps, targets := make([]float32, j.B*j.S), make([]float32, j.B*j.T)
	step := 5 / float32(j.S-1)
	for i := range timestamps {
		k := i % j.S
		timestamps[i] = float32(k) * step
		if k > 0 && k < j.S-1 {
			timestamps[i] += (rng.Float32()*0.4 - 0.2) * step
		}
	}
	for i := range targets {
		targets[i] = float32(i%j.T) * 5 / float32(j.T-1)
	}
	for moved := 0; moved < 300_000_000; moved += j.bytes() {
		src := tensor.Must(tensor.New(j.DType, j.B, j.S, j.D))
		random(src, rng)
		dst := tensor.Must(tensor.New(j.DType, j.B, j.T, j.D))
		times, at := tensor.Must(tensor.Of(slices.Clone(timestamps), j.B, j.S)), tensor.Must(tensor.Of(slices.Clone(targets), j.B, j.T))
		p, err := dev.PlanResample(ops.ResampleArgs{Dst: dst, Src: src, SrcTimes: times, Targets: ops.At(at)}, ops.ResampleOptions{})
		check(err)
		plans = append(plans, p)
	}
	return plans
}

// random fills a tensor with numbers in [-1, 1).
func random(t *tensor.Tensor, rng *rand.Rand) {
	few := make([]float32, 1<<16)
	for i := range few {
		few[i] = rng.Float32()*2 - 1
	}
	if t.DType() == tensor.F32 {
		all, err := tensor.Data[float32](t)
		check(err)
		for i := 0; i < len(all); i += copy(all[i:], few) {
		}
		return
	}
	all, err := tensor.Data[tensor.BFloat16](t)
	check(err)
	for i := range all {
		all[i] = tensor.BF16FromF32(few[i%len(few)])
	}
}
