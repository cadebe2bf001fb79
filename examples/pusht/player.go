package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/tensor"
)

// The control steps in a second, and the most in an episode.
const (
	rate  = 10
	steps = 300
)

// player plays episodes, one at a time.
type player interface {
	// start begins an episode and returns its first state.
	start(ctx context.Context, seed int) (state, error)
	// next returns the targets of the next steps, or none to end the episode. seen are the states so far.
	next(ctx context.Context, seen []state) ([]vec, error)
	Close() error
}

// newPlayer returns a player for the word "hold", a folder with a policy, or a dataset.
func newPlayer(ctx context.Context, from string, o *options) (player, error) {
	if from == "hold" {
		return holder{}, nil
	}
	device, err := ops.Open(o.backend)
	if err != nil {
		return nil, err
	}
	p, err := policy.Open(ctx, device, from)
	if err == nil {
		l := &learned{device: device, policy: p, execute: o.execute}
		if err = l.check(); err != nil {
			err = errors.Join(err, l.Close())
		}
		return l, err
	}
	d, no := dataset.Open(ctx, from, dataset.Options{})
	if no != nil {
		return nil, errors.Join(err, no, device.Close())
	}
	return &demonstrations{Dataset: d}, device.Close()
}

// holder leaves the agent where it is.
type holder struct{}

func (holder) start(_ context.Context, seed int) (state, error) { return initial(seed), nil }
func (holder) next(_ context.Context, seen []state) ([]vec, error) {
	return []vec{seen[0].agent()}, nil
}
func (holder) Close() error { return nil }

// demonstrations plays recorded actions.
type demonstrations struct {
	dataset.Dataset
	targets []vec
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
	targets, err := tensor.Floats(actions.Values)
	d.targets = d.targets[:0]
	for xy := range slices.Chunk(targets, 2) {
		d.targets = append(d.targets, vec{xy[0], xy[1]})
	}
	return state(list[:len(s)]), err
}

func (d *demonstrations) next(_ context.Context, seen []state) ([]vec, error) {
	return d.targets[len(seen)-1:], nil
}

// learned runs a policy. It executes the first actions of each chunk.
type learned struct {
	device  *ops.Device
	policy  *policy.Policy
	streams []align.LiveStream
	runner  *policy.Runner
	execute int
	pushed  int // states
	targets []vec
}

// check finds the policy's streams among those that the task has.
func (l *learned) check() (err error) {
	if l.execute < 1 {
		return fmt.Errorf("-execute: got %d, want 1 or more", l.execute)
	}
	if hz := l.policy.Config().Hz; hz != rate {
		return fmt.Errorf("a policy for %g Hz, want %d", hz, rate)
	}
	e := &dataset.Episode{Name: "PushT"}
	for name, columns := range map[string]int{"state": 5, "keypoint": 18, "action": 2} {
		s, err := dataset.NewStream(name, []int64{0}, tensor.Must(tensor.New(tensor.F32, 1, columns)), nil)
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
	s = initial(seed)
	if l.runner != nil {
		err = l.runner.Close()
	}
	if err != nil {
		return s, err
	}
	l.pushed, l.targets = 0, nil
	if l.runner, err = l.policy.NewRunner(ctx, l.streams); err != nil {
		return s, err
	}
	if l.policy.Config().Recipe.Differences { // such a policy needs an action before the first state
		err = l.push("action", -1, s[:2])
	}
	return s, err
}

// push sends a sample of a step to the runner, if it takes the stream.
func (l *learned) push(stream string, step int, values []float64) error {
	if !slices.ContainsFunc(l.streams, func(s align.LiveStream) bool { return s.Name == stream }) {
		return nil
	}
	return l.runner.Push(stream, at(step), values)
}

// at returns the time of a step in ns.
func at(step int) int64 { return int64(step+1) * 1e9 / rate }

func (l *learned) next(ctx context.Context, seen []state) (targets []vec, err error) {
	for ; l.pushed < len(seen); l.pushed++ {
		s := seen[l.pushed]
		if err = errors.Join(l.push("state", l.pushed, s[:]), l.push("keypoint", l.pushed, s.keypoints())); err != nil {
			return nil, err
		}
		if l.pushed < len(l.targets) {
			v := l.targets[l.pushed]
			if err = l.push("action", l.pushed, []float64{v.x, v.y}); err != nil {
				return nil, err
			}
		}
	}
	chunk, err := l.runner.Act(ctx, at(len(seen)-1))
	for xy := range slices.Chunk(chunk, 2) {
		if len(targets) < l.execute {
			targets = append(targets, vec{xy[0], xy[1]})
		}
	}
	l.targets = append(l.targets, targets...)
	return targets, err
}

func (l *learned) Close() error {
	var err error
	if l.runner != nil {
		err = l.runner.Close()
	}
	return errors.Join(err, l.policy.Close(), l.device.Close())
}
