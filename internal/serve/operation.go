package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Tensor describes a tensor in a request.
type Tensor struct {
	Name    string // "Src", "Streams[2].SrcTimes"
	Written bool
	DType   tensor.DType
	Shape   []int
	Strides []int  // elements
	At      *int64 // the offset in the arena, for compute
	Align   int    // the address modulo 16, for plans
}

// Operation is a decoded operation from a request.
type Operation struct {
	Name    string   // as in package ops: "Resample"
	Tensors []Tensor // outputs first

	op    string            // as in requests and plans: "resample"
	slots []**tensor.Tensor // the arguments that Tensors are written to
	plan  func(*ops.Device) (planned, error)
}

// planned is a plan for an operation. counts reads the point counts after a run; it is nil if the operation counts no points.
type planned struct {
	*ops.Plan
	counts func() (ops.VoxelCounts, error)
}

// Plan plans the operation on a device. tensors has the tensor for each element of Tensors, in the same order.
func (o *Operation) Plan(dev *ops.Device, tensors []*tensor.Tensor) (*ops.Plan, error) {
	p, err := o.planOn(dev, tensors)
	return p.Plan, err
}

func (o *Operation) planOn(dev *ops.Device, tensors []*tensor.Tensor) (planned, error) {
	for i, slot := range o.slots {
		*slot = tensors[i]
	}
	return o.plan(dev)
}

// field is an argument for an operation.
type field struct {
	name    string
	written bool
	slot    **tensor.Tensor
}

// kind is an operation: its name in package ops, and the function that reads a request into arguments and a planner.
type kind struct {
	name string
	read func(*reader, []byte) ([]field, planner)
}

var kinds = map[string]kind{
	"resample":          {"Resample", readResample},
	"fuse":              {"Fuse", readFuse},
	"resample_backward": {"ResampleBackward", readResampleBackward},
	"fuse_backward":     {"FuseBackward", readFuseBackward},
	"voxelize":          {"Voxelize", readVoxelize},
	"deproject":         {"Deproject", readDeproject},
	"farthest_points":   {"FarthestPoints", readFarthestPoints},
}

// head has the fields that all operations share.
type head struct {
	Op      string                `json:"op"`
	Tensors map[string]tensorJSON `json:"tensors"`
}

type tensorJSON struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Strides []int  `json:"strides"`
	At      *int64 `json:"at"`
	Align   int    `json:"align"`
}

// ReadOperation reads an operation. It returns an *ops.ArgError if an option is invalid, and a *RequestError if the request is malformed.
func ReadOperation(text []byte) (*Operation, error) {
	var h struct {
		Op string `json:"op"`
	}
	if len(text) == 0 {
		return nil, &RequestError{Arg: "request", Got: "none", Want: "an operation"}
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, malformed(err)
	}
	k, ok := kinds[h.Op]
	if !ok {
		return nil, &RequestError{Arg: "op", Got: fmt.Sprintf("%q", h.Op), Want: "one of " + strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")}
	}
	r := &reader{op: k.name}
	fields, plan := k.read(r, text)
	if r.err != nil {
		return nil, r.err
	}
	o := &Operation{Name: k.name, op: h.Op, plan: plan}
	for _, f := range fields {
		t, ok := r.tensors[f.name]
		if !ok {
			continue
		}
		delete(r.tensors, f.name)
		read, err := t.read(k.name, f)
		if err != nil {
			return nil, err
		}
		o.Tensors, o.slots = append(o.Tensors, read), append(o.slots, f.slot)
	}
	for _, name := range slices.Sorted(maps.Keys(r.tensors)) {
		return nil, &RequestError{Arg: "tensors." + name, Got: "a tensor that " + k.name + " does not take"}
	}
	return o, o.checkUnits()
}

// checkUnits returns an *ops.ArgError if anchors are beside times in seconds. Package ops would convert them, but a client with all other
// times in seconds may mean seconds.
func (o *Operation) checkUnits() error {
	has := func(name string, dtypes ...tensor.DType) bool {
		return slices.ContainsFunc(o.Tensors, func(t Tensor) bool { return strings.HasSuffix(t.Name, name) && slices.Contains(dtypes, t.DType) })
	}
	if has("Targets.Anchors", tensor.I64) && has("SrcTimes", tensor.F64, tensor.F32) {
		return &ops.ArgError{Op: o.Name, Arg: "Targets", Kind: ops.ErrOption, Got: "anchors in nanoseconds beside times in seconds", Want: "times in int64 nanoseconds"}
	}
	return nil
}

// read checks a tensor's description.
func (t *tensorJSON) read(op string, f field) (Tensor, error) {
	fail := func(kind error, got, want string) (Tensor, error) {
		return Tensor{}, &ops.ArgError{Op: op, Arg: f.name, Kind: kind, Got: got, Want: want}
	}
	dtype, err := tensor.ParseDType(t.DType)
	if err != nil {
		return fail(ops.ErrDType, fmt.Sprintf("%q", t.DType), "one of f32, f64, f16, bf16, i32, i64, u8")
	}
	if _, err := tensor.NumElements(t.Shape...); err != nil {
		return fail(ops.ErrShape, tensor.FormatShape(t.Shape), "dimensions from 0 up, and at most 2^62 elements")
	}
	if t.Align < 0 || t.Align > 15 || t.Align%dtype.Size() != 0 {
		return fail(ops.ErrStride, fmt.Sprintf("align %d", t.Align), fmt.Sprintf("0 to 15, a multiple of %d", dtype.Size()))
	}
	read := Tensor{Name: f.name, Written: f.written, DType: dtype, Shape: t.Shape, Strides: t.Strides, At: t.At, Align: t.Align}
	if read.Strides == nil {
		read.Strides = make([]int, len(t.Shape))
		n := 1
		for i, d := range slices.Backward(t.Shape) {
			read.Strides[i] = n
			n *= max(d, 1)
		}
	}
	if _, ok := read.extent(); !ok {
		return fail(ops.ErrStride, fmt.Sprintf("%s with strides %s", tensor.FormatShape(t.Shape), tensor.FormatShape(t.Strides)),
			"a stride from 0 up for each dimension, and an end below 2^62")
	}
	return read, nil
}
