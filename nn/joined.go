package nn

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/nn/ranks"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// joined is the part of a Group that connects it to ranks in other processes.
type joined struct {
	*ranks.Group
	views []*Step       // by rank: this rank's step, and the shared tensors of the others
	meet  *ops.MeetPlan // makes the ranks' queues wait for each other
	own   held          // memory that this process shares, without the model's
	held  held          // the others' memory, and meet
}

// RankError is an error in another process of a group. Rank is the process, and Text is its error message.
type RankError struct {
	Rank int
	Text string
}

func (e *RankError) Error() string { return fmt.Sprintf("nn: rank %d: %s", e.Rank, e.Text) }

// NewRank makes a Group from several processes, each with one device: the device of m in this process. All processes call NewRank
// with the same network, batch shape and settings, and later call the Group's methods in the same order. A difference is an error
// in all. The results have the same bits as NewGroup with the same number of devices.
//
// If a process ends, the others get a *ranks.LostError. NewRank moves the model's parameters into memory that the processes
// share, so the caller closes the Group before the model. Close waits for the other processes. A process that stops because of an
// error must call all.Leave before Close.
func NewRank(ctx context.Context, all *ranks.Group, m *Model, b, t int, o StepOptions) (g *Group, err error) {
	fail := func(arg string, kind error, got, want string) (*Group, error) {
		return nil, &Error{Op: "NewRank", Arg: arg, Kind: kind, Got: got, Want: want}
	}
	switch {
	case all == nil:
		return fail("all", ops.ErrMissing, "nil", "the processes")
	case m == nil:
		return fail("m", ops.ErrMissing, "nil", "a model")
	case o.Train == nil:
		return fail("o.Train", ops.ErrMissing, "nil", "how to train")
	}
	s := &Step{model: m, opts: o, b: b, t: t}
	g = &Group{steps: []*Step{s}, joined: &joined{Group: all}}
	defer func() {
		if err != nil {
			all.Leave(err) // so that the others do not wait
			g, err = nil, errors.Join(err, g.Close())
		}
	}()
	if err := s.check(); err != nil {
		return g, err
	}
	same := sha256.Sum256(fmt.Appendf(nil, "%+v %v %+v %v %d %d %d %d", m.Parameters(), m.working.DType(), *o.Train, o.Loss, s.opts.Chunk, s.opts.Ring, b, t))
	s.opts.Train.Seed += uint64(all.Rank()) // check has copied Train
	if err := g.joined.share(ctx, s, same[:]); err != nil {
		return g, err
	}
	if err := s.compile(ctx); err != nil {
		return g, err
	}
	q, err := m.device.NewQueue()
	if err != nil {
		return g, err
	}
	g.queues = []*ops.Queue{q}
	if err := s.update(ctx, g.joined.views, all.Rank(), all.Count()); err != nil {
		return g, err
	}
	if g.graph, err = q.Capture(func() error { return g.record(phases) }); err != nil {
		return g, err
	}
	meet := g.joined.meet
	all.Watch(func() { _ = meet.Leave() })   // after Close nothing waits any more, and meet is closed
	_, err = all.Exchange(ctx, "begin", nil) // all have read the first rank's parameters
	return g, err
}

// shared is the message in which a rank describes its shared memory.
type shared struct {
	Same    []byte   // a hash of the settings that must be equal
	Handles [][]byte // the tensors' handles
}

// share moves the ranks' common tensors into shared memory, opens the others', and copies the first rank's parameters.
func (j *joined) share(ctx context.Context, s *Step, same []byte) error {
	m := s.model
	if err := m.moments(ctx, s.opts.Train); err != nil {
		return err
	}
	alone := m.working == m.params
	mine := shared{Same: same}
	moved := []**tensor.Tensor{&m.params, &m.working, &m.m, &m.v, &m.state}
	if m.average != nil {
		moved = append(moved, &m.average)
	}
	for _, p := range moved {
		if alone && p == &m.working {
			m.working = m.params
			continue
		}
		handle, err := m.held.share(ctx, m.device, p)
		if err != nil {
			return err
		}
		mine.Handles = append(mine.Handles, handle)
	}
	var flags *tensor.Tensor
	for _, z := range []struct {
		at    **tensor.Tensor
		dtype tensor.DType
		n     int
	}{{&s.sum, tensor.F32, m.size}, {&s.squares, tensor.F32, m.chunks()}, {&flags, tensor.I32, j.Count()}} {
		var err error
		if *z.at, err = tensor.New(z.dtype, z.n); err != nil {
			return err
		}
		handle, err := j.own.share(ctx, m.device, z.at)
		if err != nil {
			return err
		}
		mine.Handles = append(mine.Handles, handle)
	}
	text, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	all, err := j.Exchange(ctx, "what they share", text)
	if err != nil {
		return err
	}
	var meeting []*tensor.Tensor
	for rank, text := range all {
		if rank == j.Rank() {
			j.views, meeting = append(j.views, s), append(meeting, flags)
			continue
		}
		var theirs shared
		if err := json.Unmarshal(text, &theirs); err != nil {
			return err
		}
		if !slices.Equal(theirs.Same, same) || len(theirs.Handles) != len(mine.Handles) {
			return &Error{Op: "NewRank", Arg: "m", Kind: ops.ErrOption, Got: fmt.Sprintf("another network or other settings than rank %d", rank), Want: "the same in all"}
		}
		view, f, err := j.view(s, theirs.Handles)
		if err != nil {
			return fmt.Errorf("rank %d's memory: %w", rank, err)
		}
		j.views, meeting = append(j.views, view), append(meeting, f)
	}
	if j.meet, err = m.device.PlanMeet(j.Rank(), meeting); err != nil {
		return err
	}
	j.held = append(j.held, j.meet)
	return j.take(ctx)
}

