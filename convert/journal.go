package convert

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/fault"
)

// doneBefore is the state of an earlier conversion: its head and its finished pieces.
type doneBefore struct {
	head     string
	inputs   string
	finished *Report
	entries  []entry
}

// before returns the state that an earlier conversion of the same shard left, from its report or its journal. If there is neither, it
// returns nil without an error.
func (p *place) before() (*doneBefore, error) {
	if p.marker == "" {
		return nil, nil
	}
	if b, err := fault.ReadFile(p.marker); err == nil {
		r := &Report{}
		if json.Unmarshal(b, r) == nil && r.Version == version {
			return &doneBefore{head: text(r.Head), inputs: hashes(r.Inputs), finished: r}, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) { // foreign refuses a file in place of the folder
		return nil, err
	}
	b, err := fault.ReadFile(p.journal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return journalOf(bytes.NewReader(b))
}

// hashes returns the inputs without their paths as JSON, so that moved inputs compare equal.
func hashes(list []InputReport) string {
	list = slices.Clone(list)
	for i := range list {
		list[i].Path = ""
	}
	return text(list)
}

// opening is the first line of a journal.
type opening struct {
	Head   Head          `json:"head"`
	Inputs []InputReport `json:"inputs"`
}

// journalOf reads a journal up to its first incomplete or invalid line, because a conversion that was killed may leave such a line.
func journalOf(r io.Reader) (*doneBefore, error) {
	d := &doneBefore{}
	lines := bufio.NewReader(r)
	for first := true; ; first = false {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		if err == io.EOF {
			return d, nil
		}
		if first {
			var o opening
			if json.Unmarshal(line, &o) != nil {
				return d, nil
			}
			d.head, d.inputs = text(o.Head), hashes(o.Inputs)
			continue
		}
		var n entry
		if json.Unmarshal(line, &n) != nil {
			return d, nil
		}
		if k := len(d.entries) - 1; k >= 0 && d.entries[k].Piece == n.Piece { // the same, before its hash was known
			d.entries = d.entries[:k]
		}
		d.entries = append(d.entries, n)
	}
}

// begin writes a new journal with the entries of finished pieces, and opens it for more entries.
func (p *place) begin(o opening, done []entry) (*journal, error) {
	if p.journal == "" {
		return &journal{keep: func() {}}, nil
	}
	keep := func() {}
	if !slices.ContainsFunc(done, func(n entry) bool { return n.Report.converted() }) {
		keep = sync.OnceFunc(atomicfile.Temporary(p.journal))
	}
	err := atomicfile.WriteFile(p.journal, func(w io.Writer) error {
		if _, err := io.WriteString(w, text(o)+"\n"); err != nil {
			return err
		}
		for i := range done {
			if _, err := io.WriteString(w, text(done[i])+"\n"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		keep()
		return nil, err
	}
	f, err := fault.OpenFile(p.journal, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		keep()
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		keep()
		return nil, errors.Join(err, f.Close())
	}
	return &journal{f, st, keep}, nil
}

// journal is the open list of a shard's finished pieces. A conversion that was killed continues from it. f is nil if the output is one
// file.
type journal struct {
	f  *fault.File
	is fs.FileInfo
	// keep must be called before the first piece gets its final name. Until then a signal that ends the program removes the journal.
	keep func()
}

// add records that a piece is finished. If the record is lost because the machine stopped, the piece is made again.
func (j *journal) add(n *entry) error {
	if j.f == nil {
		return nil
	}
	_, err := io.WriteString(j.f, text(n)+"\n")
	return err
}

func (j *journal) close() error {
	j.keep()
	if j.f == nil {
		return nil
	}
	return j.f.Close()
}
