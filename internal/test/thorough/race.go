package thorough

import "testing"

// Reasons for which a test is left out under the race detector, which multiplies a test's time.
const (
	Simulates  = "it simulates kernels, and goroutines of the interpreter share each byte that an instruction touches"
	OneRoutine = "it runs in one goroutine, or starts none that other tests do not start as well"
	Measures   = "it measures memory or time, which the race detector changes"
	Programs   = "it trains, draws or runs programs, and the packages below it are tested themselves"
)

// SkipRace skips a test under the race detector for one of the reasons above. A test calls it first.
func SkipRace(t testing.TB, why string) {
	t.Helper()
	if Raced {
		t.Skip("not under the race detector:", why)
	}
}

// SkipRacePackage runs the tests of a package, none of them under the race detector, and returns the program's exit code. TestMain calls it, and the race
// section of .ci/run builds no package that calls it.
func SkipRacePackage(m *testing.M, why string) int {
	if Raced {
		println("no tests under the race detector:", why)
		return 0
	}
	return m.Run()
}
