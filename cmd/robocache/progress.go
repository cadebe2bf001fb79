package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// patience is how long a step may take before a person at a terminal is told of it.
const patience = time.Second

// step says what is being done, if that takes a while and somebody looks. The function that it returns ends the step.
func (a *app) step(what string) func() {
	if a.announce == nil || a.json {
		return func() {}
	}
	return sync.OnceFunc(a.announce(a.pipe.text(what)))
}

// bar shows how many of a number of things are done, to a person at a terminal; nil to nobody.
type bar struct{ *progressbar.ProgressBar }

// counting begins a bar. It shows once the work has taken a while.
func (a *app) counting(what string, of int) bar { return a.bar(what, of) }

// rating begins a bar that says how many things of a unit a second are done, too.
func (a *app) rating(what string, of int, unit string) bar {
	return a.bar(what, of, progressbar.OptionShowIts(), progressbar.OptionSetItsString(unit))
}

func (a *app) bar(what string, of int, more ...progressbar.Option) bar {
	if a.announce == nil || a.json || of < 2 {
		return bar{}
	}
	return bar{progressbar.NewOptions(of, append(more, progressbar.OptionSetWriter(a.err), progressbar.OptionSetDescription(a.pipe.text(what)), progressbar.OptionShowCount(),
		progressbar.OptionThrottle(patience/10), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))...)}
}

func (b bar) add(n int) {
	if b.ProgressBar != nil {
		_ = b.Add(n) // a bar that cannot be drawn is no reason to stop
	}
}

func (b bar) done() {
	if b.ProgressBar != nil {
		_ = b.Finish()
	}
}

// announcing says on standard error what is being done, and for how long; nil if that is no terminal.
func announcing(stderr io.Writer) func(string) func() {
	f, ok := stderr.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return func(what string) func() { return ticking(f, what, patience) }
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
