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

// ExitOther is the exit code of an error that has no code of its own, and of a program that a signal should have ended and did not.
const ExitOther = 1

// Interrupts is what a signal that asks the program to end does. A command ends at once, as by the signal itself, and leaves no file that is half
// made; one that has called UntilCut ends by itself with the results that it has and exit code 1, unless a second signal comes.
type Interrupts struct {
	sync.Mutex
	soft func() // nil: end at once
	last func() // says what there is to say before the end; may be nil
}

// Watch begins to catch signals. The function that it returns ends that.
func (i *Interrupts) Watch() (stop func()) {
	caught := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as nohup does to SIGHUP
			signal.Notify(caught, s)
		}
	}
	// A reader of the output that is gone makes writing fail, which run looks for. By itself it would end the program at once, in the midst of a
	// file.
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

// die ends the program by the signal, so that its parent sees what ended it.
func die(s os.Signal) {
	signal.Reset(s)
	if p, err := os.FindProcess(os.Getpid()); err == nil && p.Signal(s) == nil {
		time.Sleep(time.Second) // it comes at once
	}
	os.Exit(ExitOther)
}

// DieOfPipe ends the program by SIGPIPE, which the runtime takes from nothing but a write.
func DieOfPipe() {
	signal.Reset(syscall.SIGPIPE)
	_, _ = os.Stdout.Write([]byte("\n"))
	os.Exit(ExitOther)
}

// OnSignal calls say before a signal ends the program, until stop.
func (a *App) OnSignal(say func()) (stop func()) {
	a.Interrupts.set(&a.Interrupts.last, say)
	return func() { a.Interrupts.set(&a.Interrupts.last, nil) }
}

// UntilCut returns a context that a signal or, if it is not 0, the limit ends; ended reports whether a signal did.
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
