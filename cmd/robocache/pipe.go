package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// pipe is an input that was copied, and its copy.
type pipe struct{ name, copy string }

// text is a text that names the pipe where it named the copy.
func (p *pipe) text(s string) string {
	if p == nil || p.copy == "" {
		return s
	}
	return strings.ReplaceAll(s, p.copy, p.name)
}

// json is that of JSON.
func (p *pipe) json(b []byte) []byte {
	if p == nil || p.copy == "" {
		return b
	}
	inside := func(s string) []byte {
		quoted, err := json.Marshal(s)
		if err != nil {
			return []byte(s)
		}
		return quoted[1 : len(quoted)-1]
	}
	return bytes.ReplaceAll(b, inside(p.copy), inside(p.name))
}

// naming writes texts that name the pipe.
type naming struct {
	w    io.Writer
	pipe *pipe
}

func (n *naming) Write(p []byte) (int, error) {
	if _, err := n.w.Write([]byte(n.pipe.text(string(p)))); err != nil {
		return 0, err
	}
	return len(p), nil
}
