package benchmark

import (
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/tensor"
)

// CopyJob copies Bytes bytes. Direction is d2d (within the device), h2d (from pinned memory to the device), d2h (back), or
// h2d-registered (from ordinary memory that was registered). The CPU has only d2d.
type CopyJob struct {
	Direction string `json:"direction"`
	Bytes     int    `json:"bytes"`
}

var copyDirections = []string{"d2d", "h2d", "h2d-registered", "d2h"}

var copiesSuite = suite{
	name: "copies", about: "copies within the device, to it and from it",
	jobs: func() []Job {
		var out []Job
		for _, d := range copyDirections {
			for _, n := range []int{64 << 10, 4 << 20, 256 << 20} {
				out = append(out, &CopyJob{d, n})
			}
		}
		return out
	},
	empty: func() Job { return &CopyJob{} },
}

func (j *CopyJob) Suite() string { return "copies" }

// Name returns the direction and the size.
func (j *CopyJob) Name() string { return fmt.Sprintf("%s %s", j.Direction, byteCount(j.Bytes)) }

func (j *CopyJob) Keys() []Key { return keysOf("dir", j.Direction, "bytes", j.Bytes) }

// byteCount formats a size in the largest unit that divides it.
func byteCount(n int) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if one := 1 << (30 - 10*i); n >= one && n%one == 0 {
			return fmt.Sprintf("%d %s", n/one, unit)
		}
	}
	return fmt.Sprintf("%d B", n)
}

func (j *CopyJob) check() error {
	known := false
	for _, d := range copyDirections {
		known = known || d == j.Direction
	}
	if !known {
		return &InputError{"direction", fmt.Sprintf("%q", j.Direction), fmt.Sprintf("one of %v", copyDirections)}
	}
	return within("bytes", j.Bytes, 1, 1<<36)
}

func (j *CopyJob) prepare(r *rig) (*work, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	n := int64(j.Bytes)
	w := &work{sets: r.sets(2 * n), read: n, written: n, limit: j.Direction == "d2d"}
	fail := func(err error) (*work, error) { return nil, errors.Join(err, w.close()) }
	var dev [2]*tensor.Tensor
	for i := range dev {
		var err error
		if i == 1 && j.Direction != "d2d" {
			break // the other side is in host memory
		}
		if dev[i], err = r.alloc(w, tensor.U8, w.sets, j.Bytes); err != nil {
			return fail(err)
		}
	}
	if r.queue == nil {
		if j.Direction != "d2d" {
			return fail(&skipped{"the CPU is its own host"})
		}
		var to, from []*tensor.Tensor
		for i := range w.sets {
			to, from = append(to, at(dev[0], i)), append(from, at(dev[1], i))
		}
		w.run = func(i int) error { return r.dev.Copy(context.Background(), to[i], from[i]) }
		return w, nil
	}
	addr, _ := dev[0].Addr()
	here := func(i int) cudadrv.DevicePtr { return cudadrv.DevicePtr(addr) + cudadrv.DevicePtr(n*int64(i)) }
	if j.Direction == "d2d" {
		from, _ := dev[1].Addr()
		w.run = func(i int) error {
			return r.queue.CopyDevice(here(i), cudadrv.DevicePtr(from)+cudadrv.DevicePtr(n*int64(i)), n)
		}
		return w, nil
	}
	var host *cudadrv.HostMem
	var err error
	if all := n * int64(w.sets); j.Direction == "h2d-registered" {
		host, err = r.queue.Context().RegisterHost(make([]byte, all), cudadrv.RegisterOptions{})
	} else {
		host, err = r.queue.Context().MallocHost(all)
	}
	if err != nil {
		return fail(err)
	}
	w.later(host.Close)
	for i := range host.Bytes() {
		host.Bytes()[i] = byte(i)
	}
	w.run = func(i int) error { return r.queue.CopyToDevice(here(i), host, n*int64(i), n) }
	if j.Direction == "d2h" {
		w.run = func(i int) error { return r.queue.CopyToHost(host, n*int64(i), here(i), n) }
	}
	// The bytes cross the bus once, so GB/s counts them once.
	if w.written = 0; j.Direction == "d2h" {
		w.read, w.written = 0, n
	}
	return w, nil
}
