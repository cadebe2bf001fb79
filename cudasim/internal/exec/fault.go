package exec

import (
	"fmt"
	"math/bits"

	"github.com/robocache/robocache/cudasim/report"
)

// Fail ends the launch with a fault of the first lane in lanes.
func (w *Warp) Fail(kind report.FaultKind, in *Inst, lanes uint32, detail string) Status {
	w.b.fault = w.fault(kind, in, lanes, detail)
	return statusFault
}

func (w *Warp) fault(kind report.FaultKind, in *Inst, lanes uint32, detail string) *report.Fault {
	k := w.b.run.Kernel
	f := &report.Fault{Kind: kind, Kernel: k.Name, Block: w.b.id, Detail: detail, Line: int(in.Line)}
	f.Text = TrimmedLine(k.Source, f.Line)
	f.Thread = w.thread(bits.TrailingZeros32(lanes) & 31)
	return f
}

// thread returns the coordinates of a lane's thread in its block.
func (w *Warp) thread(lane int) [3]uint32 { return w.b.run.threadAt(w.index*32 + uint32(lane)) }

// badAddress sets the fault for one lane's access of n bytes at addr, and returns the status of a fault.
func (w *Warp) badAddress(kind report.FaultKind, in *Inst, lane int, sp SpaceKind, addr, n uint64) Status {
	f := w.fault(kind, in, 1<<lane, "")
	f.Space, f.Address, f.Bytes = spaceNames[sp], addr, int(n)
	switch sp {
	case SpaceGlobal:
		if a, ok := w.b.run.sp.Find(addr); ok {
			f.Near = a.Where(addr, n)
			if !a.Opened(w.b.run.Owner) {
				f.Detail = fmt.Sprintf("device %d has no access to it", w.b.run.Owner.Index)
			}
		} else if g, ok := w.b.run.sp.Grave(addr); ok {
			f.Near = "in " + g.String() + ", which was freed"
			if kind == report.OutOfBounds {
				f.Kind = report.UseAfterFree
			}
		} else if a, ok := w.b.run.sp.Nearest(addr); ok {
			f.Near = a.Where(addr, n)
		}
	case SpaceShared:
		f.Near = w.b.shared.Where(addr, n)
	}
	w.b.fault = f
	return statusFault
}
