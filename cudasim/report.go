package cudasim

import "github.com/robocache/robocache/cudasim/report"

// Launch is a kernel launch that has ended.
type Launch = report.Launch

// Counters counts a launch's work.
type Counters = report.Counters

// Traffic is the traffic between warps and global memory.
type Traffic = report.Traffic

// Leak is an object on the device that is still open.
type Leak = report.Leak

// Check is a set of checks. Bounds and alignment are always checked.
type Check = report.Check

// Checks for Config.Skip.
const (
	CheckUninitialised = report.CheckUninitialised // reads from memory that was never written
	CheckRaces         = report.CheckRaces         // unordered accesses by two threads
	CheckAll           = report.CheckAll
)

// Fault is the reason why a launch ended early.
type Fault = report.Fault

// FaultKind is the kind of error in a kernel.
type FaultKind = report.FaultKind

// The fault kinds.
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
