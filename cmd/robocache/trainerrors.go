package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
)

// explain says what an error of package policy means for the command line.
func (t *training) explain(err error) error {
	if errors.Is(err, ops.ErrWrongDevice) {
		return usagef("--backend: got %q: %v", t.backend, err)
	}
	var option *policy.OptionError
	if errors.As(err, &option) {
		arg := cmp.Or(map[string]string{"Rate": "lr", "History": "Plan", "Chunk": "Plan"}[option.Arg], option.Arg)
		if arg != "Plan" || t.planFile == "" {
			return &policy.OptionError{Arg: arg, Got: option.Got, Want: option.Want}
		}
		return &inputError{Path: cmp.Or(t.planFile, t.path), Msg: option.Arg, Got: option.Got, Want: option.Want}
	}
	var bad *nn.NotFiniteError
	if errors.As(err, &bad) { // though the recordings were looked at, and are
		rate := cmp.Or(t.Rate, recipeRate(t.Size))
		return fmt.Errorf("training diverged: the loss or a gradient of step %d is not finite, and the recordings are; a --lr less than %g is the likely cure", bad.Step, rate)
	}
	return explainPolicy(t.path, err)
}

// recipeRate is the learning rate of a size.
func recipeRate(size string) float64 {
	r, _ := policy.RecipeOf(size) // which is checked
	return r.Rate
}

// explainDrawn says what an error of the loader means, of a dataset that has to fit the device.
func explainDrawn(r *batching.Request, err error) error {
	var memory *ops.MemoryError
	if errors.As(err, &memory) {
		return err
	}
	return r.Explain(err)
}

// explainPolicy says which input an error of package policy is of.
func explainPolicy(path string, err error) error {
	var stream *policy.StreamError
	var episode *policy.EpisodeError
	var checkpoint *policy.CheckpointError
	var bad *nn.NotFiniteError
	switch {
	case errors.As(err, &stream):
		return &inputError{Path: path, Stream: stream.Stream, Got: stream.Got, Want: stream.Want}
	case errors.As(err, &episode):
		return &inputError{Path: path, Msg: "episode " + episode.Episode, Got: episode.Got, Want: episode.Want}
	case errors.As(err, &checkpoint):
		return &inputError{Path: checkpoint.Dir, Msg: checkpoint.What, Got: checkpoint.Got, Want: checkpoint.Want}
	case errors.As(err, &bad):
		return &inputError{Path: path, Err: err}
	}
	return err
}
