package cudasim

// Work is what the launches of a kernel did together: numbers for a test to pin.
type Work struct {
	Launches     uint64
	Instructions uint64 // of warps
	Read         uint64 // sectors of global memory
	Written      uint64
	Conflicts    uint64 // of banks of shared memory
}

// Tally sums the work up by kernel. Its Add is for Observe.
type Tally map[string]Work

// Add counts one more launch.
func (t Tally) Add(l *Launch) {
	w, c := t[l.Kernel], l.Counters
	w.Launches++
	w.Instructions += c.Warps
	w.Read += c.GlobalRead.Sectors
	w.Written += c.GlobalWrite.Sectors
	w.Conflicts += c.BankConflicts
	t[l.Kernel] = w
}
