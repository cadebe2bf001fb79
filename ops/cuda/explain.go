package cuda

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
)

// Launch is a kernel launch of a plan, as it was chosen for the job's shape.
type Launch struct {
	Kernel      string
	Grid, Block [3]uint32
	Shared      int     // bytes of dynamic shared memory a block
	Registers   int     // a thread
	Local       int     // bytes of local memory a thread: more than 0 means arrays, or registers that ran out
	Resident    int     // blocks that a multiprocessor holds at once; 0 if the driver cannot tell
	Waves       float64 // how many times the grid fills the device; 0 as Resident
	Dependent   bool    // it may begin before the work ahead of it has ended: the plan asked for it, and kernel, device and driver can

	Choice Choice // what was chosen freely; zero of a launch whose shape is fixed
	Class  Class  // by which it is looked up
	Tuned  bool   // a table had the class; else the model made the choice
}

// Explain lists the launches of a plan of this backend, in the order in which a run makes them; none if the plan has nothing to do.
func Explain(p ops.Plan) ([]Launch, error) {
	made, ok := p.(interface {
		launches() []*cudadrv.Launch
		decided() decision
		usable(op string) error
	})
	if !ok {
		return nil, &ops.ArgError{Op: "Explain", Arg: "plan", Kind: ops.ErrWrongDevice, Got: fmt.Sprintf("%T", p), Want: "a plan of the CUDA backend"}
	}
	if err := made.usable("Explain"); err != nil {
		return nil, err
	}
	var out []Launch
	d := made.decided()
	for _, l := range made.launches() {
		k, cfg := l.Kernel(), l.Config()
		e := Launch{Kernel: k.Name(), Grid: cfg.Grid, Block: cfg.Block, Shared: int(cfg.Shared), Dependent: cfg.Dependent, Choice: d.choice, Class: d.class, Tuned: d.tuned}
		var err error
		if e.Registers, err = k.Attribute(cudadrv.FuncRegisters); err != nil {
			return nil, err
		}
		if e.Local, err = k.Attribute(cudadrv.FuncLocalSize); err != nil {
			return nil, err
		}
		threads := int(cfg.Block[0] * cfg.Block[1] * cfg.Block[2])
		e.Resident, err = k.Occupancy(threads, e.Shared)
		if err != nil && !errors.Is(err, cudadrv.ErrNotSupported) {
			return nil, err
		}
		if sms, err := k.Device().Attribute(cudadrv.MultiprocessorCount); err == nil && e.Resident > 0 {
			e.Waves = float64(cfg.Grid[0]) * float64(cfg.Grid[1]) * float64(cfg.Grid[2]) / float64(e.Resident*sms)
		}
		out = append(out, e)
	}
	return out, nil
}

func (p *plan) launches() []*cudadrv.Launch {
	if p.kernel == nil {
		return nil
	}
	return []*cudadrv.Launch{p.next()}
}

func (p *plan) decided() (d decision) {
	if p.chosen != nil {
		d = *p.chosen
	}
	if p.kernel != nil && p.next() == p.careful {
		d = *p.instead
	}
	return d
}

func (p *voxelPlan) decided() decision { return decision{} }

func (p *voxelPlan) launches() []*cudadrv.Launch { return p.chain }
