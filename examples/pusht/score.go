package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/gif"
	"image/png"
	"io"
	"math/rand/v2"
	"slices"
)

// scores are each episode's highest reward, their mean, and its 95 % interval.
type scores struct {
	Scores   []float64  `json:"scores"`
	Mean     float64    `json:"mean"`
	Interval [2]float64 `json:"interval"`
}

// episode is a played episode: its states, which are one more than the targets, and its highest reward.
type episode struct {
	states  []state
	targets []vec
	score   float64
}

// outside is a point that no picture shows.
var outside = vec{-100, -100}

// score plays an episode for each seed and prints the scores.
func score(ctx context.Context, from string, o *options, out, errs io.Writer) (err error) {
	var first, last uint32
	if _, err := fmt.Sscanf(o.seeds, "%d-%d", &first, &last); err != nil || first > last {
		return fmt.Errorf("-seeds: got %q, want A-B, with A up to B, and B below 2^32", o.seeds)
	}
	p, err := newPlayer(ctx, from, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	for _, path := range []string{o.gif, o.png} { // because episodes take minutes
		if path != "" {
			if err := write(path, func(io.Writer) error { return nil }); err != nil {
				return err
			}
		}
	}
	var s scores
	var film episode
	var poses []state
	for seed := int(first); seed <= int(last); seed++ {
		e, err := play(ctx, p, seed)
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		if len(poses) == 0 {
			film = e
		}
		s.Scores, poses = append(s.Scores, e.score), append(poses, e.states[len(e.targets)])
		fmt.Fprintf(errs, "seed %d: %.3f after %d steps, mean %.3f\n", seed, e.score, len(e.targets), mean(s.Scores))
	}
	s.Mean, s.Interval = mean(s.Scores), bootstrap(s.Scores)
	if o.gif != "" {
		err = write(o.gif, func(w io.Writer) error { return gif.EncodeAll(w, animate(film)) })
	}
	if o.png != "" && err == nil {
		err = write(o.png, func(w io.Writer) error { return png.Encode(w, paint(outside, outside, poses...)) })
	}
	switch {
	case err != nil:
		return err
	case o.json:
		return json.NewEncoder(out).Encode(s)
	}
	_, err = fmt.Fprintf(out, "%d episodes: mean score %.3f [%.3f, %.3f]\n", len(poses), s.Mean, s.Interval[0], s.Interval[1])
	return err
}

// play plays an episode until the score is 1, the player ends it or its time is over.
func play(ctx context.Context, p player, seed int) (e episode, err error) {
	s, err := p.start(ctx, seed)
	if err != nil {
		return e, err
	}
	env := newEnv(s)
	for step := range steps {
		e.states = append(e.states, env.state())
		target, err := p.next(ctx, step, env.state())
		if err == io.EOF {
			return e, nil
		}
		if err != nil {
			return e, err
		}
		env.step(target)
		e.targets = append(e.targets, target)
		if e.score = max(e.score, env.state().reward()); e.score == 1 {
			break
		}
	}
	e.states = append(e.states, env.state())
	return e, nil
}

func mean(list []float64) (m float64) {
	for _, v := range list {
		m += v
	}
	return m / float64(len(list))
}

// bootstrap returns the mean's 95 % interval by 1000 resamples, which are always the same.
func bootstrap(list []float64) [2]float64 {
	r := rand.New(rand.NewPCG(0, 0))
	means, again := make([]float64, 1000), make([]float64, len(list))
	for i := range means {
		for j := range again {
			again[j] = list[r.IntN(len(list))]
		}
		means[i] = mean(again)
	}
	slices.Sort(means)
	return [2]float64{means[25], means[974]}
}
