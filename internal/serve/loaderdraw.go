package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
)

// slots draws batches in advance. A slot is room for one batch in the shared memory. A goroutine draws into free slots, and waits if no
// slot is free. So the number of slots limits the memory.
type slots struct {
	*loading
	memory *Memory
	layout *layout
	handed []bool // by slot: true while Python has it

	free  chan int    // slots to draw into
	ready chan *drawn // in drawing order
	stop  context.CancelFunc
	done  chan struct{} // closed when the goroutine has ended; nil if it was not started
	wrong error         // from Next or resume; returned again until the next resume
}

// drawn is a batch in a slot, or the error that ended the drawing.
type drawn struct {
	slot  int
	epoch int64 // the batch's epoch
	last  bool  // true if the batch ends the epoch
	state loader.State
	err   error
}

// open opens the loader and allocates its slots.
func (l *slots) open(ctx context.Context, device *ops.Device, count int) error {
	var err error
	if l.loader, err = l.source.MakeOn(ctx, device, l.plan); err != nil {
		return err
	}
	if l.layout, err = layoutOf(l.loader, len(l.source.Paths) > 1); err != nil {
		return err
	}
	if l.memory, err = NewMemory("slots of batches", int64(count)*int64(l.layout.bytes)); err != nil {
		return err
	}
	l.handed = make([]bool, count)
	l.free, l.ready = make(chan int, count), make(chan *drawn, count+1)
	for slot := range count {
		l.free <- slot
	}
	return nil
}

// start starts to draw at the loader's state.
func (l *slots) start() {
	ctx, stop := context.WithCancel(context.Background())
	l.stop, l.done = stop, make(chan struct{})
	go l.draw(ctx)
}

// draw draws batches until the context ends or a batch fails.
func (l *slots) draw(ctx context.Context) {
	defer close(l.done)
	for {
		select {
		case <-ctx.Done():
			return
		case slot := <-l.free:
			var d *drawn
			err := caught.Do(func() (err error) {
				d, err = l.drawInto(ctx, slot)
				return err
			})
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

// drawInto draws the loader's next batch into a slot.
func (l *slots) drawInto(ctx context.Context, slot int) (*drawn, error) {
	before, err := l.loader.State(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.loader.Next(ctx); err != nil {
		return nil, err
	}
	bytes := l.layout.bytes
	if err := l.layout.fill(l.memory.Bytes()[slot*bytes:(slot+1)*bytes], l.loader); err != nil {
		return nil, err
	}
	after, err := l.loader.State(ctx)
	if err != nil {
		return nil, err
	}
	return &drawn{slot: slot, epoch: l.loader.Begin(before).Epoch, last: l.loader.EpochEnds(after), state: after}, nil
}

// next hands the next batch to Python. If no batch is ready, next waits when wait is true, and returns nil when it is false.
// With wait, it returns a *RequestError if no batch can come, because Python has all slots. After a failed batch, every call
// returns the same error until resume.
func (l *slots) next(ctx context.Context, wait bool) (*drawn, error) {
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
	l.handed[d.slot] = true
	return d, nil
}

// held returns the number of slots that Python has.
func (l *slots) held() (n int) {
	for _, h := range l.handed {
		if h {
			n++
		}
	}
	return n
}

// release returns a slot from Python to the free slots. It returns a *RequestError if Python does not have the slot.
func (l *slots) release(slot int) error {
	if slot < 0 || slot >= len(l.handed) || !l.handed[slot] {
		return &RequestError{Arg: "release", Got: fmt.Sprint(slot), Want: "a slot that was handed out"}
	}
	l.handed[slot] = false
	l.free <- slot
	return nil
}

// pause stops the drawing and drops the batches drawn ahead.
func (l *slots) pause() {
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

// resume restarts the drawing at a state. If the loader refuses the state, nothing changes.
func (l *slots) resume(ctx context.Context, s loader.State) error {
	if err := l.loader.Check(s); err != nil {
		return err
	}
	l.pause()
	if l.wrong = l.loader.Resume(ctx, s); l.wrong == nil {
		l.start()
	}
	return l.wrong
}

// Close stops the drawing and closes the loader and the slots. The client keeps its own mapping of the slots.
func (l *slots) Close() error {
	l.pause()
	return errors.Join(l.loading.Close(), l.memory.Close())
}
