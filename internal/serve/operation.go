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

// Tensor is a tensor of an operation, as a request describes it.
type Tensor struct {
	Name    string // "Src", "Streams[2].SrcTimes"
	Written bool
	DType   tensor.DType
	Shape   []int
	Strides []int  // elements
	At      *int64 // where in the arena it begins, of those for compute
	Align   int    // its address modulo 16, of those for plans
}

// Operation is an OP, with its options read.
type Operation struct {
	Name    string   // as package ops writes it: "Resample"
	Tensors []Tensor // what is written first

	op    string            // as requests and plans write it: "resample"
	slots []**tensor.Tensor // where in the arguments each of Tensors goes
	plan  func(*ops.Device) (planned, error)
}

// planned is a plan of an operation. Counts is nil of one that counts nothing.
type planned struct {
	*ops.Plan
	counts func() (ops.VoxelCounts, error)
}

// Plan plans the operation on a device, with a tensor for each of Tensors.
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

// field is an argument of an operation.
type field struct {
	name    string
	written bool
	slot    **tensor.Tensor
}

// kind is an operation: its name in package ops, and what reads an OP of it into its arguments and what plans these.
type kind struct {
	name string
	read func(*reader, []byte) ([]field, func(*ops.Device) (planned, error))
}

var kinds = map[string]kind{
	"resample":          {"Resample", readResample},
	"fuse":              {"Fuse", readFuse},
	"resample_backward": {"ResampleBackward", readResampleBackward},
	"fuse_backward":     {"FuseBackward", readFuseBackward},
	"voxelize":          {"Voxelize", readVoxelize},
}

// head is what every OP has.
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

// ReadOperation reads an OP. What its options cannot be is an *ops.ArgError, as of the operation itself, and what an OP cannot be a *RequestError.
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
	return o, nil
}

// read checks what a tensor says of itself.
func (t *tensorJSON) read(op string, f field) (Tensor, error) {
	fail := func(kind error, got, want string) (Tensor, error) {
		return Tensor{}, &ops.ArgError{Op: op, Arg: f.name, Kind: kind, Got: got, Want: want}
	}
	dtype, err := tensor.ParseDType(t.DType)
	if err != nil {
		return fail(ops.ErrDType, fmt.Sprintf("%q", t.DType), "one of f32, f64, f16, bf16, i32, i64, u8")
	}
	if _, err := tensor.NumElements(t.Shape...); err != nil {
		return fail(ops.ErrShape, tensor.FormatShape(t.Shape), "dimensions of 0 or more, and at most 2^62 elements")
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
			"a stride of 0 or more for each dimension, and an end below 2^62")
	}
	return read, nil
}
