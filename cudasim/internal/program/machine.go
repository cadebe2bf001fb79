package program

import "github.com/robocache/robocache/cudasim/internal/exec"

// The parts of the machine that instructions are made of.
type (
	alu   = exec.ALU
	extra = exec.Extra
	inst  = exec.Inst
	lanes = exec.Lanes
	warp  = exec.Warp
)
