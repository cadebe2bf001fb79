package driver

import (
	"time"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim/report"
)

func (d *Device) newStream() *stream {
	s := &stream{d: d, ring: make([]*task, 64)}
	s.more.L, s.less.L = &s.mu, &s.mu
	s.h = d.add(kindStream, s, 0)
	d.mu.Lock()
	d.streams[s] = struct{}{}
	d.mu.Unlock()
	go s.run()
	return s
}

// run executes the stream's tasks until the stream ends.
func (s *stream) run() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for s.n == 0 {
			if s.ending {
				return
			}
			s.more.Wait()
		}
		o := s.ring[s.head]
		s.mu.Unlock()
		s.d.perform(o)
		s.d.tasks.put(o)
		s.mu.Lock()
		s.ring[s.head] = nil
		s.head = (s.head + 1) % len(s.ring)
		s.n--
		s.done++
		s.less.Broadcast()
	}
}

// perform executes a task. On a lost device it only releases the calls that wait for the task.
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

// act executes a task of a stream or a node of a graph.
func (d *Device) act(o *task) {
	switch o.kind {
	case taskLaunch:
		d.execute(&o.launch)
	case taskFree:
		d.running.Lock() // so that a running kernel keeps its memory
		d.memory.release(o.dst)
		d.running.Unlock()
	case taskUpload:
		d.touch(o.dst, o.n, true, func(b []byte) { copy(b, o.host) })
	case taskDownload:
		d.touch(o.src, o.n, false, func(b []byte) { copy(o.host, b) })
	case taskCopy:
		if err := d.space.Move(o.dst, o.src, o.n); err != nil {
			d.lose(cudadrv.ErrIllegalAddress, nil, "a copy: "+err.Error())
		}
	case taskSet:
		d.touch(o.dst, o.n*uint64(o.width), true, func(b []byte) { fill(b, o.value, int(o.width)) })
	case taskRows:
		o.rows.copy(d)
	case taskMark, taskWait, taskGraph, taskEmpty:
	}
}

// touch calls fn with n bytes of device memory. They existed when the work was queued. If they are gone, the device is lost, as
// a real one would be.
func (d *Device) touch(addr, n uint64, write bool, fn func([]byte)) {
	b, err := d.space.Bytes(addr, n, write)
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
	observe, spec := d.observe, l.Launch
	spec.Owner, spec.Options = &d.owner, d.cfg.Options
	spec.Counters = spec.Counters || d.counts
	d.mu.Unlock()
	began := time.Now()
	counters, fault := d.machine.Run(&spec)
	if fault != nil {
		d.lose(faultCode(fault.Kind), fault, fault.Error())
		return
	}
	if observe != nil {
		observe(&report.Launch{Kernel: l.Kernel.Name, Grid: l.Grid, Block: l.Block, Shared: l.Shared,
			Prefers: l.prefers, Counters: counters, Took: time.Since(began)})
	}
}

// faultCode returns the driver's code for a kind of fault. A kind that no real device detects has the code for a launch failure.
func faultCode(kind report.FaultKind) code {
	switch kind {
	case report.OutOfBounds, report.UseAfterFree:
		return cudadrv.ErrIllegalAddress
	case report.Misaligned:
		return cudadrv.ErrMisalignedAddress
	case report.Timeout:
		return cudadrv.ErrLaunchTimeout
	}
	return cudadrv.ErrLaunchFailed
}

// perform executes the nodes in order. It stops if the device is lost.
func (x *execution) perform() {
	x.running.Lock()
	defer x.running.Unlock()
	var order []int
	if x.seed != 0 {
		order = x.order()
	}
	for i, o := range x.ops {
		if order != nil {
			o = x.ops[order[i]]
		}
		if o.dev.lost() != cudadrv.Success {
			return
		}
		if o.kind == taskGraph {
			o.exec.perform()
			continue
		}
		o.dev.act(o)
	}
}

// copy copies row by row.
func (r *rows) copy(d *Device) {
	row := func(s *side, y uint64, write bool) []byte {
		if s.host != nil {
			return s.host[y*s.pitch:][:r.width]
		}
		var out []byte
		d.touch(s.device+y*s.pitch, r.width, write, func(b []byte) { out = b })
		return out
	}
	for y := range r.height {
		copy(row(&r.dst, y, true), row(&r.src, y, false))
	}
}
