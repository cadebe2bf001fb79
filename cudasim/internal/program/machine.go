package program

import "github.com/robocache/robocache/cudasim/internal/exec"

// Short names for the types of package exec.
type (
	alu   = exec.ALU
	extra = exec.Extra
	inst  = exec.Inst
	lanes = exec.Lanes
	warp  = exec.Warp
)
