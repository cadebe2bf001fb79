package thorough

import "os"

// Long reports whether ROBOCACHE_LONG=1 is set.
var Long = os.Getenv("ROBOCACHE_LONG") == "1"

// Of returns all if Long is true, and some otherwise.
func Of(some, all int) int {
	if Long {
		return all
	}
	return some
}
