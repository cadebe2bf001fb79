//go:build !unix

package thorough

import "time"

var begin = time.Now()

// UserTime returns wall time, because the system has no other portable clock.
func UserTime() time.Duration { return time.Since(begin) }
