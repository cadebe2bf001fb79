//go:build !race

package opstest

const raceSlow, raceOf = 1, 1
