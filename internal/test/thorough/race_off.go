//go:build !race

package thorough

// Raced reports that the race detector watches the test.
const Raced = false
