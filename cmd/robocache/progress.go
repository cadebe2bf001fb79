package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// patience is how long a step may take before a person at a terminal is told of it.
const patience = time.Second

// step says on standard error what is being done, and for how long, if that is a terminal and it takes a while. The
// function that it returns ends the step.
func (a *app) step(what string) func() {
	f, ok := a.err.(*os.File)
	if !ok || a.json {
		return func() {}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func() {}
	}
	return ticking(f, what, patience)
}

// ticking writes a line over and over, until the function that it returns takes it away.
func ticking(w io.Writer, what string, every time.Duration) func() {
	begin, done, gone := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for said := false; ; said = true {
			select {
			case <-tick.C:
				fmt.Fprintf(w, "\r%s, %.0f s\x1b[K", what, time.Since(begin).Seconds())
			case <-done:
				if said {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			}
		}
	}()
	return func() {
		close(done)
		<-gone
	}
}

// untilCut is a context that an interrupt, SIGTERM or, if it is not 0, the limit ends; ended reports, before stop, whether a signal did.
// A second signal ends the program at once.
func untilCut(limit time.Duration) (ctx context.Context, ended func() bool, stop func()) {
	signals, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(signals, release)
	ended = func() bool { return signals.Err() != nil }
	if limit == 0 {
		return signals, ended, release
	}
	ctx, done := context.WithTimeoutCause(signals, limit, fmt.Errorf("--limit %v", limit))
	return ctx, ended, func() {
		done()
		release()
	}
}