// share moves a tensor into memory that other processes can open, and closes the old one. It may be on the host or on the device.
func (h *held) share(ctx context.Context, d *ops.Device, t **tensor.Tensor) (handle []byte, err error) {
	old := *t
	moved, handle, err := d.AllocShared(old.DType(), old.Shape()...)
	if err != nil {
		return nil, err
	}
	if err := across(ctx, d, moved, d, old); err != nil {
		return nil, errors.Join(err, moved.Close())
	}
	*t, *h = moved, append(*h, moved)
	return handle, old.Close()
}

// view opens the shared tensors of another rank. They have the same shapes as the tensors of s.
func (j *joined) view(s *Step, handles [][]byte) (view *Step, flags *tensor.Tensor, err error) {
	m := s.model
	view = &Step{model: &Model{device: m.device, net: m.net, size: m.size}}
	v := view.model
	open := func(dtype tensor.DType, n int) (t *tensor.Tensor) {
		if err == nil {
			if t, err = m.device.OpenShared(handles[0], dtype, n); err == nil {
				handles, j.held = handles[1:], append(j.held, t)
			}
		}
		return t
	}
	v.params = open(tensor.F32, m.size)
	v.working = v.params
	if m.working != m.params {
		v.working = open(m.working.DType(), m.size)
	}
	v.m, v.v, v.state = open(tensor.F32, m.size), open(tensor.F32, m.size), open(tensor.I64, backend.StateWords)
	if m.average != nil {
		v.average = open(tensor.F32, m.size)
	}
	view.sum, view.squares, flags = open(tensor.F32, m.size), open(tensor.F32, m.chunks()), open(tensor.I32, j.Count())
	return view, flags, err
}

// take copies the first rank's parameters, moments and state.
func (j *joined) take(ctx context.Context) error {
	if j.Rank() == 0 {
		return nil
	}
	return j.views[j.Rank()].model.become(ctx, j.views[0].model)
}

// progress is the message with a rank's progress.
type progress struct {
	Losses []uint32 // float32 bits
	Err    string
}

// progress is Group.Progress for this rank's step, with its p and err. An err that is no *NotFiniteError ends the group, and the
// others get a *ranks.LostError.
func (j *joined) progress(ctx context.Context, p Progress, err error) (Progress, error) {
	if lost := j.Err(); lost != nil { // later results of the step are useless
		return Progress{}, lost
	}
	if bad := (*NotFiniteError)(nil); err != nil && !errors.As(err, &bad) { // a device error, or ctx ended: this rank is between steps
		j.Leave(err)
		return Progress{}, err
	}
	var mine progress
	for _, loss := range p.Losses {
		mine.Losses = append(mine.Losses, math.Float32bits(loss))
	}
	if err != nil {
		mine.Err = err.Error()
	}
	text, errText := json.Marshal(mine)
	if errText != nil {
		return Progress{}, errText
	}
	all, errAll := j.Exchange(ctx, fmt.Sprintf("the end of step %d", p.Step), text)
	if errAll != nil {
		return Progress{}, errAll
	}
	clear(p.Losses)
	for rank, text := range all {
		var theirs progress
		if err := json.Unmarshal(text, &theirs); err != nil {
			return Progress{}, err
		}
		if err == nil && theirs.Err != "" {
			err = &RankError{Rank: rank, Text: theirs.Err}
		}
		for k := range min(len(p.Losses), len(theirs.Losses)) {
			p.Losses[k] += math.Float32frombits(theirs.Losses[k])
		}
	}
	for k := range p.Losses {
		p.Losses[k] /= float32(j.Count())
	}
	return p, err
}

// First calls fn in the first process, for example to write a file, and returns its result in all processes. The others wait
// meanwhile. An error from fn is a *RankError in the others. In a Group with one process, First only calls fn. what is a name for
// the action, which error messages contain.
func (g *Group) First(ctx context.Context, what string, fn func() ([]byte, error)) ([]byte, error) {
	j := g.joined
	if j == nil {
		return fn()
	}
	var said, data []byte
	var err error
	if j.Rank() == 0 {
		if data, err = fn(); err != nil {
			said = append([]byte{1}, err.Error()...)
		} else {
			said = append([]byte{0}, data...)
		}
	}
	all, errAll := j.Exchange(ctx, what, said)
	switch {
	case err != nil:
		return nil, err
	case errAll != nil:
		return nil, errAll
	case j.Rank() == 0:
		return data, nil
	case len(all[0]) == 0 || all[0][0] != 0:
		return nil, &RankError{Rank: 0, Text: string(all[0][min(1, len(all[0])):])}
	}
	return all[0][1:], nil
}

// close releases the shared memory when no rank uses it any more.
func (j *joined) close() error {
	var errs []error
	if j.Err() == nil {
		_, err := j.Exchange(context.Background(), "the end", nil) // no rank writes to another any more
		errs = append(errs, err)
	}
	errs = append(errs, j.held.close())
	if j.Err() == nil {
		_, err := j.Exchange(context.Background(), "the very end", nil) // no rank has another's memory open
		errs = append(errs, err)
	}
	return errors.Join(append(errs, j.own.close())...)
}
