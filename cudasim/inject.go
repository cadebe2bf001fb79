package cudasim

import (
	"fmt"
	"sync"
	"time"

	"github.com/robocache/robocache/cudadrv"
)

// Failure is a driver call that fails on demand.
type Failure struct {
	Call  string                 // the exported name, "" for any call
	Match func(name string) bool // selects names if Call is empty; nil for all
	N     int                    // the matching call that fails, from 1; 0 for every one
	Code  cudadrv.Code           // the call's result; Success keeps the real result, for a call that is only slow
	After bool                   // make the call first, like a call that returns an earlier error
	Delay time.Duration          // time to wait before the call
}

func (f *Failure) matches(name string) bool {
	if f.Call != "" {
		return f.Call == name
	}
	return f.Match == nil || f.Match(name)
}

// Injector counts the calls through a function table, and makes some fail.
type Injector struct {
	mu       sync.Mutex
	failures []Failure
	matched  []int // matching calls so far, for each failure
	calls    []string
	hits     []string
	off      bool
}

// Inject returns a function table in which calls fail on demand, for a simulated device or the real driver. The two
// calls for error texts and the one for the version fail only if a failure names them. Example: Failure{Call:
// "cuMemAllocAsync", N: 2, Code: cudadrv.ErrOutOfMemory} fails the second allocation.
func Inject(t *cudadrv.FunctionTable, failures ...Failure) (*cudadrv.FunctionTable, *Injector) {
	in := &Injector{failures: failures, matched: make([]int, len(failures))}
	return t.Wrap(func(name string, next cudadrv.Proc) cudadrv.Proc {
		return func(args []uintptr) uintptr {
			f, ok := in.note(name)
			if !ok {
				return next(args)
			}
			time.Sleep(f.Delay)
			if f.Code == cudadrv.Success {
				return next(args)
			}
			if f.After {
				next(args)
			}
			return uintptr(uint32(f.Code))
		}
	}), in
}

// note counts a call and returns the failure that applies to it. ok is false if none does.
func (in *Injector) note(name string) (hit Failure, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.off {
		return hit, false
	}
	in.calls = append(in.calls, name)
	for i := range in.failures {
		f := &in.failures[i]
		if !f.matches(name) || f.Call == "" && (name == "cuGetErrorName" || name == "cuGetErrorString" || name == "cuDriverGetVersion") {
			continue
		}
		in.matched[i]++
		if !ok && (f.N == 0 || f.N == in.matched[i]) {
			hit, ok = *f, true
			in.hits = append(in.hits, fmt.Sprintf("%s, call %d", name, in.matched[i]))
		}
	}
	return hit, ok
}

// Stop turns off all failures and the counting of calls.
func (in *Injector) Stop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.off = true
}

// Calls lists the calls in order; concurrent calls have no defined order.
func (in *Injector) Calls() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]string(nil), in.calls...)
}

// Hits lists the calls that failed on demand.
func (in *Injector) Hits() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]string(nil), in.hits...)
}
