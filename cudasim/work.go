package cudasim

// Work is what the launches of a kernel did together, in numbers for a test to pin: those that no address changes.
type Work struct {
	Launches     uint64
	Instructions uint64 // of warps
}

// Tally sums the work up by kernel. Its Add is for Observe.
type Tally map[string]Work

// Add counts one more launch.
func (t Tally) Add(l *Launch) {
	w := t[l.Kernel]
	w.Launches++
	w.Instructions += l.Counters.Warps
	t[l.Kernel] = w
}
