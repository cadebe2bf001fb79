package cpu

import (
	"errors"
	"sync/atomic"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// drawPlan is a Draw bound to host memory.
type drawPlan struct {
	steppedPlan
	*backend.DrawJob
	episodes, ticks, keys, anchors []int64
	cursor, windows, begins        []int64
	streams                        []drawStream
	epoch                          backend.Epoch
	at                             backend.Cursor // the batch's start
	fault                          atomic.Uint64
}

type drawStream struct{ starts, lengths, offsets []int64 }

const drawTile = 256 // rows per piece

// Draw plans one batch of windows from a packed store.
func (b *Backend) Draw(job *backend.DrawJob) (backend.Plan, error) {
	p := &drawPlan{steppedPlan: steppedPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b}, DrawJob: job}
	p.by = p.steps
	var errs []error
	words := func(t *tensor.Tensor) []int64 { return elementsOf[int64](t, &errs) }
	p.episodes, p.ticks, p.anchors, p.cursor = words(job.Episodes), words(job.Ticks), words(job.Anchors), words(job.Cursor)
	p.windows, p.begins, p.keys = words(job.Windows), words(job.Begins), words(job.Keys)
	for _, s := range job.Streams {
		p.streams = append(p.streams, drawStream{words(s.Starts), words(s.Lengths), words(s.Offsets)})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	p.checks = task{pieces: (job.E + checkTile - 1) / checkTile, do: p.check}
	p.work = task{pieces: (job.Batch + drawTile - 1) / drawTile, do: p.tile}
	return p, nil
}

// steps runs the checks and then, if they find no fault, the work. It passes each task to do.
func (p *drawPlan) steps(do func(*task)) error {
	p.fault.Store(uint64(backend.NoFault))
	if !p.TrustTables {
		for i, v := range p.cursor {
			if v < 0 {
				lower(&p.fault, backend.MakeFault(backend.FaultCursor, i, 0))
			}
		}
		do(&p.checks)
		if f := backend.Fault(p.fault.Load()); f != backend.NoFault {
			return p.FaultError(f)
		}
	}
	var after backend.Cursor
	p.at, after = p.Next(backend.Cursor{Epoch: p.cursor[0], Taken: p.cursor[1]})
	p.epoch = p.Epoch(p.at.Epoch)
	do(&p.work)
	p.cursor[0], p.cursor[1] = after.Epoch, after.Taken
	return nil
}

// check checks one piece of the tables.
func (p *drawPlan) check(piece, _ int) {
	windows := rows{n: p.E, all: p.Count, offsets: p.windows}
	for e := piece * checkTile; e < min((piece+1)*checkTile, p.E); e++ {
		if !windows.fits(e) {
			lower(&p.fault, backend.MakeFault(backend.FaultWindows, e, 0))
		} else if n := p.windows[e+1] - p.windows[e]; badTime(p.begins[e]) != 0 || n > 0 && badTime(p.tick(e, n-1)) != 0 {
			lower(&p.fault, backend.MakeFault(backend.FaultBegins, e, 0))
		}
		for m, s := range p.streams {
			if offsets := (rows{n: p.E, all: int(s.offsets[p.E]), offsets: s.offsets}); !offsets.fits(e) {
				lower(&p.fault, backend.MakeFault(backend.FaultOffsets, e, 0).InStream(m))
			}
		}
	}
}

// tick returns tick i's time in episode e.
func (p *drawPlan) tick(e int, i int64) int64 {
	return backend.Clock{Start: p.begins[e], Rate: p.Rate}.Tick(int(uint32(i)))
}

// tile draws one piece of the batch.
func (p *drawPlan) tile(piece, _ int) {
	for i := piece * drawTile; i < min((piece+1)*drawTile, p.Batch); i++ {
		p.row(i)
	}
}

// row draws row i.
func (p *drawPlan) row(i int) {
	episode, tick, anchor := int64(-1), int64(-1), int64(0)
	position, drawn := p.Position(p.at, i)
	if drawn {
		window := p.epoch.Window(position)
		e := max(firstWhere(p.E, func(k int) bool { return p.windows[k] > window })-1, 0)
		episode, tick = int64(e), window-p.windows[e]
		anchor = p.tick(e, tick)
	}
	if p.episodes != nil {
		p.episodes[i] = episode
	}
	if p.ticks != nil {
		p.ticks[i] = tick
	}
	if p.keys != nil {
		p.keys[2*i], p.keys[2*i+1] = p.at.Epoch, position
	}
	p.anchors[i] = anchor
	for _, s := range p.streams {
		s.starts[i], s.lengths[i] = 0, 0
		if drawn {
			s.starts[i], s.lengths[i] = s.offsets[episode], s.offsets[episode+1]-s.offsets[episode]
		}
	}
}
