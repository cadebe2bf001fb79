//go:build unix

// Command hdf5 times package dataset/hdf5 on HDF5 files, in one thread, next to h5py:
//
//	bench/peers/hdf5_peer.py FILE... > h5py.json
//	go run ./bench/hdf5 -compare h5py.json FILE...
//
// bench/peers/hdf5_peer.py describes the jobs and the times. -profile writes a profile of the processor time.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"

	"github.com/robocache/robocache/dataset/hdf5"
)

// row is the measurement for a job on a file.
type row struct {
	Program  string  `json:"program"`
	Job      string  `json:"job"`
	File     string  `json:"file"`
	Bytes    int     `json:"bytes"`
	CRC      uint32  `json:"crc"`
	MedianMs float64 `json:"median_ms"`
	MinMs    float64 `json:"min_ms"`
	Faults   int64   `json:"faults"` // page faults, the median
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "hdf5:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("hdf5", flag.ContinueOnError)
	compare := flags.String("compare", "", "what bench/peers/hdf5_peer.py wrote of the same files")
	profile := flags.String("profile", "", "write a CPU profile to this file")
	samples := flags.Int("samples", 7, "how often each job is timed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	theirs := map[[2]string]row{}
	if *compare != "" {
		text, err := os.ReadFile(*compare)
		if err != nil {
			return err
		}
		var rows []row
		if err := json.Unmarshal(text, &rows); err != nil {
			return err
		}
		for _, r := range rows {
			theirs[[2]string{r.Job, r.File}] = r
		}
	}
	runtime.GOMAXPROCS(1)
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
	fmt.Fprintln(out, "| file | job | MB | ours, ms | MB/s | page faults | h5py, ms | page faults | theirs / ours |\n|---|---|---|---|---|---|---|---|---|")
	var wrong error
	for _, path := range flags.Args() {
		for _, job := range []string{"read", "frames"} {
			r, err := measure(job, path, *samples)
			if err != nil {
				return err
			}
			if r.Bytes == 0 {
				continue
			}
			line := fmt.Sprintf("| %s | %s | %.1f | %.2f | %.0f | %d |", r.File, r.Job, float64(r.Bytes)/1e6, r.MedianMs, float64(r.Bytes)/1e3/r.MedianMs, r.Faults)
			if t, ok := theirs[[2]string{r.Job, r.File}]; ok {
				line += fmt.Sprintf(" %.2f | %d | %.2f |", t.MedianMs, t.Faults, t.MedianMs/r.MedianMs)
				if t.Bytes != r.Bytes || t.CRC != r.CRC {
					wrong = errors.Join(wrong, fmt.Errorf("%s %s: %d bytes with the sum %08x, and h5py reads %d with %08x", job, r.File, r.Bytes, r.CRC, t.Bytes, t.CRC))
				}
			}
			fmt.Fprintln(out, line)
		}
	}
	return wrong
}

func measure(job, path string, samples int) (row, error) {
	r := row{Job: job, File: filepath.Base(path)}
	var err error
	if r.Bytes, err = read(job, path, func(b []byte) { r.CRC = crc32.Update(r.CRC, crc32.IEEETable, b) }); err != nil {
		return r, err
	}
	if r.Bytes == 0 {
		return r, nil
	}
	var times []float64
	var faults []int64
	for range samples {
		runtime.GC() // memory from earlier runs does not count for this one
		before := usage()
		if _, err := read(job, path, nil); err != nil {
			return r, err
		}
		after := usage()
		times = append(times, float64(processorTime(after)-processorTime(before))/1e6)
		faults = append(faults, int64(after.Minflt-before.Minflt))
	}
	slices.Sort(times)
	slices.Sort(faults)
	r.MedianMs, r.MinMs, r.Faults = times[len(times)/2], times[0], faults[len(faults)/2]
	return r, nil
}

func usage() (u syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it fails only for wrong arguments
	}
	return u
}

// processorTime returns a program's processor time, for the user and the system together, in nanoseconds.
func processorTime(u syscall.Rusage) int64 { return u.Utime.Nano() + u.Stime.Nano() }

// read does a job. see receives the bytes that were read. In a timed run it is nil.
func read(job, path string, see func([]byte)) (int, error) {
	f, err := hdf5.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var list []*hdf5.Dataset
	err = f.Root().Walk(func(_ string, o hdf5.Object, err error) error {
		if d, ok := o.(*hdf5.Dataset); ok {
			_, numbers := d.Type().DType()
			if numbers && len(d.Shape()) > 0 && (job == "read" || len(d.Shape()) == 4) {
				list = append(list, d)
			}
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	if see != nil {
		slices.SortFunc(list, func(a, b *hdf5.Dataset) int { return strings.Compare(a.Path(), b.Path()) })
	}
	n := 0
	for _, d := range list {
		step := max(1, d.Len())
		if job == "frames" {
			step = 1
		}
		for i := 0; i < d.Len(); i += step {
			if see != nil {
				b, err := d.Raw(i, i+step)
				if err != nil {
					return 0, err
				}
				see(b)
				n += len(b)
				continue
			}
			if job == "frames" {
				_, err = d.Raw(i, i+step)
			} else {
				_, err = d.Read()
			}
			if err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}
