package cli

import (
	"fmt"
	"io"

	"github.com/robocache/robocache/internal/printed"
	"github.com/robocache/robocache/internal/schema"
)

// App is one run of the program.
type App struct {
	In         io.Reader // standard input
	Out, Err   io.Writer
	Announce   func(step string) (done func()) // shows a slow step on a terminal
	JSON       bool                            // standard output has one JSON object instead of text
	Quiet      bool                            // prints no remarks, because another program prints them
	Wide       bool                            // tables have all columns, for a terminal of any width
	Interrupts Interrupts
	Pipe       *Pipe
	screen     *screen
}

// New returns an App. Everything that it prints has a pipe's name instead of its copy's path, and escapes for characters that a terminal
// would obey. If err is a terminal, the App shows steps.
func New(in io.Reader, out, err io.Writer) *App {
	a := &App{In: in, Pipe: &Pipe{}, screen: &screen{w: err}}
	a.Out, a.Err = &printer{w: out, App: a}, &printer{w: err, App: a}
	a.Announce = a.screen.announcing()
	return a
}

// WriteJSON writes one indented JSON object to standard output. It returns the encoder's or the writer's error.
func (a *App) WriteJSON(name schema.Name, v any) error {
	text, err := schema.JSON(name, v, "  ")
	if err != nil {
		return err
	}
	_, err = a.Out.Write(a.Pipe.JSON(text))
	return err
}

// Remark prints a line to standard error. With --json it prints nothing, because the result has the line.
func (a *App) Remark(format string, args ...any) {
	if !a.JSON && !a.Quiet {
		a.Report(fmt.Sprintf(format, args...))
	}
}

// Report writes a line to standard error.
func (a *App) Report(line string) {
	fmt.Fprintln(a.Err, Wrap(a.Err, "robocache: "+printed.Text(line), 2))
}

// Remarks prints lines as Remark does.
func (a *App) Remarks(lines []string) {
	for _, line := range lines {
		a.Remark("%s", line)
	}
}
