package main

import (
	"io"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
)

// app is one program run. The commands are its methods.
type app struct{ *cli.App }

func newApp(in io.Reader, out, err io.Writer) *app { return &app{cli.New(in, out, err)} }
