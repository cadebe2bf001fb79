package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/robocache/robocache/internal/printed"
	"github.com/robocache/robocache/internal/text"
	"golang.org/x/term"
)

// patience is how long a step lasts before a terminal shows it.
const patience = time.Second

// screen has the progress line on standard error. Other output clears the line first, and the line is drawn again later.
type screen struct {
	sync.Mutex
	w     io.Writer
	shown bool
}

// draw replaces the shown line by another one, clipped to the terminal's width.
func (s *screen) draw(line string) {
	s.Lock()
	defer s.Unlock()
	if width := widthOf(s.w); width > 0 {
		line = text.Clip(line, width-1)
	}
	fmt.Fprintf(s.w, "\r%s\x1b[K", line)
	s.shown = true
}

// clear erases the shown line. The caller holds the lock.
func (s *screen) clear() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}

// ticking draws a line periodically. The returned function stops that and erases the line.
func (s *screen) ticking(every time.Duration, line func(since time.Duration) string) func() {
	begin, done, gone := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.draw(line(time.Since(begin)))
			case <-done:
				s.Lock()
				defer s.Unlock()
				s.clear()
				return
			}
		}
	}()
	return func() {
		close(done)
		<-gone
	}
}

// announcing returns the function that shows a step and its duration, or nil if standard error is no terminal.
func (s *screen) announcing() func(string) func() {
	f, ok := s.w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return func(what string) func() { return s.ticking(patience, elapsed(what)) }
}

// elapsed returns the line of a step: "reading flight.ulg, 3 s".
func elapsed(what string) func(time.Duration) string {
	return func(since time.Duration) string { return fmt.Sprintf("%s, %.0f s", what, since.Seconds()) }
}

// widthOf returns a terminal's width in characters, or 0 if the writer is no terminal. The variable COLUMNS takes precedence over the
// system.
func widthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	set, _ := strconv.Atoi(os.Getenv("COLUMNS")) // 0 if it is no number
	size, _, _ := term.GetSize(int(f.Fd()))      // 0 if the system has none
	return cmp.Or(max(0, set), size, 80)
}

// Wrap breaks a line at words if the output is a terminal that it does not fit. The later lines are indented.
func Wrap(to io.Writer, line string, indent int) string {
	if terminal, is := to.(*printer); is {
		return text.Wrap(line, terminal.Width(), indent)
	}
	return line
}

// Red and Yellow are colours of a terminal.
const (
	Red    = 31
	Yellow = 33
)

// Coloured writes a word to standard output. On a terminal it has the colour, unless that is 0, NO_COLOR is set or TERM is dumb.
func (a *App) Coloured(colour int, word string) error {
	out, is := a.Out.(*printer)
	if colour == 0 || !is || widthOf(out.w) == 0 || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		_, err := io.WriteString(a.Out, word)
		return err
	}
	out.screen.Lock()
	defer out.screen.Unlock()
	out.screen.clear()
	_, err := fmt.Fprintf(out.w, "\x1b[%dm%s\x1b[0m", colour, printed.Text(word))
	return err
}
