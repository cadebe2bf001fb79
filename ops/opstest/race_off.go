//go:build !race

package opstest

const raceSlow = 1
