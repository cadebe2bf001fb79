package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/tensor"
)

// rate is in control steps a second. An episode has at most steps.
const (
	rate  = 10
	steps = 300
)

// player plays episodes, one at a time.
type player interface {
	// start begins an episode and returns its first state.
	start(ctx context.Context, seed int) (state, error)
	// next returns the target for a step that begins in a state. The error is io.EOF if the episode ends.
	next(ctx context.Context, step int, s state) (vec, error)
	Close() error
}

// newPlayer returns a player for the word hold, a folder with a policy, or a dataset.
func newPlayer(ctx context.Context, from string, o *options) (player, error) {
	if from == "hold" {
		return holder{}, nil
	}
	if found, bad := policy.Exists(from); !found {
		d, err := dataset.Open(ctx, from, dataset.Options{})
		if err != nil {
			return nil, errors.Join(bad, err)
		}
		return &demonstrations{Dataset: d}, nil
	}
	device, err := ops.Open(o.backend)
	if err != nil {
		return nil, err
	}
	p, err := policy.Open(ctx, device, from)
	if err != nil {
		return nil, errors.Join(err, device.Close())
	}
	l := &learned{device: device, policy: p, execute: o.execute}
	if err := l.check(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// holder leaves the agent where it is.
type holder struct{}

func (holder) start(_ context.Context, seed int) (state, error)    { return initial(seed), nil }
func (holder) next(_ context.Context, _ int, s state) (vec, error) { return s.agent(), nil }
func (holder) Close() error                                        { return nil }

// demonstrations plays recorded actions.
type demonstrations struct {
	dataset.Dataset
	targets []float64
}

func (d *demonstrations) start(ctx context.Context, episode int) (s state, err error) {
	e, err := d.Episode(ctx, episode)
	if err != nil {
		return s, err
	}
	states, actions := e.Stream("state"), e.Stream("action")
	if states == nil || actions == nil || len(states.Columns) != len(s) || len(actions.Columns) != 2 {
		return s, fmt.Errorf("episode %d: want the streams state, with 5 columns, and action, with 2", episode)
	}
	list, err := tensor.Floats(states.Values)
	if err != nil {
		return s, err
	}
	d.targets, err = tensor.Floats(actions.Values)
	return state(list), err
}

func (d *demonstrations) next(_ context.Context, step int, _ state) (vec, error) {
	if 2*step == len(d.targets) {
		return vec{}, io.EOF
	}
	return vec{d.targets[2*step], d.targets[2*step+1]}, nil
}

// learned runs a policy. It executes the first actions in each chunk.
type learned struct {
	device  *ops.Device
	policy  *policy.Policy
	streams []align.LiveStream
	runner  *policy.Runner
	execute int
	last    []float64 // the action in the step before; nil if the policy needs none
}

// sample returns a row for each stream in the demonstrations. Their angle is at least 0 and less than 2 pi.
func sample(s state, target []float64) map[string][]float64 {
	keypoint := s.keypoints()
	if s[4] = math.Mod(s[4], 2*math.Pi); s[4] < 0 {
		s[4] += 2 * math.Pi
	}
	return map[string][]float64{"state": s[:], "keypoint": keypoint, "action": target}
}

// check finds the policy's streams in a recording with the demonstrations' columns.
func (l *learned) check() (err error) {
	if l.execute < 0 {
		return fmt.Errorf("-execute: got %d, want 0 or more", l.execute)
	}
	l.execute = cmp.Or(l.execute, l.policy.Config().Recipe.Execute, 8)
	if hz := l.policy.Config().Hz; hz != rate {
		return fmt.Errorf("a policy for %g Hz, want %d", hz, rate)
	}
	e := &dataset.Episode{Name: "PushT"}
	for name, values := range sample(state{}, make([]float64, 2)) {
		s, err := dataset.NewStream(name, []int64{0}, tensor.Must(tensor.Of(tensor.Cast[float32](values), 1, len(values))), nil)
		if err != nil {
			return err
		}
		for i := range s.Columns {
			if name == "keypoint" {
				s.Columns[i].Name = fmt.Sprintf("[%d][%d]", i/2, i%2)
			}
		}
		e.Streams = append(e.Streams, s)
	}
	l.streams, err = l.policy.LiveStreams(e)
	return err
}

func (l *learned) start(ctx context.Context, seed int) (s state, err error) {
	s, l.last = initial(seed), nil
	if l.policy.Config().Recipe.Differences { // then there must be an action before the first state
		l.last = s[:2]
	}
	if l.runner != nil {
		err = l.runner.Close()
	}
	if err == nil {
		l.runner, err = l.policy.NewRunner(ctx, l.streams)
	}
	return s, err
}

// at returns a step's time in ns.
func at(step int) int64 { return int64(step+1) * 1e9 / rate }

func (l *learned) next(ctx context.Context, step int, s state) (target vec, err error) {
	samples := sample(s, l.last)
	for _, stream := range l.streams {
		time := at(step)
		if stream.Name == "action" {
			time = at(step - 1)
		}
		if values := samples[stream.Name]; values != nil {
			err = errors.Join(err, l.runner.Push(stream.Name, time, values))
		}
	}
	if err != nil {
		return target, err
	}
	if l.last, err = l.runner.Action(ctx, at(step), policy.Execution{Steps: l.execute}); err != nil {
		return target, err
	}
	return vec{l.last[0], l.last[1]}, nil
}

func (l *learned) Close() (err error) {
	if l.runner != nil {
		err = l.runner.Close()
	}
	return errors.Join(err, l.policy.Close(), l.device.Close())
}
