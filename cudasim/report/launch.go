package report

import "time"

// Launch is a kernel launch that has ended.
type Launch struct {
	Kernel      string
	Grid, Block [3]uint32
	Shared      uint32        // bytes of dynamic shared memory
	Prefers     int           // the percentage of shared memory that the kernel prefers, or -1
	Counters    *Counters     // nil under Watch
	Took        time.Duration // the simulation's time, unrelated to the time on a real device
}

// Leak is an object on the device that is still open.
type Leak struct {
	Kind  string // device memory, host memory, registered host memory, hold on the primary context, stream, event, module, graph, graph exec
	Size  int64  // in bytes, for memory
	Stack string // the stack that made it, one frame per line
}
