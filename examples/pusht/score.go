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
	"strconv"
	"strings"
)

// scores are the results of episodes: the highest reward of each, their mean, and its 95 % interval.
type scores struct {
	Scores   []float64  `json:"scores"`
	Mean     float64    `json:"mean"`
	Interval [2]float64 `json:"interval"`
}

// score plays an episode for each seed.
func score(ctx context.Context, from string, o *options, out, errs io.Writer) (err error) {
	first, last, err := parseSeeds(o.seeds)
	if err != nil {
		return err
	}
	p, err := newPlayer(ctx, from, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	var s scores
	var poses []state
	var film []frame
	for seed := first; seed <= last; seed++ {
		seen, targets, best, err := play(ctx, p, seed)
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		s.Scores, poses = append(s.Scores, best), append(poses, seen[len(seen)-1])
		if seed == first {
			for i, target := range targets {
				film = append(film, frame{seen[i], target})
			}
		}
		fmt.Fprintf(errs, "seed %d: %.3f after %d steps, mean %.3f\n", seed, best, len(targets), mean(s.Scores))
	}
	s.Mean, s.Interval = mean(s.Scores), bootstrap(s.Scores)
	if o.gif != "" {
		if err := write(o.gif, func(w io.Writer) error { return gif.EncodeAll(w, animate(film)) }); err != nil {
			return err
		}
	}
	if o.png != "" {
		if err := write(o.png, func(w io.Writer) error { return png.Encode(w, overlay(poses)) }); err != nil {
			return err
		}
	}
	if o.json {
		return json.NewEncoder(out).Encode(s)
	}
	_, err = fmt.Fprintf(out, "%d episodes: mean score %.3f [%.3f, %.3f]\n", len(s.Scores), s.Mean, s.Interval[0], s.Interval[1])
	return err
}

// parseSeeds parses A-B, or A alone.
func parseSeeds(text string) (first, last int, err error) {
	a, b, isRange := strings.Cut(text, "-")
	if !isRange {
		b = a
	}
	first, err = strconv.Atoi(a)
	if err == nil {
		last, err = strconv.Atoi(b)
	}
	if err != nil || last < first || last >= 1<<32 {
		err = fmt.Errorf("-seeds: got %q, want A-B, 0 <= A <= B < 2^32", text)
	}
	return first, last, err
}

// play plays an episode until the score is 1, the player ends it or its time is over. It returns the states, which are one more than
// the targets, and the highest reward.
func play(ctx context.Context, p player, seed int) (seen []state, targets []vec, best float64, err error) {
	s, err := p.start(ctx, seed)
	if err != nil {
		return nil, nil, 0, err
	}
	e := newEnv(s)
	seen = append(seen, e.state())
	for len(targets) < steps && best < 1 {
		next, err := p.next(ctx, seen)
		if err != nil {
			return nil, nil, 0, err
		}
		if len(next) == 0 {
			break
		}
		for _, target := range next[:min(len(next), steps-len(targets))] {
			e.step(target)
			seen, targets = append(seen, e.state()), append(targets, target)
			best = max(best, e.state().reward())
			if best == 1 {
				break
			}
		}
	}
	return seen, targets, best, nil
}

func mean(list []float64) (m float64) {
	for _, v := range list {
		m += v
	}
	return m / float64(len(list))
}

// bootstrap returns the 95 % interval of the mean by 1000 resamples, which are always the same.
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
