package report

import (
	"fmt"
	"strings"
)

// Check is a set of checks. Bounds and alignment are always checked.
type Check uint

const (
	CheckUninitialised Check                             = 1 << iota // reads from memory that was never written
	CheckRaces                                                       // unordered accesses by two threads
	CheckAll           = CheckUninitialised | CheckRaces             // both
)

// FaultKind is the kind of error in a kernel.
type FaultKind int

const (
	OutOfBounds      FaultKind = iota + 1 // an access outside every allocation
	Misaligned                            // an address that is not a multiple of the access size
	UseAfterFree                          // an access to an allocation that was freed
	Uninitialised                         // a read from memory that was never written
	Race                                  // unordered accesses by two threads, at least one a write
	DivergentBarrier                      // a barrier or vote that a warp's threads do not reach together, or with different members
	Trap                                  // the kernel executed trap
	Timeout                               // a block ran for more than Config.MaxSteps instructions
	Undefined                             // operands for which PTX leaves the result undefined
	NeverWaited                           // a launch that began early has ended without a wait for the launch before it
)

var faultNames = map[FaultKind]string{
	OutOfBounds: "access out of bounds", Misaligned: "misaligned access", UseAfterFree: "use after free",
	Uninitialised: "read of memory that was never written", Race: "race", DivergentBarrier: "divergent barrier",
	Trap: "trap", Timeout: "no end in sight", Undefined: "operands that PTX leaves undefined",
	NeverWaited: "dependent launch that never waited",
}

func (k FaultKind) String() string { return faultNames[k] }

// Fault is the reason why a launch ended early.
type Fault struct {
	Kind    FaultKind
	Kernel  string
	Line    int    // in the module's text, from 1
	Text    string // that line
	Block   [3]uint32
	Thread  [3]uint32
	Space   string // global, shared, local, param; empty if no address is involved
	Address uint64
	Bytes   int    // the access size
	Near    string // the allocation that contains the address or is next to it
	Detail  string // further facts, for example the other thread in a race and its line
}

func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cudasim: %v in %s, block %v, thread %v, line %d: %s", f.Kind, f.Kernel, f.Block, f.Thread, f.Line, f.Text)
	if f.Space != "" {
		fmt.Fprintf(&b, "; %d bytes at %s address %#x", f.Bytes, f.Space, f.Address)
	}
	if f.Near != "" {
		fmt.Fprintf(&b, ", %s", f.Near)
	}
	if f.Detail != "" {
		fmt.Fprintf(&b, "; %s", f.Detail)
	}
	return b.String()
}
