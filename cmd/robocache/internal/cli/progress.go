package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/robocache/robocache/internal/printed"
	"github.com/schollz/progressbar/v3"
)

// patience is how long a step lasts before a terminal shows it.
const patience = time.Second

// Step shows a step on a terminal if it takes more than a second. The returned function ends the step.
func (a *App) Step(what string) func() {
	if a.Announce == nil || a.JSON {
		return func() {}
	}
	return sync.OnceFunc(a.Announce(a.shown(what)))
}

// shown returns a text in a form that is safe for a terminal.
func (a *App) shown(text string) string { return printed.Text(a.Pipe.Text(text)) }

// Bar shows progress on a terminal. The zero Bar shows nothing.
type Bar struct{ *progressbar.ProgressBar }

// Counting starts a bar with a total. It is shown only if the work takes a while.
func (a *App) Counting(what string, of int) Bar { return a.bar(what, of) }

// Rating starts a bar that also shows the rate in units a second.
func (a *App) Rating(what string, of int, unit string) Bar {
	return a.bar(what, of, progressbar.OptionShowIts(), progressbar.OptionSetItsString(unit))
}

func (a *App) bar(what string, of int, more ...progressbar.Option) Bar {
	if a.Announce == nil || a.JSON || of < 2 {
		return Bar{}
	}
	return Bar{progressbar.NewOptions(of, append(more, progressbar.OptionSetWriter(a.Screen), progressbar.OptionSetDescription(a.shown(what)), progressbar.OptionShowCount(),
		progressbar.OptionThrottle(patience/10), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))...)}
}

// Add adds n to the bar.
func (b Bar) Add(n int) {
	if b.ProgressBar != nil {
		_ = b.ProgressBar.Add(n) // a bar that cannot be drawn does not stop the work
	}
}

// Done ends the bar and clears its line.
func (b Bar) Done() {
	if b.ProgressBar != nil {
		_ = b.Finish()
	}
}

// announcing returns the function that shows a step and its duration on standard error, or nil if that is no terminal.
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

// ticking rewrites a line periodically, until the returned function clears it.
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
