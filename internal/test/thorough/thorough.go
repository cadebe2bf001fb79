package thorough

import (
	"os"
	"testing"
)

// Long reports whether ROBOCACHE_LONG=1 is set.
var Long = os.Getenv("ROBOCACHE_LONG") == "1"

// SkipShort skips a test of the long set if Long is false. why is the reason for which the default set is without it.
func SkipShort(t testing.TB, why string) {
	t.Helper()
	if !Long {
		t.Skip("ROBOCACHE_LONG is not 1:", why)
	}
}

// Of returns all if Long is true, and some otherwise.
func Of(some, all int) int {
	if Long {
		return all
	}
	return some
}
