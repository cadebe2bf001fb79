package cli

import (
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/robocache/robocache/internal/printed"
)

// Pipe maps the paths of temporary copies to the names of the copied pipes, so that messages show the names. The zero value is empty.
type Pipe struct{ plain, quoted []string } // path, name, path, name; as they are, and as in JSON

// Add adds a pipe. A path may begin with an earlier one.
func (p *Pipe) Add(path, name string) {
	p.plain = append([]string{path, name}, p.plain...)
	for _, s := range []string{name, path} {
		quoted, err := json.Marshal(s)
		if err != nil {
			panic(err) // a string has a form in JSON
		}
		p.quoted = append([]string{string(quoted[1 : len(quoted)-1])}, p.quoted...)
	}
}

// Text returns a text with the pipes' names instead of paths.
func (p *Pipe) Text(s string) string { return strings.NewReplacer(p.plain...).Replace(s) }

// JSON returns encoded JSON with the pipes' names instead of paths.
func (p *Pipe) JSON(b []byte) []byte {
	if len(p.quoted) == 0 {
		return b
	}
	return []byte(strings.NewReplacer(p.quoted...).Replace(string(b)))
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
	if _, err := n.w.Write([]byte(printed.Lines(n.Pipe.Text(string(text[:whole]))))); err != nil {
		return 0, err
	}
	return len(p), nil
}
