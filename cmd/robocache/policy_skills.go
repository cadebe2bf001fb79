package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/robocache/robocache/internal/printed"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
)

// skillOf returns the skill by horizon in ticks.
func skillOf(e *policy.Evaluation) map[string]float64 {
	m := map[string]float64{}
	for _, s := range e.Skills {
		if s.Windows > 0 {
			m[strconv.Itoa(s.Ticks)] = s.Skill
		}
	}
	return m
}

// writeSkills prints the skills, one line per horizon, and the skills of a ridge and of the mean action if they are not nil.
func writeSkills(b *bytes.Buffer, e, ridge, mean *policy.Evaluation) {
	fmt.Fprintf(b, "skill on %s, 1 - MSE/MSE(hold the last action):\n", numbered(e.Episodes))
	for _, s := range e.Skills {
		fmt.Fprintf(b, "%s ahead: ", fmt.Sprintf("%3s", strconv.Itoa(s.Ticks))+strings.TrimPrefix(text.Count(s.Ticks, "tick"), strconv.Itoa(s.Ticks)))
		if s.Windows == 0 {
			b.WriteString("no tick has an action there and one before it\n")
			continue
		}
		fmt.Fprintf(b, "%.3f", s.Skill)
		if ridge != nil {
			fmt.Fprintf(b, ", of a ridge %.3f", ridge.At(s.Ticks))
		}
		if mean != nil {
			fmt.Fprintf(b, ", of the mean action %.3f", mean.At(s.Ticks))
		}
		b.WriteByte('\n')
	}
}

// numbered formats episode numbers: "episodes 0 to 3, 7".
func numbered(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if j < i+2 { // at most two in a row
			j = i
			parts = append(parts, strconv.Itoa(list[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d to %d", list[i], list[j]))
		}
		i = j + 1
	}
	what := "episodes "
	if len(list) == 1 {
		what = "episode "
	}
	return what + strings.Join(parts, ", ")
}

// writeColumns prints each column's skill at the farthest horizon that has one, with errors in the column's unit.
func writeColumns(b *bytes.Buffer, e *policy.Evaluation) {
	for i := len(e.Skills) - 1; i >= 0; i-- {
		s := e.Skills[i]
		if s.Windows == 0 {
			continue
		}
		fmt.Fprintf(b, "by column, %s ahead, errors in its unit:\n", text.Count(s.Ticks, "tick"))
		w := text.NewTable(b, tabwriter.AlignRight)
		fmt.Fprint(w, "column\tskill\troot of MSE\tof MSE(hold)\tmeasured by\t\n")
		for _, y := range s.Columns {
			fmt.Fprintf(w, "%s\t%.3f\t%.3g\t%.3g\t%.3g\t\n", printed.Text(y.Name), y.Skill, math.Sqrt(y.MSE), math.Sqrt(y.Hold), y.Std)
		}
		w.Flush()
		return
	}
}

// openedPolicy is a policy on a device that belongs to it.
type openedPolicy struct {
	*policy.Policy
	device *ops.Device
}

func (p *openedPolicy) Close() error { return errors.Join(p.Policy.Close(), p.device.Close()) }

// openPolicy opens the policy in a folder on a device.
func openPolicy(ctx context.Context, backend, dir string) (*openedPolicy, error) {
	device, err := ops.Open(backend)
	if err != nil {
		return nil, err
	}
	p, err := policy.Open(ctx, device, dir)
	if err != nil {
		return nil, errors.Join(explainPolicy(dir, err), device.Close())
	}
	return &openedPolicy{p, device}, nil
}

// explainPolicy maps an error from package policy to the input that caused it.
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
