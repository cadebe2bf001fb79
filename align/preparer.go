package align

import (
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/ops"
)

// Preparer prepares many recordings with one plan. It checks the plan once, and caches the interpolation methods for the columns of
// each stream, because recordings with the same columns have the same methods. Its methods may be called from any goroutine. The
// returned streams share Options.Channels, which must not be written.
type Preparer struct {
	Plan Plan // must not change

	checked sync.Once
	wrong   error // of Plan.Check

	mu      sync.Mutex
	streams []kinds // of each stream in the plan, or in the recording if the plan names none
}

func (p *Preparer) check() error {
	p.checked.Do(func() { p.wrong = p.Plan.Check() })
	return p.wrong
}

// CheckEpisode returns an error if no plan with this Rate can use the recording, because two streams have one name or the
// timestamps count steps.
func (p *Preparer) CheckEpisode(e *dataset.Episode) error {
	if name, repeated := columns.Repeated(e.Names()); repeated {
		return &StreamError{Stream: name, Got: "two streams with this name", Want: "each name once"}
	}
	if e.Steps && p.Plan.Targets == nil {
		return &clocks.StepsError{Rate: p.Plan.Rate}
	}
	return nil
}

// kinds are the channels for a stream's columns.
type kinds struct {
	columns  []dataset.Column
	custom   dataset.Rotation
	channels []ops.Channel
}

// channels returns the channels of a stream. They depend only on its place in the plan, its columns and custom, the order of quaternions.
func (p *Preparer) channels(t *take, custom dataset.Rotation) ([]ops.Channel, error) {
	p.mu.Lock()
	for len(p.streams) <= t.index {
		p.streams = append(p.streams, kinds{})
	}
	known := p.streams[t.index]
	p.mu.Unlock()
	if known.channels != nil && known.custom == custom && dataset.SameColumns(known.columns, t.stream.Columns) {
		return known.channels, nil
	}
	list, err := channels(t.stream, &t.how, t.own, custom)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.streams[t.index] = kinds{t.stream.Columns, custom, list}
	p.mu.Unlock()
	return list, nil
}
