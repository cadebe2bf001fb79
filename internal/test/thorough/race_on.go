//go:build race

package thorough

// Raced reports whether the race detector is on.
const Raced = true
