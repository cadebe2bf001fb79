package main

import (
	"io"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/convert"
)

// app is one program run. The commands are its methods.
type app struct {
	*cli.App
	memory func()    // ends the watch over the memory
	bytes  io.Writer // standard output without the escapes of Out
	read   bool      // standard input is read
	remove []func()  // removes temporary folders
	writes bool      // an output goes to standard output
	// targets make the targets of convert, by their names.
	targets map[string]func() (convert.Target, error)
}

func newApp(in io.Reader, out, err io.Writer) *app {
	return &app{App: cli.New(in, out, err), memory: func() {}, bytes: out}
}
