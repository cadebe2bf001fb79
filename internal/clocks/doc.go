// Package clocks makes the clock that streams are put on: the range of time, its ticks, and a check that the results fit into the memory.
// Times are nanoseconds unless named otherwise. Package align has the types that its users need under names of its own.
package clocks
