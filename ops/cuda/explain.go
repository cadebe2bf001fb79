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

	Shape string // the numbers that were chosen freely, as text; empty of a launch whose shape is fixed
	Class string // by which they are looked up in a table; empty as Shape
	Tuned bool   // a table had the class; else the model chose

	Considered []Considered // the operation's variants, in the order in which they are asked
}

// Considered is a variant that was asked whether it takes a job: Why says why it was not launched by the model; "" of the first that
// was, and of others that would have been without it.
type Considered struct {
	Variant string
	Why     string `json:",omitempty"`
}

// Explain lists the launches of a plan of this backend, in the order in which a run makes them; none if the plan has nothing to do.
func Explain(p ops.Plan) ([]Launch, error) {
	made, ok := p.(interface {
		launches() []*cudadrv.Launch
		decided() (d *decision, others []Considered)
		usable(op string) error
	})
	if !ok {
		return nil, &ops.ArgError{Op: "Explain", Arg: "plan", Kind: ops.ErrWrongDevice, Got: fmt.Sprintf("%T", p), Want: "a plan of the CUDA backend"}
	}
	if err := made.usable("Explain"); err != nil {
		return nil, err
	}
	var out []Launch
	d, others := made.decided()
	for _, l := range made.launches() {
		k, cfg := l.Kernel(), l.Config()
		e := Launch{Kernel: k.Name(), Grid: cfg.Grid, Block: cfg.Block, Shared: int(cfg.Shared), Dependent: cfg.Dependent, Considered: others}
		if d != nil {
			e.Shape, e.Class, e.Tuned = d.choice.Numbers(), d.class.String(), d.tuned
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
	return []*cudadrv.Launch{p.kernel}
}

func (p *plan) decided() (*decision, []Considered) {
	if p.chosen == nil {
		return nil, nil
	}
	var list []Considered
	for _, v := range p.chosen.list {
		list = append(list, Considered{v.name, v.whyNot(p.b, p.chosen.job)})
	}
	return p.chosen, list
}

func (p *voxelPlan) decided() (*decision, []Considered) { return nil, nil }

func (p *voxelPlan) launches() []*cudadrv.Launch { return p.chain }

// Kernels are the names of the kernels that a plan launches, in order.
func (p *plan) Kernels() []string { return namesOf(p.launches()) }

func (p *voxelPlan) Kernels() []string { return namesOf(p.launches()) }

func namesOf(list []*cudadrv.Launch) (names []string) {
	for _, l := range list {
		names = append(names, l.Kernel().Name())
	}
	return names
}
