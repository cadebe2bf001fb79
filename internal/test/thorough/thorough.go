package thorough

import "os"

// Long reports that ROBOCACHE_LONG=1 is set.
var Long = os.Getenv("ROBOCACHE_LONG") == "1"

// Of returns some, or all if all are asked for.
func Of(some, all int) int {
	if Long {
		return all
	}
	return some
}
