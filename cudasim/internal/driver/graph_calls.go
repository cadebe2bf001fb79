package driver

import (
	"slices"
	"sync"

	"github.com/robocache/robocache/cudadrv"
)

func cuGraphGetNodes(d *Device, g *graph, a []uintptr) code {
	if a[2] == 0 {
		return cudadrv.ErrInvalidValue
	}
	if a[1] != 0 {
		room := uintptr(get64(a[2]))
		for i := range room {
			h := uint64(0)
			if i < uintptr(len(g.nodes)) {
				h = uint64(g.nodes[i].handle)
			}
			put64(a[1]+8*i, h)
		}
		return put64(a[2], uint64(min(room, uintptr(len(g.nodes)))))
	}
	return put64(a[2], uint64(len(g.nodes)))
}

// destroy ends the handle of a graph or an executable graph.
func destroy[T any](d *Device, _ T, a []uintptr) code {
	d.drop(a[0])
	return cudadrv.Success
}

func cuGraphInstantiateWithFlags(d *Device, g *graph, a []uintptr) code {
	if a[0] == 0 {
		return cudadrv.ErrInvalidValue
	}
	if a[2] != 0 {
		return cudadrv.ErrUnsupported
	}
	x := &graphExec{after: g.edges()}
	x.now = &execution{running: new(sync.Mutex), ops: g.ops(), after: x.after, seed: d.cfg.Seed}
	return put64(a[0], uint64(d.add(kindGraphExec, x, 0)))
}

// cuGraphLaunch queues the whole graph without allocations. In a capture it becomes one node.
func cuGraphLaunch(d *Device, x *graphExec, a []uintptr) code {
	s, ok := lookup[*stream](d, a[1])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	o := d.tasks.get()
	x.mu.Lock()
	o.kind, o.exec = taskGraph, x.now
	x.mu.Unlock()
	if done, c := s.captureWork(o); done {
		return c
	}
	return s.push(o)
}

// Results of an update (CUgraphExecUpdateResult).
const (
	updateTopology = 2
	updateNodeType = 3
)

func cuGraphExecUpdate(d *Device, x *graphExec, a []uintptr) code {
	return d.updateGraph(x, a[1], a[2])
}

func cuGraphExecUpdateV1(d *Device, x *graphExec, a []uintptr) code {
	return d.updateGraph(x, a[1], a[3])
}

func (d *Device) updateGraph(x *graphExec, from, result uintptr) code {
	g, ok := lookup[*graph](d, from)
	if !ok {
		return cudadrv.ErrInvalidValue
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !slices.EqualFunc(x.after, g.edges(), slices.Equal[[]int]) {
		put32(result, updateTopology)
		return cudadrv.ErrGraphUpdateFailure
	}
	ops := g.ops()
	for i, o := range ops {
		if o.kind != x.now.ops[i].kind || o.dev != x.now.ops[i].dev {
			put32(result, updateNodeType)
			return cudadrv.ErrGraphUpdateFailure
		}
	}
	put32(result, 0)
	x.now = &execution{running: x.now.running, ops: ops, after: x.after, seed: d.cfg.Seed}
	return cudadrv.Success
}
