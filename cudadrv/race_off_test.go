//go:build !race

package cudadrv

// RaceEnabled tells tests that count allocations: the race detector makes sync.Pool forget at random.
const RaceEnabled = false
