// Package mutate tries readers on mutants: inputs that are right but for a few faults. The tests of all formats use it, with the same faults and the
// same questions: no panic, no error without a type, no stream that is not sound, no memory beyond a limit.
//
// ROBOCACHE_MUTANTS says how many mutants a format's test makes, or which: "1000000", "17-18". ROBOCACHE_SEED chooses others; 0 is the default.
package mutate
