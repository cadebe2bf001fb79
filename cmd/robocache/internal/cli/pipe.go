package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/robocache/robocache/internal/printed"
)

// Pipe is an input that was copied: its name on the command line and the path to its copy. The path is empty if no input is a pipe.
type Pipe struct{ Name, Copy string }

// text returns a text with the pipe's name instead of the copy's.
func (p *Pipe) text(s string) string {
	if p == nil || p.Copy == "" {
		return s
	}
	return strings.ReplaceAll(s, p.Copy, p.Name)
}

// JSON returns encoded JSON with the pipe's name instead of the copy's.
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

// printer is a writer for text that people read. It writes the pipe's name instead of the copy's, and escapes the characters that a
// terminal would obey. Newlines and tabs stay.
type printer struct {
	*App
	w    io.Writer
	rest []byte // the first bytes of a character that is not complete yet
}

// Width returns the columns that a table may take, or 0 without a limit.
func (n *printer) Width() int {
	if n.Wide {
		return 0
	}
	return widthOf(n.w)
}

func (n *printer) Write(p []byte) (int, error) {
	text := append(n.rest, p...)
	whole := len(text)
	for i := max(0, len(text)-utf8.UTFMax+1); i < len(text); i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			whole = i
		}
	}
	n.rest = append([]byte(nil), text[whole:]...)
	n.screen.Lock()
	defer n.screen.Unlock()
	n.screen.clear()
	if _, err := n.w.Write([]byte(printed.Lines(n.Pipe.text(string(text[:whole]))))); err != nil {
		return 0, err
	}
	return len(p), nil
}
