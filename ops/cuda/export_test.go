package cuda

import "github.com/robocache/robocache/ops"

// Gather has a backend bring the points of each cell together even where they are few, and add by atomics where a cell with points has `crowd` or more;
// never if it is 0, always if it is -1.
func Gather(b ops.Backend, crowd int) { b.(*backend).gather, b.(*backend).crowd = true, crowd }
