package cudasim

import "github.com/robocache/robocache/cudasim/report"

// Launch is a kernel launch that has ended.
type Launch = report.Launch

// Counters counts the work of a launch.
type Counters = report.Counters

// Traffic is the traffic of warps to global memory.
type Traffic = report.Traffic

// Leak is an object of the device that is still open.
type Leak = report.Leak

// Check is a set of checks. Bounds and alignment are always checked.
type Check = report.Check

// Checks for Config.Skip.
const (
	CheckUninitialised = report.CheckUninitialised // reads of memory that was never written
	CheckRaces         = report.CheckRaces         // unordered accesses of two threads
	CheckAll           = report.CheckAll
)

// Fault is the reason why a launch ended early.
type Fault = report.Fault

// FaultKind is the kind of error in a kernel.
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
