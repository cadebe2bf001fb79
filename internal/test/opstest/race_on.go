//go:build race

package opstest

// raceSlow is Config.Slow at least, under the race detector: every access costs many times what it does else, and more drawn
// cases show it no other accesses.
const raceSlow = 10

// raceOf is of how many cases one is run then: the answers that they are compared with are worked out by one goroutine, and take longest.
const raceOf = 32
