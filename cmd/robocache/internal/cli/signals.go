package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/robocache/robocache/internal/atomicfile"
)

// ExitOther is the exit code for other errors, and for a program that continued after a signal.
const ExitOther = 1

// Interrupts handles the signals that end a program. By default the program ends at once with the signal, and removes incomplete files.
// After UntilCut, the first signal only ends the context, and the command writes its results and exits with code 1. A second signal ends
// the program at once.
type Interrupts struct {
	sync.Mutex
	soft func() // if it is nil, the signal ends the program at once
	last func() // called before the program ends; may be nil
}

// Watch starts to catch signals. The returned function stops that.
func (i *Interrupts) Watch() (stop func()) {
	caught := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // for example, nohup ignores SIGHUP
			signal.Notify(caught, s)
		}
	}
	// Without this, SIGPIPE would end the program in the middle of a file if the reader of its output is gone. Now the write fails, and
	// run handles the error.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-caught:
				i.Lock()
				soft, last := i.soft, i.last
				i.soft = nil
				i.Unlock()
				if soft != nil {
					soft()
					continue
				}
				atomicfile.Abandon()
				if last != nil {
					last()
				}
				die(s)
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(caught)
		signal.Stop(gone)
		close(done)
	}
}

// set replaces one of the two functions.
func (i *Interrupts) set(to *func(), f func()) {
	i.Lock()
	defer i.Unlock()
	*to = f
}

// die ends the program with the signal, so that its parent sees the cause.
func die(s os.Signal) {
	signal.Reset(s)
	if p, err := os.FindProcess(os.Getpid()); err == nil && p.Signal(s) == nil {
		time.Sleep(time.Second) // the signal arrives before that
	}
	os.Exit(ExitOther)
}

// DieOfPipe ends the program with SIGPIPE, which the runtime only accepts from a write.
func DieOfPipe() {
	signal.Reset(syscall.SIGPIPE)
	_, _ = os.Stdout.Write([]byte("\n"))
	os.Exit(ExitOther)
}

// OnSignal registers last, which is called before a signal ends the program. stop removes it.
func (a *App) OnSignal(last func()) (stop func()) {
	a.Interrupts.set(&a.Interrupts.last, last)
	return func() { a.Interrupts.set(&a.Interrupts.last, nil) }
}

// UntilCut returns a context that ends at a signal, or after limit if that is not 0. ended reports whether a signal came. The caller calls
// stop.
func (a *App) UntilCut(limit time.Duration) (ctx context.Context, ended func() bool, stop func()) {
	signals, cancel := context.WithCancel(context.Background())
	a.Interrupts.set(&a.Interrupts.soft, cancel)
	ended = func() bool { return signals.Err() != nil }
	release := func() {}
	ctx = signals
	if limit > 0 {
		ctx, release = context.WithTimeoutCause(signals, limit, fmt.Errorf("--limit %v", limit))
	}
	return ctx, ended, func() {
		a.Interrupts.set(&a.Interrupts.soft, nil)
		release()
	}
}
