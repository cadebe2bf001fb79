package exec

import (
	"strings"
	"sync"
)

// Param is a kernel parameter in the parameter block.
type Param struct{ Size, Offset uint32 }

// Kernel is one entry of a module, ready to run. It is immutable.
type Kernel struct {
	Name       string
	Params     []Param
	ParamBytes uint32
	MaxThreads uint32   // largest block; 0 if the entry sets no limit
	Shared     uint32   // static shared bytes
	Local      uint32   // local bytes of a thread
	Registers  uint32   // 32-bit registers for the most values that are live at once in a thread
	Source     []string // the lines of the module's text

	Code      []Inst
	Consts    []uint64 // the values of the register slots from FirstConst on, in every lane
	Slots     int32    // register slots of a warp
	PredSlots int32
	blocks    sync.Pool // *block, with the constants in its registers
}

// TrimmedLine returns a line of the text, without space around it; lines count from 1.
func TrimmedLine(source []string, line int) string {
	if line < 1 || line > len(source) {
		return ""
	}
	return strings.TrimSpace(source[line-1])
}
