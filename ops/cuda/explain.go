package cuda

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
)

// Launch is a kernel launch in a plan. It has the kernel, the launch configuration, and the reasons for both.
type Launch struct {
	Kernel      string
	Grid, Block [3]uint32
	Shared      int     // dynamic shared memory per block, in bytes
	Registers   int     // per thread
	Local       int     // local memory per thread in bytes: more than 0 means arrays, or too few registers
	Resident    int     // blocks per multiprocessor at once; 0 if the driver does not report it
	Waves       float64 // the grid's size relative to the blocks that fit the device at once; 0 if Resident is 0
	// Dependent reports whether it may begin before earlier work has ended: the plan requested it, and kernel, device
	// and driver support it.
	Dependent bool

	Shape string // the numbers of the launch policy, as text; empty if the launch has a fixed shape
	Key   string // their key in a table; empty if Shape is
	Tuned bool   // true if a table had the key; false if the heuristic chose

	Considered []Considered // for the first launch: the operation's variants, in the order in which they are tried
}

// Explain returns the launches in a plan for this backend, in the order in which a run makes them. If the plan has no
// work, it returns none. Example: Launch.Kernel shows the variant that was chosen for a Resample.
func Explain(p *ops.Plan) ([]Launch, error) {
	if p == nil {
		return nil, &backend.ArgError{Op: "Explain", Arg: "plan", Kind: backend.ErrMissing, Got: "nil", Want: "a plan"}
	}
	return explain(p.Backend())
}

func explain(p backend.Plan) ([]Launch, error) {
	var base *device.Base
	var d *decision
	var others []Considered
	switch p := p.(type) {
	case *plan:
		base, d = &p.Base, p.chosen
		others = d.considered(p.b)
	case *voxelPlan:
		base, others = &p.Base, p.asked
	default:
		return nil, &backend.ArgError{Op: "Explain", Arg: "plan", Kind: backend.ErrWrongDevice, Got: fmt.Sprintf("%T", p), Want: "a plan of the CUDA backend"}
	}
	if err := base.Usable("Explain"); err != nil {
		return nil, err
	}
	var out []Launch
	for i, l := range base.Launches {
		k, cfg := l.Kernel(), l.Config()
		e := Launch{Kernel: k.Name(), Grid: cfg.Grid, Block: cfg.Block, Shared: int(cfg.Shared), Dependent: cfg.Dependent}
		if i == 0 {
			e.Considered = others
		}
		if d != nil {
			e.Shape, e.Key, e.Tuned = d.policy.Numbers(), d.key.String(), d.tuned
		}
		var err error
		if e.Registers, err = k.Attribute(cudadrv.FuncRegisters); err != nil {
			return nil, err
		}
		if e.Local, err = k.Attribute(cudadrv.FuncLocalSize); err != nil {
			return nil, err
		}
		threads := int(cfg.Block[0] * cfg.Block[1] * cfg.Block[2])
		e.Resident, err = k.Occupancy(threads, e.Shared)
		if err != nil && !errors.Is(err, cudadrv.ErrUnsupported) {
			return nil, err
		}
		if sms, err := k.Device().Attribute(cudadrv.MultiprocessorCount); err == nil && e.Resident > 0 {
			e.Waves = float64(cfg.Grid[0]) * float64(cfg.Grid[1]) * float64(cfg.Grid[2]) / float64(e.Resident*sms)
		}
		out = append(out, e)
	}
	return out, nil
}

// considered lists the variants, each with the reason why the heuristic did not launch it.
func (d *decision) considered(b *gpu) (list []Considered) {
	if d == nil {
		return nil
	}
	for _, v := range d.list {
		list = append(list, Considered{v.name, v.whyNot(b, d.job)})
	}
	return list
}
