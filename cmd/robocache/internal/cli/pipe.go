package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// Pipe is an input that was copied: its name on the command line and the path of its copy. The path is empty if no input is a pipe.
type Pipe struct{ Name, Copy string }

// text returns a text with the pipe's name in place of the copy's.
func (p *Pipe) text(s string) string {
	if p == nil || p.Copy == "" {
		return s
	}
	return strings.ReplaceAll(s, p.Copy, p.Name)
}

// JSON returns encoded JSON with the pipe's name in place of the copy's.
func (p *Pipe) JSON(b []byte) []byte {
	if p == nil || p.Copy == "" {
		return b
	}
	inside := func(s string) []byte {
		quoted, err := json.Marshal(s)
		if err != nil {
			return []byte(s)
		}
		return quoted[1 : len(quoted)-1]
	}
	return bytes.ReplaceAll(b, inside(p.Copy), inside(p.Name))
}

// naming is a writer that writes the pipe's name in place of the copy's.
type naming struct {
	w    io.Writer
	pipe *Pipe
}

func (n *naming) Write(p []byte) (int, error) {
	if _, err := n.w.Write([]byte(n.pipe.text(string(p)))); err != nil {
		return 0, err
	}
	return len(p), nil
}
