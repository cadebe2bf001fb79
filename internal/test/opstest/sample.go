package opstest

import (
	"fmt"
	"testing"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
)

// trial is a generated case and the layout of its outputs.
type trial struct {
	operation
	layout
}

// sampling has an operation's generated cases. A number always gives the same cases.
type sampling struct {
	draw            func(number int) []trial
	few, some, many int // counts of numbers: in the default set on a simulated device, in the default set elsewhere, and in the long set
}

// samples has the generated cases of each operation, by group.
var samples = map[string]sampling{
	"resample":  {drawResample, round, 4 * round, 12 * round},
	"fuse":      {drawFuse, 24, 36, 192},
	"backward":  {drawBackward, 24, 36, 192},
	"voxel":     {drawVoxel, 72, 96, 480},
	"draw":      {drawDraw, 20, 200, 800},
	"tally":     {drawTally, 2, 10, 40},
	"frames":    {drawFrames, 24, 200, 800},
	"deproject": {drawDeproject, 10, 60, 200},
	"farthest":  {drawFarthest, 20, 200, 400},
	"integrate": {drawIntegrate, 12, 60, 300},
}

// generated returns a test that runs an operation's generated cases, and stops at the first number that fails.
func generated(operation string) func(*suite, *testing.T) {
	return func(s *suite, t *testing.T) {
		a := samples[operation]
		n := a.some
		switch {
		case s.long:
			n = a.many
		case s.simulated || watched || thorough.Raced:
			n = a.few
		}
		for i := 0; i < n && !t.Failed(); i++ {
			s.number(t, a, i)
		}
	}
}

// number runs the cases with a number.
func (s *suite) number(t *testing.T, a sampling, number int) {
	for _, c := range a.draw(number) {
		s.run(t, c.operation, c.layout)
	}
}

// Sample has an operation's generated cases for a device, each in every form.
type Sample struct {
	s *suite
	a sampling
}

// NewSample returns the generated cases of an operation: "resample", "fuse", "backward", "voxel", "draw", "tally", "frames", "deproject", "farthest" or "integrate".
func NewSample(t *testing.T, dev *ops.Device, operation string) *Sample {
	s := newSuite(t, dev, Config{})
	s.long = true
	a, ok := samples[operation]
	if !ok {
		panic("opstest: no sample of " + operation)
	}
	return &Sample{s, a}
}

// Run runs the cases with a number, from 0.
func (p *Sample) Run(t *testing.T, number int) { p.s.number(t, p.a, number) }

// numbered returns the name of a case with a number.
func numbered(of string, number int) string { return fmt.Sprint(of, " ", number) }
