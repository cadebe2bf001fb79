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

// Sweep is one round of failures.
type Sweep struct {
	// Table gives a driver, whole and unused where it can: a simulated one. A real one is used again and again.
	FunctionTable func() *cudadrv.FunctionTable
	// Run is what a program does with a driver, from opening a device to closing it.
	Run func(drv *cudadrv.Driver) error
	// Open lists what is open on the driver that Table gave last, where the driver can tell.
	Open func() []string
	// Code is what the failing call returns; After makes the call first.
	Code  cudadrv.Code
	After bool
	// Quiet is a call whose failure Run need not report, or may report by what it did without an answer.
	Quiet string
	// Limit is how long a run may take, 0 for 30 seconds.
	Limit time.Duration
}

// quiet are calls whose failure a program need not report: what they say is for people, or the call only tidies up.
var quiet = map[string]string{
	"cuGetErrorName":      "texts of errors",
	"cuGetErrorString":    "texts of errors",
	"cuDeviceGetName":     "the name is for people, and shows the error",
	"cuCtxPopCurrent_v2":  "the thread's own context comes back with the next call that binds",
	"cuDeviceGetUuid_v2":  "the identity is for people",
	"cuDeviceGetPCIBusId": "the address is for people",
}

// polled tells calls that are made until they say yes, so that their number differs from run to run.
func polled(call string) bool { return strings.HasSuffix(call, "Query") }

// most is how many calls of one name are made to fail, evenly chosen, and the last: a kernel of forty parameters is asked for each.
var most = thorough.Of(1, 4)

// reports tells calls that may return what went wrong before them, having done their own work: those on a stream, and those
// that give something back. A call that makes something never makes it and fails.
func reports(call string) bool {
	for _, word := range []string{"Memcpy", "Memset", "Synchronize", "Query", "Launch", "Record", "WaitEvent"} {
		if strings.Contains(call, word) {
			return true
		}
	}
	return releases(call)
}

// expected tells codes that are an answer and no failure: the list of parameters ends with an invalid value.
func expected(call string, c cudadrv.Code) bool {
	return strings.HasSuffix(call, "GetParamInfo") && c == cudadrv.ErrInvalidValue
}

// ends tells calls after which the driver is in another state even if they fail: they fail afterwards only.
func ends(call string) bool { return call == "cuStreamEndCapture" || call == "cuCtxPopCurrent_v2" }

// releases tells calls that give something back: when one fails, what it should have given back stays.
func releases(call string) bool {
	for _, word := range []string{"Destroy", "Free", "Unload", "Release", "Unregister"} {
		if strings.Contains(call, word) {
			return true
		}
	}
	return false
}

// lost tells the codes that poison a device.
func lost(c cudadrv.Code) bool {
	switch c {
	case cudadrv.ErrIllegalAddress, cudadrv.ErrLaunchTimeout, cudadrv.ErrMisalignedAddress, cudadrv.ErrLaunchFailed, cudadrv.ErrContained:
		return true
	}
	return false
}

// Do runs the sweep and returns how many calls it made fail.
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

// record runs once without a failure.
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

// fail makes the nth call of a name fail. The run after that is made of the first alone, as it finds what any of them leaves behind on the driver.
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
		return // what was open went with the device
	}
	allowed := 0
	if !s.After && (releases(call) || call == "cuCtxPushCurrent_v2") { // which may come before a release
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

// run makes a driver and runs on it, within the limit.
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
