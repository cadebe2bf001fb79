package cudasim

// launchSpec is one launch. grid and block have no zero; params is the parameter block, as long as kernel.paramBytes.
// The caller has checked block against kernel.maxThreads and shared memory against the device's limit.
type launchSpec struct {
	kernel *kernel
	grid   [3]uint32
	block  [3]uint32
	shared uint32 // dynamic shared bytes
	params []byte
	config *Config // nil is the zero Config
}

// launchRun is a launch that is running.
type launchRun struct{ *launchSpec }

type cell struct{}

// run executes a launch and returns when it has ended. After a fault the memory holds what was written before it.
// Counters are nil unless the configuration asks for them.
func run(sp *space, l *launchSpec) (*Counters, *Fault) {
	return nil, nil
}
