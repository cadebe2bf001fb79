package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
)

// loading is the loader of a connection. A goroutine draws batches ahead into slots that are free, and sleeps where there is none: so the memory that
// a trainer gave is all that is drawn ahead.
type loading struct {
	request     *batching.Request
	source      *batching.Source
	loader      *loader.Loader
	hz          float64
	rank, world int
	remarks     []string
	memory      *Memory
	layout      *layout
	handed      []bool // by slot: Python has it

	free  chan int    // slots to draw into
	ready chan *drawn // in their order
	stop  context.CancelFunc
	done  chan struct{} // closed when the goroutine has ended; nil where none was started
	wrong error         // of Next: it comes again until resume
	at    loader.State  // behind the last batch that was handed out
}

// drawn is a batch in a slot, or the error that came instead.
type drawn struct {
	slot  int
	epoch int64 // that it is of
	last  bool  // the epoch ends with it
	state loader.State
	err   error
}

// open opens the datasets and makes the loader and its slots.
func (l *loading) open(ctx context.Context, device *ops.Device, slots int) error {
	var err error
	watch := batching.Watch{Remark: func(format string, args ...any) {
		l.remarks = append(l.remarks, batching.Plain(fmt.Sprintf(format, args...)))
	}}
	if l.source, err = batching.Open(ctx, l.request, watch); err != nil {
		return err
	}
	plan, err := l.source.Plan(ctx)
	if err != nil {
		return err
	}
	l.hz = plan.Rate
	if l.loader, err = l.source.MakeOn(ctx, device, plan); err != nil {
		return err
	}
	if l.layout, err = layoutOf(l.loader.Batch(), len(l.request.Paths()) > 1); err != nil {
		return err
	}
	if l.memory, err = NewMemory("slots of batches", int64(slots)*int64(l.layout.bytes)); err != nil {
		return err
	}
	if l.at, err = l.loader.State(ctx); err != nil {
		return err
	}
	l.handed = make([]bool, slots)
	l.free, l.ready = make(chan int, slots), make(chan *drawn, slots+1)
	for slot := range slots {
		l.free <- slot
	}
	return nil
}

// start begins to draw where the loader is.
func (l *loading) start() {
	ctx, stop := context.WithCancel(context.Background())
	l.stop, l.done = stop, make(chan struct{})
	go l.draw(ctx)
}

// draw draws batches until the context ends or a batch cannot be made.
func (l *loading) draw(ctx context.Context) {
	defer close(l.done)
	for {
		select {
		case <-ctx.Done():
			return
		case slot := <-l.free:
			d, err := l.drawInto(ctx, slot)
			switch {
			case ctx.Err() != nil:
				l.free <- slot
				return
			case err != nil:
				l.free <- slot
				l.ready <- &drawn{err: err}
				return
			}
			l.ready <- d
		}
	}
}

// drawInto draws the next batch into a slot.
func (l *loading) drawInto(ctx context.Context, slot int) (*drawn, error) {
	before, err := l.loader.State(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.loader.Next(ctx); err != nil {
		return nil, err
	}
	bytes := l.layout.bytes
	if err := l.layout.fill(l.memory.Bytes()[slot*bytes:(slot+1)*bytes], l.loader, l.hz); err != nil {
		return nil, err
	}
	after, err := l.loader.State(ctx)
	if err != nil {
		return nil, err
	}
	return &drawn{slot: slot, epoch: l.loader.Begin(before).Epoch, last: l.loader.EpochEnds(after), state: after}, nil
}

// next returns the next batch, or nil if there is none yet and wait is false.
func (l *loading) next(ctx context.Context, wait bool) (*drawn, error) {
	if l.wrong != nil {
		return nil, l.wrong
	}
	var d *drawn
	if wait {
		if len(l.ready) == 0 && l.held() == len(l.handed) {
			return nil, &RequestError{Arg: "release", Got: "all slots held", Want: "one to draw into"}
		}
		select {
		case d = <-l.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	} else {
		select {
		case d = <-l.ready:
		default:
			return nil, nil
		}
	}
	if l.wrong = d.err; d.err != nil {
		return nil, d.err
	}
	l.handed[d.slot], l.at = true, d.state
	return d, nil
}

// held is how many slots Python has.
func (l *loading) held() (n int) {
	for _, h := range l.handed {
		if h {
			n++
		}
	}
	return n
}

// release takes a slot back.
func (l *loading) release(slot int) error {
	if slot < 0 || slot >= len(l.handed) || !l.handed[slot] {
		return &RequestError{Arg: "release", Got: fmt.Sprint(slot), Want: "a slot that was handed out"}
	}
	l.handed[slot] = false
	l.free <- slot
	return nil
}

// pause ends the drawing, and forgets what was drawn ahead.
func (l *loading) pause() {
	if l.done == nil {
		return
	}
	l.stop()
	<-l.done
	l.done = nil
	for len(l.ready) > 0 {
		if d := <-l.ready; d.err == nil {
			l.free <- d.slot
		}
	}
}

// resume goes on from a state. One that is refused leaves all as it was, since it is looked at before anything is drawn anew.
func (l *loading) resume(ctx context.Context, s loader.State) error {
	l.pause()
	err := l.loader.Resume(ctx, s)
	if err == nil {
		l.at, l.wrong = s, nil
	} else if failed := l.loader.Resume(ctx, l.at); failed != nil { // what was drawn ahead is drawn again
		return errors.Join(err, failed)
	}
	l.start()
	return err
}

// Close ends the drawing and closes the loader, its datasets and the slots. What was handed out is the other side's, which has its own mapping.
func (l *loading) Close() error {
	var errs []error
	l.pause()
	if l.loader != nil {
		errs = append(errs, l.loader.Close())
	}
	if l.source != nil {
		errs = append(errs, l.source.Close())
	}
	return errors.Join(append(errs, l.memory.Close())...)
}
