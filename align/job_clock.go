package align

import (
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/ops"
)

// makeClock sets the clock: the plan's targets, or ticks over the plan's range. If the range is empty, or has too many ticks, it returns an
// error.
func (j *job) makeClock() error {
	if j.plan.Targets != nil {
		j.clock, j.targets = ops.At(j.plan.Targets), j.plan.Targets
		j.ticks = j.clock
		return nil
	}
	var list []clocks.Source
	for _, t := range j.takes {
		if !t.empty {
			cover := t.cover
			if j.plan.Range.Mode == RangeCommon {
				cover = t.core
			}
			list = append(list, clocks.Source{Cover: cover, OnChange: t.onChange, Stray: t.core != t.cover || t.jumps != nil})
		}
	}
	if len(list) == 0 {
		return j.nothing()
	}
	var err error
	j.clock, j.span, err = clocks.Over(list, j.whole, clocks.Range(j.plan.Range), j.plan.Rate, j.snap, j.takes[0].stream.Times.DType())
	return err
}

// makeTargets writes the clock's ticks to a tensor. If memory cannot hold the result, the error is ops.ErrTooLarge.
func (j *job) makeTargets() error {
	if j.plan.Targets != nil {
		return nil
	}
	if err := j.room(); err != nil {
		return err
	}
	var err error
	j.targets, j.ticks, err = clocks.Ticks(j.clock, j.span, j.takes[0].stream.Times.DType())
	return err
}

func (j *job) room() error {
	columns := 0
	for _, t := range j.takes {
		columns += len(t.stream.Columns)
	}
	return clocks.Room(j.clock, len(j.takes), columns, j.plan.Defaults.DType)
}
