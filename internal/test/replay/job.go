package replay

import (
	"fmt"
	"reflect"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/record"
	"github.com/robocache/robocache/tensor"
)

// job is a job of a backend. Its plan function plans the same job with other tensors.
type job struct {
	op      string
	tensors []record.Tensor
	at      []uint64 // addresses of the tensors
	plan    record.JobFunc
}

var tensorType = reflect.TypeFor[*tensor.Tensor]()

// newJob returns a job with a list of the tensors in j, each once.
func newJob[J any](op string, j *J, plan func(b backend.Backend, j *J) (backend.Plan, error)) *job {
	out := &job{op: op}
	numbers := map[*tensor.Tensor]int{}
	replace(reflect.ValueOf(j), "", func(name string, t *tensor.Tensor) *tensor.Tensor {
		if _, known := numbers[t]; known {
			return t
		}
		numbers[t] = len(out.at)
		at, _ := t.Addr()
		out.at = append(out.at, at)
		out.tensors = append(out.tensors, record.Tensor{Name: name[1:], DType: t.DType(), Shape: t.Shape(), Strides: t.Strides(), Align: int(at % 16)})
		return t
	})
	out.plan = func(b backend.Backend, with []*tensor.Tensor) (backend.Plan, error) {
		other := replace(reflect.ValueOf(j), "", func(_ string, t *tensor.Tensor) *tensor.Tensor { return with[numbers[t]] })
		return plan(b, other.Interface().(*J))
	}
	return out
}

// replace returns a deep copy of v with each tensor replaced by the result of with. name is the field path of v.
func replace(v reflect.Value, name string, with func(name string, t *tensor.Tensor) *tensor.Tensor) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		switch {
		case v.IsNil():
		case v.Type() == tensorType:
			out.Set(reflect.ValueOf(with(name, v.Interface().(*tensor.Tensor))))
		default:
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(replace(v.Elem(), name, with))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				out.Field(i).Set(replace(v.Field(i), name+"."+f.Name, with))
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice {
			if v.IsNil() {
				break
			}
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			out.Index(i).Set(replace(v.Index(i), fmt.Sprintf("%s[%d]", name, i), with))
		}
	}
	return out
}

// Resample implements [backend.Resampler]. The methods below implement the other operations.
func (b *Backend) Resample(j *backend.ResampleJob) (backend.Plan, error) {
	return b.plan(newJob("resample", j, func(b backend.Backend, j *backend.ResampleJob) (backend.Plan, error) {
		return b.(backend.Resampler).Resample(j)
	}), j.Bound())
}

func (b *Backend) Fuse(j *backend.FuseJob) (backend.Plan, error) {
	return b.plan(newJob("fuse", j, func(b backend.Backend, j *backend.FuseJob) (backend.Plan, error) {
		return b.(backend.Fuser).Fuse(j)
	}), j.Bound())
}

func (b *Backend) Backward(j *backend.BackwardJob) (backend.Plan, error) {
	op := "fuse_backward"
	if j.Alone {
		op = "resample_backward"
	}
	return b.plan(newJob(op, j, func(b backend.Backend, j *backend.BackwardJob) (backend.Plan, error) {
		return b.(backend.Differentiator).Backward(j)
	}), j.Bound())
}

func (b *Backend) Draw(j *backend.DrawJob) (backend.Plan, error) {
	return b.plan(newJob("draw", j, func(b backend.Backend, j *backend.DrawJob) (backend.Plan, error) {
		return b.(backend.Drawer).Draw(j)
	}), j.Bound())
}

func (b *Backend) Tally(j *backend.TallyJob) (backend.Plan, error) {
	return b.plan(newJob("tally", j, func(b backend.Backend, j *backend.TallyJob) (backend.Plan, error) {
		return b.(backend.Tallier).Tally(j)
	}), j.Bound())
}

func (b *Backend) Frames(j *backend.FramesJob) (backend.Plan, error) {
	return b.plan(newJob("frames", j, func(b backend.Backend, j *backend.FramesJob) (backend.Plan, error) {
		return b.(backend.Framer).Frames(j)
	}), j.Bound())
}

func (b *Backend) Deproject(j *backend.DeprojectJob) (backend.Plan, error) {
	return b.plan(newJob("deproject", j, func(b backend.Backend, j *backend.DeprojectJob) (backend.Plan, error) {
		return b.(backend.Deprojector).Deproject(j)
	}), j.Bound())
}

func (b *Backend) Integrate(j *backend.IntegrateJob) (backend.Plan, error) {
	return b.plan(newJob("integrate", j, func(b backend.Backend, j *backend.IntegrateJob) (backend.Plan, error) {
		return b.(backend.Integrator).Integrate(j)
	}), j.Bound())
}

func (b *Backend) FarthestPoints(j *backend.FarthestJob) (backend.Plan, error) {
	return b.plan(newJob("farthest_points", j, func(b backend.Backend, j *backend.FarthestJob) (backend.Plan, error) {
		return b.(backend.FarthestChooser).FarthestPoints(j)
	}), j.Bound())
}

func (b *Backend) Voxelize(j *backend.VoxelizeJob) (backend.VoxelizePlan, error) {
	p, err := b.plan(newJob("voxelize", j, func(b backend.Backend, j *backend.VoxelizeJob) (backend.Plan, error) {
		return b.(backend.Voxelizer).Voxelize(j)
	}), j.Bound())
	if err != nil {
		return nil, err
	}
	return voxelPlan{p}, nil
}
