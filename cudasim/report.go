package cudasim

import "github.com/robocache/robocache/cudasim/report"

// Launch is a kernel launch that has ended.
type Launch = report.Launch

// Counters is what a launch did.
type Counters = report.Counters

// Traffic is what the requests of warps to global memory moved.
type Traffic = report.Traffic

// Leak is something that was made on the device and not ended.
type Leak = report.Leak

// Check is a set of checks. Bounds and alignment are always checked.
type Check = report.Check

// The checks that a Config can leave out.
const (
	CheckUninitialised = report.CheckUninitialised // reads of memory that nobody wrote
	CheckRaces         = report.CheckRaces         // accesses of two threads that nothing orders
	CheckAll           = report.CheckAll
)

// Fault is why a launch ended early.
type Fault = report.Fault

// FaultKind is what a kernel did wrong.
type FaultKind = report.FaultKind

// The kinds of faults.
const (
	OutOfBounds      = report.OutOfBounds
	Misaligned       = report.Misaligned
	UseAfterFree     = report.UseAfterFree
	Uninitialised    = report.Uninitialised
	Race             = report.Race
	DivergentBarrier = report.DivergentBarrier
	Trap             = report.Trap
	Timeout          = report.Timeout
	Undefined        = report.Undefined
	NeverWaited      = report.NeverWaited
)
