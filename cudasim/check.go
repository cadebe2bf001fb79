package cudasim

import (
	"fmt"
	"strings"
)

// Config says how launches run. The zero value runs with every check, in order of block and warp.
type Config struct {
	Seed            uint64 // not 0: blocks and warps take turns, short ones, in an order drawn from it, several blocks beside each other, and so do nodes of graphs
	Workers         int    // goroutines that run blocks, 0 for GOMAXPROCS; the race check runs on one
	Skip            Check  // checks to leave out
	Counters        bool   // count instructions and memory traffic
	Lines           bool   // with Counters: count what ran for each line of the module's text
	Multiprocessors int    // 0 is 132; with the block size it limits how many blocks are resident
	MaxSteps        uint64 // instructions that a block's warps may run before it counts as hung, 0 for 2^31

	// Rewrite, if there is one, is given the text of every module that is loaded, and returns what is loaded in its place. It is
	// for tests that want a kernel with a defect.
	Rewrite func(text []byte) []byte
	Memory  uint64 // bytes of device memory, 0 for 2 GiB
	Shared  int    // bytes of shared memory that a block may have, 0 for 227 KB, which is the most
}

// Check is a set of checks. Bounds and alignment are always checked.
type Check uint

const (
	CheckUninitialised Check = 1 << iota // reads of memory that nobody wrote
	CheckRaces                           // accesses of two threads that nothing orders
	CheckAll           = CheckUninitialised | CheckRaces
)

// FaultKind is what a kernel did wrong.
type FaultKind int

const (
	OutOfBounds FaultKind = iota + 1
	Misaligned
	UseAfterFree
	Uninitialised
	Race
	DivergentBarrier
	Trap
	Timeout
	Undefined
	NeverWaited // a dependent launch has ended, and nothing says that the one ahead of it has
)

var faultNames = map[FaultKind]string{
	OutOfBounds: "access out of bounds", Misaligned: "misaligned access", UseAfterFree: "use after free",
	Uninitialised: "read of memory that was never written", Race: "race", DivergentBarrier: "divergent barrier",
	Trap: "trap", Timeout: "no end in sight", Undefined: "operands that PTX leaves undefined", NeverWaited: "dependent launch that never waited",
}

func (k FaultKind) String() string { return faultNames[k] }

// Fault is why a launch ended early.
type Fault struct {
	Kind    FaultKind
	Kernel  string
	Line    int    // in the module's text, from 1
	Text    string // that line
	Block   [3]uint32
	Thread  [3]uint32
	Space   string // global, shared, local, param; empty if no address is involved
	Address uint64
	Bytes   int    // size of the access
	Near    string // the allocation that the address is in or next to
	Detail  string // what else is known: the other thread of a race, and its line
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
