package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/robocache/robocache/internal/printed"
)

// app is one run of the program.
type app struct {
	in         io.Reader
	out, err   io.Writer
	announce   func(step string) (done func()) // tells a person at a terminal what takes long
	json       bool
	quiet      bool // remarks are for another program to make
	interrupts interrupts
	pipe       *pipe
}

func newApp(in io.Reader, out, err io.Writer) *app {
	p := &pipe{}
	return &app{in: in, out: &naming{out, p}, err: &naming{err, p}, pipe: p}
}

func (a *app) writeJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := a.out.Write(a.pipe.json(b.Bytes()))
	return err
}

// remark tells the user something that is not the result. With --json the result carries it.
func (a *app) remark(format string, args ...any) {
	if !a.json && !a.quiet {
		fmt.Fprintf(a.err, "robocache: %s\n", printed.Text(fmt.Sprintf(format, args...)))
	}
}
