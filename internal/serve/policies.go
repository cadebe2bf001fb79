package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/internal/failure"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/tensor"
)

// openedPolicy is a policy on the CPU. A connection's policies and recordings have different handles.
type openedPolicy struct {
	path      string
	policy    *policy.Policy
	predictor *policy.Predictor
}

// Close releases the policy. A second Close does nothing.
func (p *openedPolicy) Close() error {
	return errors.Join(p.predictor.Close(), p.policy.Close())
}

// policyError is an error about a policy, or about streams that it is given.
type policyError struct {
	path string
	error
}

func (e *policyError) Unwrap() error { return e.error }

// ofPolicy adds the meaning that an error has for a policy to its report.
func ofPolicy(f *failure.Report, e *policyError) {
	f.Path = cmp.Or(f.Path, e.path)
	if f.Class != "MemoryError" {
		f.Class = "PolicyError"
	}
	var stream *policy.StreamError
	if errors.As(e, &stream) {
		f.Stream, f.Got, f.Want = stream.Stream, stream.Got, stream.Want
	}
}

type policyRequest struct {
	Do
	Path string `json:"path"`
}

// openPolicy handles "policy".
func openPolicy(ctx context.Context, c *Conn, _ *Request, q policyRequest) (*Reply, error) {
	loaded, err := policy.Open(ctx, c.cpu, q.Path)
	if err != nil {
		return nil, &policyError{q.Path, err}
	}
	predictor, err := loaded.NewPredictor(ctx)
	if err != nil {
		return nil, &policyError{q.Path, errors.Join(err, loaded.Close())}
	}
	if c.policies == nil {
		c.policies = map[int]*openedPolicy{}
		c.closing(func() (err error) {
			for _, p := range c.policies {
				err = errors.Join(err, p.Close())
			}
			return err
		})
	}
	c.recordings.last++
	c.policies[c.recordings.last] = &openedPolicy{q.Path, loaded, predictor}
	o := loaded.Config()
	return &Reply{Value: map[string]any{"handle": c.recordings.last, "hz": o.Hz, "history": o.Recipe.History, "chunk": o.Recipe.Chunk,
		"execute": cmp.Or(o.Recipe.Execute, o.Recipe.Chunk), "states": o.States, "action": o.Action}}, nil
}

type actRequest struct {
	Do
	Handle  int `json:"handle"`
	Streams []struct {
		Name  string `json:"name"`
		Shape []int  `json:"shape"`
	} `json:"streams"`
}

// act handles "act".
func act(ctx context.Context, c *Conn, r *Request, q actRequest) (*Reply, error) {
	p := c.policies[q.Handle]
	if p == nil {
		return nil, &RequestError{Arg: "handle", Got: fmt.Sprint(q.Handle), Want: "for an open policy"}
	}
	streams, rest := map[string]*tensor.Tensor{}, r.Blob
	for _, s := range q.Streams {
		n, err := tensor.NumElements(s.Shape...)
		if err != nil || n > len(rest)/8 {
			return nil, &RequestError{Arg: "streams", Got: fmt.Sprintf("shape %s of %s and %d bytes", tensor.FormatShape(s.Shape), s.Name, len(rest)), Want: "8 bytes for each element"}
		}
		t, err := numbers(make([]float64, n), rest[:8*n])
		if err == nil {
			streams[s.Name], err = t.Reshape(s.Shape...)
		}
		if err != nil {
			return nil, err
		}
		rest = rest[8*n:]
	}
	chunk, err := p.predictor.Predict(ctx, streams)
	if err != nil {
		return nil, &policyError{p.path, err}
	}
	columns := len(p.policy.Config().Targets)
	var a arrays
	return a.reply("actions", map[string]any{"actions": a.add(tensor.Must(tensor.Of(chunk, len(chunk)/columns, columns)))})
}
