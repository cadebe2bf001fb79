package cuda

import (
	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
)

// inputsReady is the bit of a job's flags, in every kernel that waits, for ops.LaunchInputsReady. Without it a kernel executes
// griddepcontrol.wait before it touches global memory; with it, in one thread at least and when all else is done, so that the
// kernel after it finds all work before it ended.
const inputsReady = 31

// config is the shape of a plan's launch. It is dependent where the plan wants it so and kernel, device and driver can; elsewhere
// the wait does nothing, whatever the flags say.
func (b *backend) config(kernel string, mode ops.LaunchMode, blocks, threads int) cudadrv.LaunchConfig {
	return cudadrv.LaunchConfig{
		Grid: [3]uint32{uint32(blocks)}, Block: [3]uint32{uint32(threads)},
		Dependent: mode != ops.LaunchPlain && b.dev.DependentLaunch() && b.waits(kernel),
	}
}

// waits reports whether a kernel, which was loaded, knows how to wait.
func (b *backend) waits(kernel string) bool {
	name, _, _ := ptx.Lookup(kernel)
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.families[name]
	w, known := f.waits[kernel]
	if !known {
		w = f.image.Waits(kernel)
		f.waits[kernel] = w
	}
	return w
}
