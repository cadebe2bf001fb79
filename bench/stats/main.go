//go:build unix

// Command stats times the statistics over rows that it makes when they are read, so that they need no memory and no disk:
//
//	go run ./bench/stats -rows 1e8 -columns 26
//	bench/peers/stats_peer.py -- go run ./bench/stats   # numpy beside it, in the same run
//	go run ./bench/stats -rows 1e8 -device cuda         # on a device: the rows are copied there first, and the bits are compared
//
// The rows are a robot's, float32, with the given columns: joints that follow a sum of sines with noise, a gripper with two
// values, and a constant. Both the processor time, for the user and the system, and the wall time are printed. The time to make
// the rows is measured in separate passes and printed separately.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda" // registers the devices for ops.Open
	_ "github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/stats"
	"github.com/robocache/robocache/tensor"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "stats:", err)
		os.Exit(1)
	}
}

// found is the output.
type found struct {
	Rows       int           `json:"rows"`
	Columns    int           `json:"columns"`
	Workers    int           `json:"workers"`
	Passes     int           `json:"passes"`
	Processor  float64       `json:"processor_s"` // all passes, without making the rows
	Wall       float64       `json:"wall_s"`      // with making the rows
	Making     float64       `json:"making_s"`    // processor time to make the rows as many times, in separate passes
	Statistics *stats.Report `json:"statistics"`
	PeakBytes  int64         `json:"peak_bytes"` // resident memory
	Device     string        `json:"device,omitempty"`
	Resident   []float64     `json:"resident_s,omitempty"` // wall time for rows on the device; the first includes loading its kernels
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("stats", flag.ContinueOnError)
	rows := flags.Float64("rows", 1e7, "rows")
	columns := flags.Int("columns", 26, "columns")
	workers := flags.Int("workers", runtime.GOMAXPROCS(0), "goroutines")
	write := flags.String("write", "", "write the rows to this .npy file too")
	device := flags.String("device", "", "compute the statistics on this device too: cuda")
	profile := flags.String("profile", "", "write a CPU profile to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	debug.SetMemoryLimit(2 << 30)
	d := &made{rows: int(*rows), width: *columns}
	if *write != "" {
		if err := d.write(*write); err != nil {
			return err
		}
	}
	before := processor()
	if err := d.read(*workers); err != nil {
		return err
	}
	making := processor() - before
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	before = processor()
	began, passes := time.Now(), 0
	r, err := stats.Compute(context.Background(), d, stats.Options{Workers: *workers, Progress: func(pass, done, of int) { passes = pass }})
	if err != nil {
		return err
	}
	f := found{Rows: d.rows, Columns: d.width, Workers: *workers, Passes: passes, Processor: processor() - before - float64(passes)*making, Wall: time.Since(began).Seconds(),
		Making: making, Statistics: r, PeakBytes: peak()}
	if *device != "" {
		if err := d.onDevice(*device, &f); err != nil {
			return err
		}
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(f)
}

// onDevice computes the statistics for rows on a device, and compares them with the host's.
func (d *made) onDevice(name string, f *found) error {
	ctx := context.Background()
	dev, err := ops.Open(name)
	if err != nil {
		return err
	}
	defer dev.Close()
	f.Device = dev.Info().Product
	all, err := dev.Alloc(tensor.F32, d.rows, d.width)
	if err != nil {
		return err
	}
	defer all.Close()
	for i := range d.Len() {
		n := min(length, d.rows-i*length)
		host, err := tensor.Of(d.values(i, n), n, d.width)
		if err != nil {
			return err
		}
		part, err := all.Slice(0, i*length, i*length+n)
		if err != nil {
			return err
		}
		if err := dev.Copy(ctx, part, host); err != nil {
			return err
		}
	}
	want := f.Statistics.Streams[0].Columns
	for range 5 {
		began := time.Now()
		got, err := stats.Resident(ctx, dev, all, stats.Quantiles)
		if err != nil {
			return err
		}
		f.Resident = append(f.Resident, time.Since(began).Seconds())
		for i := range got {
			if got[i].Name = want[i].Name; !reflect.DeepEqual(got[i], want[i]) {
				return fmt.Errorf("column %d: got %+v on %s, want %+v", i, got[i], name, want[i])
			}
		}
	}
	return nil
}

// processor returns the program's processor time so far, in seconds.
func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return math.NaN()
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peak returns the program's largest memory so far, in bytes.
func peak() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}

// length is the number of rows in an episode.
const length = 1 << 15

// made is a dataset that makes an episode when it is read.
type made struct{ rows, width int }

func (d *made) Name() string       { return "made" }
func (d *made) Format() string     { return "made" }
func (d *made) Info() dataset.Info { return dataset.Info{} }
func (d *made) Len() int           { return (d.rows + length - 1) / length }
func (d *made) Close() error       { return nil }

func (d *made) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	n := min(length, d.rows-i*length)
	values, err := tensor.Of(d.values(i, n), n, d.width)
	if err != nil {
		return nil, err
	}
	times := make([]int64, n)
	for k := range times {
		times[k] = int64(k) * 20_000_000
	}
	s, err := dataset.NewStream("observation.state", times, values, nil)
	return &dataset.Episode{Name: fmt.Sprint(i), Streams: []dataset.Stream{s}}, err
}

// values returns the rows of an episode.
func (d *made) values(episode, n int) []float32 {
	list := make([]float32, n*d.width)
	x := uint64(episode)*0x9e3779b97f4a7c15 + 1
	wave := make([]float32, n)
	for i := range wave {
		wave[i] = float32(math.Sin(float64(i)*0.003+float64(episode)) + 0.4*math.Sin(float64(i)*0.0171))
	}
	for i := range n {
		row := list[i*d.width : (i+1)*d.width]
		for c := range row {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			// The sum over three 16-bit parts of a random number is nearly normal.
			noise := float32(int32(x&0xffff)+int32(x>>16&0xffff)+int32(x>>32&0xffff)-98302) * (0.1 / 65536)
			row[c] = wave[i]*float32(c%7+1)*0.2 + noise
		}
		if d.width > 2 {
			row[d.width-1] = 0.5
			row[d.width-2] = float32(i >> 9 & 1)
		}
	}
	return list
}

// read makes all rows, in the given number of goroutines.
func (d *made) read(workers int) error {
	failed := make(chan error, workers)
	for w := range workers {
		go func() {
			var err error
			for i := w; i < d.Len() && err == nil; i += workers {
				_, err = d.Episode(context.Background(), i)
			}
			failed <- err
		}()
	}
	for range workers {
		if err := <-failed; err != nil {
			return err
		}
	}
	return nil
}

// write writes all rows in numpy's file format.
func (d *made) write(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", d.rows, d.width)
	for (len(head)+11)%64 != 0 {
		head += " "
	}
	w.WriteString("\x93NUMPY\x01\x00" + string([]byte{byte(len(head) + 1), byte((len(head) + 1) >> 8)}) + head + "\n")
	for i := range d.Len() {
		if err := binary.Write(w, binary.LittleEndian, d.values(i, min(length, d.rows-i*length))); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
