// Package mutate tests readers with mutants: valid inputs with a few faults. The tests of all formats use the same faults and require
// the same: no panic, no error without a type, no invalid stream, and no memory over a limit.
//
// ROBOCACHE_MUTANTS is the number of mutants for each format's test, or a range of their numbers: "1000000", "17-18". ROBOCACHE_SEED
// selects other mutants; the default is 0.
package mutate
