package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/ops/record"
	"github.com/robocache/robocache/ptx"
)

// mostTargets limits the devices in a connection. A host has a few devices, each with a few kinds of kernel image.
const mostTargets = 256

// target is a device that plans are made for.
type target struct {
	text     string // its description in JSON
	recorder *record.Recorder
}

type targetRequest struct {
	Do
	Target record.Target `json:"target"`
}

// addTarget handles "target". The same description gets the same number.
func addTarget(_ context.Context, c *Conn, r *Request, q targetRequest) (*Reply, error) {
	text, err := json.Marshal(q.Target)
	if err != nil {
		return nil, err
	}
	id := slices.IndexFunc(c.targets, func(t target) bool { return t.text == string(text) })
	if id < 0 {
		if len(c.targets) == mostTargets {
			return nil, &RequestError{"target", fmt.Sprintf("target %d", mostTargets+1), fmt.Sprintf("at most %d", mostTargets)}
		}
		recorder, err := record.New(q.Target)
		if err != nil {
			return nil, err
		}
		c.closing(recorder.Close)
		id = len(c.targets)
		c.targets = append(c.targets, target{string(text), recorder})
	}
	return &Reply{Value: map[string]any{"target": id, "reason": c.targets[id].recorder.Info().Kernels}}, nil
}

// target returns the device with the number n, or a *RequestError if no device has it.
func (c *Conn) target(n int) (*target, error) {
	if n < 0 || n >= len(c.targets) {
		return nil, &RequestError{"target", fmt.Sprint(n), fmt.Sprintf("one among the %d described", len(c.targets))}
	}
	return &c.targets[n], nil
}

// planRequest has the fields that requests about plans share.
type planRequest struct {
	Do
	Target  int             `json:"target"`
	Request json.RawMessage `json:"request"`
}

// plan returns the recorder for the request's device, the operation and its tensors. The error is a *RequestError if the device is
// unknown, or if a tensor has an arena offset.
func (q *planRequest) plan(c *Conn) (*record.Recorder, *Operation, []record.Tensor, error) {
	device, err := c.target(q.Target)
	if err != nil {
		return nil, nil, nil, err
	}
	o, err := ReadOperation(q.Request)
	if err != nil {
		return nil, nil, nil, err
	}
	list := make([]record.Tensor, len(o.Tensors))
	for i, t := range o.Tensors {
		if t.At != nil {
			return nil, nil, nil, &RequestError{"tensors." + t.Name + ".at", fmt.Sprint(*t.At), "nothing: a plan has tensors anywhere"}
		}
		list[i] = record.Tensor{Name: t.Name, DType: t.DType, Shape: t.Shape, Strides: t.Strides, Align: t.Align}
	}
	return device.recorder, o, list, nil
}

func exportPlan(_ context.Context, c *Conn, r *Request, q planRequest) (*Reply, error) {
	recorder, o, tensors, err := q.plan(c)
	if err != nil {
		return nil, err
	}
	p, err := recorder.Plan(o.op, tensors, o.Plan)
	if err != nil {
		return nil, err
	}
	return &Reply{Value: map[string]any{"plan": json.RawMessage(p.Header())}, Blob: p.Payload}, nil
}

// kernelImages returns the kernel images by hash.
var kernelImages = sync.OnceValue(func() map[string]ptx.Image {
	list := map[string]ptx.Image{}
	for _, family := range ptx.Families() {
		for _, im := range ptx.Images(family) {
			list[im.Hash] = im
		}
	}
	return list
})

type imageRequest struct {
	Do
	Hash string `json:"hash"`
}

func image(_ context.Context, _ *Conn, r *Request, q imageRequest) (*Reply, error) {
	im, ok := kernelImages()[q.Hash]
	if !ok {
		return nil, &RequestError{"hash", fmt.Sprintf("%q", q.Hash), "for an image that a plan names"}
	}
	return &Reply{Blob: im.Data()}, nil
}

type explainRequest struct {
	planRequest
	Fault    uint64             `json:"fault"`
	Contents map[string][]int64 `json:"contents"`
}

// explain returns the error that a fault stands for. It never returns a reply.
func explain(_ context.Context, c *Conn, r *Request, q explainRequest) (*Reply, error) {
	recorder, o, tensors, err := q.plan(c)
	if err != nil {
		return nil, err
	}
	err = recorder.Explain(tensors, o.Plan, q.Fault, func(i int, at int64, dst []byte) error {
		name := tensors[i].Name
		list, ok := q.Contents[name]
		data := raw.Bytes(list)
		if !ok || at < 0 || int64(len(dst)) > int64(len(data))-at {
			return &RequestError{"contents." + name, fmt.Sprintf("%d numbers", len(list)), fmt.Sprintf("the whole tensor, as far as byte %d", at+int64(len(dst)))}
		}
		copy(dst, data[at:])
		return nil
	})
	if err == nil {
		err = &RequestError{"fault", fmt.Sprint(q.Fault), "one that the plan can have"}
	}
	return nil, err
}

// counts replies with the point counts after a voxelize.
func counts(_ context.Context, c *Conn, r *Request, q planRequest) (*Reply, error) {
	recorder, o, tensors, err := q.plan(c)
	if err != nil {
		return nil, err
	}
	n, err := recorder.Counts(tensors, o.Plan, r.Blob)
	if err != nil {
		return nil, err
	}
	return &Reply{Value: map[string]any{"counts": countsJSON(n)}}, nil
}
