package cudadrv

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	spinFor  = 50 * time.Microsecond // small work ends within this; asking costs about 1 us each time
	pollFrom = 20 * time.Microsecond // between two rounds of the poller, doubling
	pollTo   = time.Millisecond      // up to this
)

// pollable is a stream or an event.
type pollable interface{ Query() (bool, error) }

// poller asks the driver, from one goroutine, whether the streams and events that others wait for are done.
// The goroutine runs while there are waiters.
type poller struct {
	mu      sync.Mutex
	waiters []*waiter
	running bool
	wake    chan struct{}
}

type waiter struct {
	on   pollable
	done chan error
}

// wait returns when on is done, or fails, or ctx ends.
func (p *poller) wait(ctx context.Context, on pollable) error {
	until := time.Now().Add(spinFor)
	for {
		if err := ctx.Err(); err != nil {
			return waitError(err)
		}
		if done, err := on.Query(); done || err != nil {
			return err
		}
		if time.Now().After(until) {
			break
		}
		runtime.Gosched()
	}
	w := &waiter{on: on, done: make(chan error, 1)}
	p.add(w)
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		p.remove(w)
		return waitError(ctx.Err())
	}
}

// cancellable reports whether ctx may end. Where it cannot, or is nil, waits are the driver's own.
func cancellable(ctx context.Context) bool { return ctx != nil && ctx.Done() != nil }

// ended is the error of a ctx that has ended.
func ended(ctx context.Context) error {
	if ctx == nil || ctx.Err() == nil {
		return nil
	}
	return waitError(ctx.Err())
}

func waitError(err error) error { return fmt.Errorf("cudadrv: wait: %w", err) }

func (p *poller) add(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiters = append(p.waiters, w)
	if !p.running {
		p.running = true
		p.wake = make(chan struct{}, 1)
		go p.run(p.wake)
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *poller) remove(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiters, w); i >= 0 {
		p.waiters = slices.Delete(p.waiters, i, i+1)
	}
}

// run polls in rounds until no wait is left.
func (p *poller) run(wake chan struct{}) {
	pause := pollFrom
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		p.mu.Lock()
		if len(p.waiters) == 0 {
			p.running = false
			p.mu.Unlock()
			return
		}
		round := slices.Clone(p.waiters)
		p.mu.Unlock()
		ended := false
		for _, w := range round {
			done, err := w.on.Query()
			if done || err != nil {
				w.done <- err
				p.remove(w)
				ended = true
			}
		}
		if ended {
			pause = pollFrom
			continue
		}
		timer.Reset(pause)
		select {
		case <-timer.C:
			pause = min(2*pause, pollTo)
		case <-wake:
			pause = pollFrom
		}
	}
}
