package cuda

import "github.com/robocache/robocache/ops"

// GatherAll has a backend bring the points of each cell together even where they are few.
func GatherAll(b ops.Backend) { b.(*backend).adds = 0 }
