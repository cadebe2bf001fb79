package report

import "time"

// Launch is a kernel launch that has ended.
type Launch struct {
	Kernel      string
	Grid, Block [3]uint32
	Shared      uint32        // bytes of dynamic shared memory
	Prefers     int           // the percent of shared memory that the kernel asks for, or -1
	Counters    *Counters     // nil under Watch
	Took        time.Duration // of the simulation: it says nothing about a real device
}

// Leak is something that was made on the device and not ended.
type Leak struct {
	Kind  string // device memory, host memory, registered host memory, hold on the primary context, stream, event, module, graph, graph exec
	Size  int64  // bytes, of memory
	Stack string // where it was made, one frame a line
}
