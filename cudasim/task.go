package cudasim

import (
	"sync"
	"time"

	"github.com/robocache/robocache/cudadrv"
)

// taskKind is what a piece of queued work does.
type taskKind uint8

const (
	taskLaunch taskKind = iota
	taskGraph
	taskUpload   // host to device
	taskDownload // device to host
	taskCopy     // within the device
	taskRows     // two-dimensional
	taskSet
	taskFree
	taskMark
	taskWait
	taskEmpty
)

// task is a piece of work. What it refers to was checked when it was queued.
type task struct {
	kind     taskKind
	dev      *Device // of a node of a graph
	launch   launch
	dst, src uint64 // device addresses
	host     []byte // pinned, or a copy of what was not
	n        uint64 // bytes; values, for taskSet
	value    uint32
	width    uint8 // of a value
	rows     *rows
	mark     *mark
	exec     *execution
}

// launch is a kernel launch with its own copy of the parameters.
type launch struct {
	kernel  *kernel
	grid    [3]uint32
	block   [3]uint32
	shared  uint32
	params  []byte
	early   bool // it may begin before the end of the kernel ahead of it
	prefers int  // percent of shared memory, or -1
}

// taskPool keeps pieces of work for use again, so that a launch allocates nothing.
type taskPool struct {
	mu   sync.Mutex
	free []*task
}

const (
	poolTasks  = queueLimit + 64
	paramBytes = 384 // room that a fresh task has for parameters
)

func (p *taskPool) fill() {
	ops := make([]task, poolTasks)
	room := make([]byte, poolTasks*paramBytes)
	p.free = make([]*task, 0, 2*poolTasks)
	for i := range ops {
		ops[i].launch.params = room[i*paramBytes : i*paramBytes : (i+1)*paramBytes]
		p.free = append(p.free, &ops[i])
	}
}

func (p *taskPool) get() *task {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		o := p.free[n-1]
		p.free = p.free[:n-1]
		return o
	}
	return &task{launch: launch{params: make([]byte, 0, paramBytes)}}
}

func (p *taskPool) put(o *task) {
	params := o.launch.params[:0]
	*o = task{launch: launch{params: params}}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) < cap(p.free) {
		p.free = append(p.free, o)
	}
}

// perform does a piece of work. On a lost device it does no more than let go those who wait for it.
func (d *Device) perform(o *task) {
	switch o.kind {
	case taskMark:
		o.mark.at = time.Now()
		close(o.mark.done)
		return
	case taskWait:
		<-o.mark.done
		return
	}
	if d.lost() != cudadrv.Success {
		return
	}
	if o.kind == taskGraph {
		o.exec.perform()
		return
	}
	d.act(o)
}

// act does what a stream's work and a graph's nodes have in common.
func (d *Device) act(o *task) {
	switch o.kind {
	case taskLaunch:
		d.execute(&o.launch)
	case taskFree:
		d.running.Lock() // a kernel that still runs keeps its memory
		d.memory.release(o.dst)
		d.running.Unlock()
	case taskUpload:
		d.touch(o.dst, o.n, true, func(b []byte) { copy(b, o.host) })
	case taskDownload:
		d.touch(o.src, o.n, false, func(b []byte) { copy(o.host, b) })
	case taskCopy:
		if err := d.space.move(o.dst, o.src, o.n); err != nil {
			d.lose(cudadrv.ErrIllegalAddress, nil, "a copy: "+err.Error())
		}
	case taskSet:
		d.touch(o.dst, o.n*uint64(o.width), true, func(b []byte) { fill(b, o.value, int(o.width)) })
	case taskRows:
		o.rows.copy(d)
	case taskMark, taskWait, taskGraph, taskEmpty:
	}
}

// touch shows a piece of device memory. It was there when the work was queued; if it is gone since, the device is lost, as
// a real one would be.
func (d *Device) touch(addr, n uint64, write bool, fn func([]byte)) {
	b, err := d.space.bytes(addr, n, write)
	if err != nil {
		d.lose(cudadrv.ErrIllegalAddress, nil, "a copy or memset: "+err.Error())
		return
	}
	fn(b)
}

// fill sets words of 1, 2 or 4 bytes.
func fill(b []byte, value uint32, width int) {
	if len(b) == 0 {
		return
	}
	for i := range width {
		b[i] = byte(value >> (8 * i))
	}
	for n := width; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// execute runs a kernel to its end.
func (d *Device) execute(l *launch) {
	d.running.Lock()
	defer d.running.Unlock()
	d.mu.Lock()
	observe, cfg := d.observe, &d.cfg
	if d.counts {
		cfg = &d.counting
	}
	d.mu.Unlock()
	began := time.Now()
	spec := launchSpec{kernel: l.kernel, grid: l.grid, block: l.block, shared: l.shared, params: l.params, early: l.early, config: cfg, device: d}
	counters, fault := run(d.space, &spec)
	if fault != nil {
		d.lose(fault.code(), fault, fault.Error())
		return
	}
	if observe != nil {
		observe(&Launch{Kernel: l.kernel.name, Grid: l.grid, Block: l.block, Shared: l.shared, Prefers: l.prefers, Counters: counters, Took: time.Since(began)})
	}
}

// Launch is a kernel launch that has ended.
type Launch struct {
	Kernel      string
	Grid, Block [3]uint32
	Shared      uint32        // bytes of dynamic shared memory
	Prefers     int           // the percent of shared memory that the kernel asks for, or -1
	Counters    *Counters     // nil under Watch
	Took        time.Duration // of the simulation: it says nothing about a real device
}

// Observe makes fn see every launch that ends well, with its counters, in the order in which they end; nil ends that. fn
// must not call the device.
func (d *Device) Observe(fn func(*Launch)) { d.show(fn, fn != nil) }

// Watch is Observe without the counting, which takes time: Counters is nil unless the Config asks for them.
func (d *Device) Watch(fn func(*Launch)) { d.show(fn, false) }

func (d *Device) show(fn func(*Launch), counts bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.observe, d.counts = fn, counts
}

// code is the driver's code for such a fault. Those that no real device finds count as a launch failure.
func (f *Fault) code() cudadrv.Code {
	switch f.Kind {
	case OutOfBounds, UseAfterFree:
		return cudadrv.ErrIllegalAddress
	case Misaligned:
		return cudadrv.ErrMisalignedAddress
	case Timeout:
		return cudadrv.ErrLaunchTimeout
	}
	return cudadrv.ErrLaunchFailed
}
