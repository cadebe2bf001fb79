package faultsweep

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/thorough"
)

// Sweep makes the driver calls of one program fail, one call per run.
type Sweep struct {
	// FunctionTable returns a driver's functions. A simulated driver should be new each time; a real driver is used again by all
	// runs.
	FunctionTable func() *cudadrv.FunctionTable
	// Run is the program under test: it opens a device, uses it and closes it.
	Run func(drv *cudadrv.Driver) error
	// Open lists the objects that are open on the last driver from FunctionTable. It is nil if the driver has no such list.
	Open func() []string
	// Code is the error code of the failing call. If After is set, the call does its work first and then returns Code.
	Code  cudadrv.Code
	After bool
	// Quiet names a call with failures that Run may return no error for, or may report without the call's name.
	Quiet string
	// Limit is the time limit for one run; 0 means 30 seconds.
	Limit time.Duration
}

// quiet lists calls with failures that a program need not report, because their results are only shown to people or the call only
// cleans up.
var quiet = map[string]string{
	"cuGetErrorName":      "texts of errors",
	"cuGetErrorString":    "texts of errors",
	"cuDeviceGetName":     "the name is for people, and shows the error",
	"cuCtxPopCurrent_v2":  "the thread's own context comes back with the next call that binds",
	"cuDeviceGetUuid_v2":  "the identity is for people",
	"cuDeviceGetPCIBusId": "the address is for people",
}

// polled reports whether a program repeats the call until it succeeds. The number of such calls differs from run to run.
func polled(call string) bool { return strings.HasSuffix(call, "Query") }

// most limits how many calls with one name are made to fail, besides the last: a kernel with forty parameters has a query for each.
// The calls are spread evenly over the run.
var most = thorough.Of(1, 4)

// reports reports whether a call may do its own work and still return an error, which may belong to earlier work. Calls on a stream
// do so, and calls that release an object. A call that creates an object never creates it and fails.
func reports(call string) bool {
	for _, word := range []string{"Memcpy", "Memset", "Synchronize", "Query", "Launch", "Record", "WaitEvent"} {
		if strings.Contains(call, word) {
			return true
		}
	}
	return releases(call)
}

// expected reports whether an error code is a normal answer: ErrInvalidValue ends the list of a kernel's parameters.
func expected(call string, c cudadrv.Code) bool {
	return strings.HasSuffix(call, "GetParamInfo") && c == cudadrv.ErrInvalidValue
}

// ends reports whether a call changes the driver's state even if it fails. Such a call does its work before it fails.
func ends(call string) bool { return call == "cuStreamEndCapture" || call == "cuCtxPopCurrent_v2" }

// releases reports whether a call releases an object. If it fails, the object stays open.
func releases(call string) bool {
	for _, word := range []string{"Destroy", "Free", "Unload", "Release", "Unregister"} {
		if strings.Contains(call, word) {
			return true
		}
	}
	return false
}

// lost reports whether an error code makes a device unusable.
func lost(c cudadrv.Code) bool {
	switch c {
	case cudadrv.ErrIllegalAddress, cudadrv.ErrLaunchTimeout, cudadrv.ErrMisalignedAddress, cudadrv.ErrLaunchFailed, cudadrv.ErrContained:
		return true
	}
	return false
}

// Do runs the sweep and returns the number of calls that it made fail.
func (s *Sweep) Do(t *testing.T) int {
	t.Helper()
	calls := s.record(t)
	total, seen, failed := map[string]int{}, map[string]int{}, 0
	for _, call := range calls {
		total[call]++
	}
	for i, call := range calls {
		seen[call]++
		n := seen[call]
		every := (total[call] + most - 1) / most
		if call == "cuGetErrorName" || call == "cuGetErrorString" || polled(call) && n > 1 || expected(call, s.Code) || s.After && !reports(call) || (n-1)%every != 0 && n != total[call] {
			continue
		}
		s.fail(t, call, n, i, n == 1)
		failed++
	}
	return failed
}

// record runs the program without a failure and returns the names of its driver calls in order. It fails the test if the run fails or
// leaves objects open.
func (s *Sweep) record(t *testing.T) []string {
	t.Helper()
	table, in := cudasim.Inject(s.FunctionTable())
	if err := s.run(table); err != nil {
		t.Fatalf("without a failure: %v", err)
	}
	calls := in.Calls()
	if len(calls) == 0 {
		t.Fatal("the run called nothing")
	}
	if open := s.open(); len(open) > 0 {
		t.Fatalf("without a failure: left open: %v", open)
	}
	return calls
}

func (s *Sweep) open() []string {
	if s.Open == nil {
		return nil
	}
	return s.Open()
}

// fail makes the nth call of a name fail and checks the run. If again is set, it also checks a run without failures on the same
// driver. Do sets again only for n = 1, because each failure of the name would leave the same state on the driver.
func (s *Sweep) fail(t *testing.T, call string, n, i int, again bool) {
	t.Helper()
	what := fmt.Sprintf("%s, its call %d (number %d of the run), answering %d", call, n, i+1, s.Code)
	table, in := cudasim.Inject(s.FunctionTable(), cudasim.Failure{Call: call, N: n, Code: s.Code, After: s.After || ends(call)})
	err := s.run(table)
	switch {
	case len(in.Hits()) == 0:
		t.Errorf("%s: the run never made it: %v", what, err)
		return
	case err == nil && quiet[call] == "" && call != s.Quiet:
		t.Errorf("%s: the run reports nothing", what)
	case err != nil && !strings.Contains(err.Error(), call) && call != s.Quiet:
		t.Errorf("%s: the error does not name the call: %v", what, err)
	case err != nil && strings.Contains(err.Error(), "panic"):
		t.Errorf("%s: %v", what, err)
	}
	if lost(s.Code) {
		return // the failure closed all objects of the device
	}
	allowed := 0
	if !s.After && (releases(call) || call == "cuCtxPushCurrent_v2") { // this call may come before a release
		allowed = 1
	}
	if open := s.open(); len(open) > allowed {
		t.Errorf("%s: left open: %v", what, strings.Join(open, "\n"))
	}
	in.Stop()
	if !again {
		return
	}
	if err := s.run(table); err != nil {
		t.Errorf("%s: the next run: %v", what, err)
	}
}

// run creates a driver and calls Run on it. It returns Run's error, or an error for a panic or for a run over the time limit.
func (s *Sweep) run(table *cudadrv.FunctionTable) error {
	limit := s.Limit
	if limit == 0 {
		limit = 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		drv, err := cudadrv.NewDriver(table)
		if err == nil {
			err = s.Run(drv)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no end within %v: %w", limit, ctx.Err())
	}
}
