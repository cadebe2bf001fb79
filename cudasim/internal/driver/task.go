package driver

import (
	"sync"

	"github.com/robocache/robocache/cudasim/internal/exec"
)

// taskKind is the kind of a piece of queued work.
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

// task is a piece of work. Its addresses and handles were checked when it was queued.
type task struct {
	kind     taskKind
	dev      *Device // for a node of a graph
	launch   launch
	dst, src uint64 // device addresses
	host     []byte // pinned memory, or a copy of other memory
	n        uint64 // bytes; values, for taskSet
	value    uint32
	width    uint8 // bytes of one value, for taskSet
	rows     *rows
	mark     *mark
	exec     *execution
}

// launch is a kernel launch with its own copy of the parameters.
type launch struct {
	exec.Launch
	prefers int // percent of shared memory, or -1
}

// taskPool keeps tasks for reuse, so that a launch allocates nothing.
type taskPool struct {
	mu   sync.Mutex
	free []*task
}

const (
	poolTasks  = queueLimit + 64
	paramBytes = 384 // room for parameters in a new task
)

func (p *taskPool) fill() {
	ops := make([]task, poolTasks)
	room := make([]byte, poolTasks*paramBytes)
	p.free = make([]*task, 0, 2*poolTasks)
	for i := range ops {
		ops[i].launch.Params = room[i*paramBytes : i*paramBytes : (i+1)*paramBytes]
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
	o := &task{}
	o.launch.Params = make([]byte, 0, paramBytes)
	return o
}

func (p *taskPool) put(o *task) {
	params := o.launch.Params[:0]
	*o = task{}
	o.launch.Params = params
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) < cap(p.free) {
		p.free = append(p.free, o)
	}
}

// side is one side of a two-dimensional copy.
type side struct {
	host   []byte // nil on the device
	device uint64
	pitch  uint64
}

type rows struct {
	src, dst      side
	width, height uint64
}
