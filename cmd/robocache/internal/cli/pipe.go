package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// Pipe is an input that was copied: its name on the command line, and the path of its copy, which is empty where no input is a pipe.
type Pipe struct{ Name, Copy string }

// text is a text that names the pipe where it named the copy.
func (p *Pipe) text(s string) string {
	if p == nil || p.Copy == "" {
		return s
	}
	return strings.ReplaceAll(s, p.Copy, p.Name)
}

// JSON returns encoded JSON that names the pipe where it named the copy.
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

// naming writes texts that name the pipe.
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
