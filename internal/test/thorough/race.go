package thorough

import "testing"

// Reasons for skipping a test under the race detector, because it makes tests many times slower.
const (
	Simulates  = "it simulates kernels, and goroutines of the interpreter share each byte that an instruction touches"
	OneRoutine = "it runs in one goroutine, or starts none that other tests do not start as well"
	Measures   = "it measures memory or time, which the race detector changes"
	Programs   = "it trains, draws or runs programs, and the packages below it are tested themselves"
)

// SkipRace skips a test if the race detector is on. why is one of the reasons above. It should be the test's first call.
func SkipRace(t testing.TB, why string) {
	t.Helper()
	if Raced {
		t.Skip("not under the race detector:", why)
	}
}

// SkipRacePackage runs a package's tests, or none if the race detector is on, and returns the exit code. TestMain calls it. The race
// section of .ci/run does not build the packages that call it.
func SkipRacePackage(m *testing.M, why string) int {
	if Raced {
		println("no tests under the race detector:", why)
		return 0
	}
	return m.Run()
}
