package report

import "time"

// Launch is a kernel launch that has ended.
type Launch struct {
	Kernel      string
	Grid, Block [3]uint32
	Shared      uint32        // bytes of dynamic shared memory
	Prefers     int           // the percent of shared memory that the kernel prefers, or -1
	Counters    *Counters     // nil under Watch
	Took        time.Duration // time of the simulation, unrelated to that of a real device
}

// Leak is an object of the device that is still open.
type Leak struct {
	Kind  string // device memory, host memory, registered host memory, hold on the primary context, stream, event, module, graph, graph exec
	Size  int64  // bytes, of memory
	Stack string // the stack that made it, one frame a line
}
