package cudadrv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
)

// The functions of NCCL that are used. Signatures are those of its documentation, which have been the same since version 2.4.
var ncclNames = []string{"ncclCommInitAll", "ncclCommDestroy", "ncclGroupStart", "ncclGroupEnd", "ncclAllReduce", "ncclGetErrorString"}

// NCCL adds up memory of several devices with NVIDIA's library NCCL. It is for GPUs that cannot access each other's memory, and
// for comparisons. The library chooses the order of a sum's terms. Its methods must not be called concurrently.
type NCCL struct {
	procs    map[string]Proc
	contexts []*Context
	comms    []uintptr
}

// NewNCCL connects the devices of the contexts, which must share a driver and have different devices. The library is libnccl.so.2
// in the loader's path, or the file in the environment variable ROBOCACHE_LIBNCCL; PyTorch's wheels contain one in
// nvidia/nccl/lib. If it is missing, the error is a *[LoadError] that matches [ErrNCCLMissing]. The caller closes the NCCL before
// the contexts.
func NewNCCL(contexts []*Context) (*NCCL, error) {
	if len(contexts) == 0 {
		return nil, &ValueError{Op: "NewNCCL", What: "contexts", Kind: ErrMissing, Got: "none", Want: "one a device"}
	}
	drv := contexts[0].dev.drv
	for i, c := range contexts {
		if c.dev.drv != drv || slices.ContainsFunc(contexts[:i], func(o *Context) bool { return o.dev == c.dev }) {
			return nil, &ValueError{Op: "NewNCCL", What: fmt.Sprintf("contexts[%d]", i), Kind: ErrWrongDevice, Got: fmt.Sprintf("device %d of %s", c.dev.ordinal, c.dev.drv.path),
				Want: "another device of one driver"}
		}
	}
	if drv.nccl == nil {
		return nil, &LoadError{Kind: ErrNCCLMissing, Tried: []string{drv.path + ": it comes with none"}}
	}
	table, err := drv.nccl()
	if err != nil {
		return nil, err
	}
	n := &NCCL{procs: map[string]Proc{}, contexts: contexts, comms: make([]uintptr, len(contexts))}
	for _, name := range ncclNames {
		p, ok := table.Lookup(name, 0)
		if !ok {
			return nil, &LoadError{Kind: ErrNCCLMissing, Path: table.Path, Symbol: name, Err: errors.New("it lacks " + name)}
		}
		n.procs[name] = p
	}
	comms, devices := make([]byte, 8*len(contexts)), make([]byte, 4*len(contexts))
	for i, c := range contexts {
		binary.NativeEndian.PutUint32(devices[4*i:], uint32(c.dev.ordinal))
	}
	f := getFrame()
	defer f.put()
	if err := n.call("ncclCommInitAll", f.bytesAddr(0, comms), uintptr(len(contexts)), f.bytesAddr(1, devices)); err != nil {
		return nil, err
	}
	for i := range n.comms {
		n.comms[i] = uintptr(binary.NativeEndian.Uint64(comms[8*i:]))
	}
	return n, nil
}

// AddUp adds up count float32 numbers over all devices, in place: at[i] is their address on device i, and afterwards it holds the
// sums. It queues the work on streams[i] and returns before it is done. at and streams have the order of the contexts.
func (n *NCCL) AddUp(at []DevicePtr, count int, streams []*Stream) error {
	if n.comms == nil {
		return &ClosedError{Op: "AddUp", What: "NCCL"}
	}
	if len(at) != len(n.comms) || len(streams) != len(n.comms) {
		return &ValueError{Op: "AddUp", What: "addresses and streams", Kind: ErrShape, Got: fmt.Sprintf("%d and %d", len(at), len(streams)), Want: fmt.Sprintf("%d, one a device", len(n.comms))}
	}
	// All streams are locked first, because a sum that only some ranks begin never ends.
	handles := make([]uintptr, len(streams))
	for i, s := range streams {
		h, err := s.begin("AddUp")
		if err != nil {
			return err
		}
		defer s.end()
		handles[i] = h
	}
	const float32s, sum = 7, 0 // ncclFloat32, ncclSum
	// What begins and ends a group is of one thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := n.call("ncclGroupStart"); err != nil {
		return err
	}
	var first error
	for i, h := range handles {
		if first = n.call("ncclAllReduce", uintptr(at[i]), uintptr(at[i]), uintptr(count), float32s, sum, n.comms[i], h); first != nil {
			break
		}
	}
	return errors.Join(first, n.call("ncclGroupEnd"))
}

// Close closes the connection. The caller must have synchronised the streams. A second Close does nothing.
func (n *NCCL) Close() error {
	var all error
	for _, c := range n.comms {
		all = errors.Join(all, n.call("ncclCommDestroy", c))
	}
	n.comms = nil
	return all
}

// call calls a function. The library changes the thread's current device, so call restores it.
func (n *NCCL) call(name string, args ...uintptr) error {
	unbind, code := n.contexts[0].makeCurrent()
	if code != Success {
		return n.contexts[0].dev.check(fnCtxPush, code)
	}
	defer unbind()
	if r := int32(n.procs[name](args)); r != 0 {
		return &NCCLError{Op: name, Result: int(r), Text: CString(n.procs["ncclGetErrorString"]([]uintptr{uintptr(uint32(r))}))}
	}
	return nil
}

// NCCLError is a failed call to NCCL.
type NCCLError struct {
	Op     string // the library's function: "ncclAllReduce"
	Result int    // ncclResult_t
	Text   string // the library's description
}

func (e *NCCLError) Error() string {
	return fmt.Sprintf("cudadrv: %s: %s (%d)", e.Op, e.Text, e.Result)
}
