package cli

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robocache/robocache/internal/printed"
)

// Step shows a step on a terminal if it takes more than a second. The returned function ends the step.
func (a *App) Step(what string) func() {
	if a.Announce == nil || a.JSON {
		return func() {}
	}
	return sync.OnceFunc(a.Announce(a.shown(what)))
}

// shown returns a text in a form that is safe for a terminal.
func (a *App) shown(text string) string { return printed.Text(a.Pipe.Text(text)) }

// Draw shows a line on a terminal until other output, Clear or another Draw.
func (a *App) Draw(line string) {
	if a.Announce != nil {
		a.screen.draw(a.shown(line))
	}
}

// Clear erases the line from Draw.
func (a *App) Clear() {
	a.screen.Lock()
	defer a.screen.Unlock()
	a.screen.clear()
}

// Bar shows progress on a terminal. The zero Bar shows nothing.
type Bar struct{ *progress }

// progress is the work that a Bar shows.
type progress struct {
	what, unit string // unit is the rate's unit; empty to show no rate
	of         int
	done       atomic.Int64
	end        func()
}

// Counting starts a bar with a total. It is shown only if the work takes a while.
func (a *App) Counting(what string, of int) Bar { return a.Rating(what, of, "") }

// Rating starts a bar that also shows the rate in units a second.
func (a *App) Rating(what string, of int, unit string) Bar {
	if a.Announce == nil || a.JSON || of < 2 {
		return Bar{}
	}
	p := &progress{what: a.shown(what), unit: unit, of: of}
	p.end = sync.OnceFunc(a.screen.ticking(patience/4, p.line))
	return Bar{p}
}

// line returns the progress after a time: "training: 30 of 100, 12 steps a second, 6 s left".
func (p *progress) line(since time.Duration) string {
	n := int(p.done.Load())
	line := fmt.Sprintf("%s: %d of %d", p.what, n, p.of)
	if n == 0 {
		return line
	}
	if p.unit != "" {
		line += fmt.Sprintf(", %.3g %s a second", float64(n)/since.Seconds(), p.unit)
	}
	left := since / time.Duration(n) * time.Duration(max(0, p.of-n))
	return fmt.Sprintf("%s, %s left", line, left.Round(time.Second))
}

// Add adds n to the bar.
func (b Bar) Add(n int) {
	if b.progress != nil {
		b.done.Add(int64(n))
	}
}

// Set sets the bar to n.
func (b Bar) Set(n int) {
	if b.progress != nil {
		b.done.Store(int64(n))
	}
}

// Done ends the bar and clears its line.
func (b Bar) Done() {
	if b.progress != nil {
		b.end()
	}
}
