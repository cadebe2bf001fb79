package convert

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/sources"
)

// place is where the parts of a shard's output are.
type place struct {
	at      string // the output, as the caller wrote it
	whole   bool   // the output is the piece itself
	shard   int
	shards  int
	marker  string // the file that says that the shard is done; empty where the output is one file
	journal string // the file that says what of it is done, beside the output
	lock    string // the file that who makes it has locked
}

// placeOf says where a shard's parts are.
func placeOf(out string, t Traits, single bool, shard, shards int) place {
	p := place{at: out, whole: single || t.Whole && t.Ext == "" && shards == 1, shard: shard, shards: shards}
	clean := filepath.Clean(out)
	name := "convert"
	if shards > 1 {
		name = fmt.Sprintf("convert-%05d-of-%05d", shard, shards)
	}
	beside := filepath.Join(filepath.Dir(clean), "."+filepath.Base(clean)+"."+name)
	p.lock = beside + ".lock"
	if single {
		return p
	}
	p.marker = filepath.Join(out, name+".json")
	p.journal = beside + ".journal"
	return p
}

// BusyError is an output that another program is making. It is an *OptionError, too.
type BusyError struct{ Option OptionError }

func (e *BusyError) Error() string { return e.Option.Error() }

// Unwrap returns the option.
func (e *BusyError) Unwrap() error { return &e.Option }

// alone locks the shard's output, or returns a *BusyError where another program makes it.
func (p *place) alone() (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(p.lock), 0o777); err != nil {
		return nil, err
	}
	unlock, err = atomicfile.Lock(p.lock)
	if errors.Is(err, atomicfile.ErrLocked) {
		return nil, &BusyError{OptionError{Arg: "output", Got: p.at + ", which another program is making", Want: "another folder, or to wait until it is done"}}
	}
	return unlock, err
}

// doneBefore is what an earlier conversion has left: the head that it was asked with, and what it had done.
type doneBefore struct {
	head     string
	inputs   string
	finished *Report
	entries  []entry
}

// before reads what an earlier conversion of the same shard has left; nil if there is nothing.
func (p *place) before() (*doneBefore, error) {
	if p.marker == "" {
		return nil, nil
	}
	if b, err := os.ReadFile(p.marker); err == nil {
		r := &Report{}
		if json.Unmarshal(b, r) == nil && r.Version == version {
			return &doneBefore{head: text(r.Head), inputs: hashes(r.Inputs), finished: r}, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.Open(p.journal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return journalOf(f)
}

// hashes is what inputs hold, wherever they are.
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

// journalOf reads a journal as far as its lines are whole: a conversion that was killed may have left a part of one.
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

// foreign returns an error if there is something at the output that no conversion with this head has made.
func (p *place) foreign(head Head) error {
	if p.marker == "" {
		return nil
	}
	there, err := os.ReadDir(p.at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		if st, failed := os.Stat(p.at); failed == nil && !st.IsDir() {
			return refuse("output", p.at+", which is a file", "the name of a folder")
		}
		return err
	}
	if len(there) == 0 {
		return nil
	}
	heads, err := p.heads()
	if err != nil {
		return err
	}
	for _, is := range heads {
		is.Shard, head.Shard = 0, 0
		if text(is) != text(head) {
			return refuse("output", p.at+", which was converted otherwise: "+otherwise(is, head), "another folder, or that one removed")
		}
	}
	if len(heads) == 0 {
		return refuse("output", p.at+", in which there is something that is no conversion's", "a new folder, or an empty one")
	}
	return nil
}

// heads are those of the shards of an output of which there is something: journals beside it, and reports in it. Another program may be about to end one:
// it writes the report before it removes the journal, so that journals are looked for first.
func (p *place) heads() (list []Head, err error) {
	dir, base := filepath.Split(filepath.Clean(p.at))
	look := func(dir, before, after string, read func(b []byte) Head) error {
		names, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range names {
			if !strings.HasPrefix(e.Name(), before) || !strings.HasSuffix(e.Name(), after) {
				continue
			}
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if h := read(b); h.Version > 0 {
				list = append(list, h)
			}
		}
		return nil
	}
	err = look(filepath.Clean(dir+"."), "."+base+".convert", ".journal", func(b []byte) Head {
		line, _, _ := bytes.Cut(b, []byte("\n"))
		var o opening
		_ = json.Unmarshal(line, &o) // which has no version where it is none
		return o.Head
	})
	if err != nil {
		return nil, err
	}
	err = look(p.at, "convert", ".json", func(b []byte) (h Head) {
		_ = json.Unmarshal(b, &h)
		return h
	})
	return list, err
}

// otherwise says in what two heads differ.
func otherwise(is, want Head) string {
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"target", is.Target, want.Target}, {"settings", is.Settings, want.Settings}, {"shards", is.Shards, want.Shards}, {"plan", is.Plan, want.Plan},
		{"episodes", is.Episodes, want.Episodes}, {"files of the inputs", is.Listing, want.Listing}, {"media", is.Media, want.Media},
		{"definitions", is.Definitions, want.Definitions},
		{"rate", is.Rate, want.Rate}, {"clock", is.Clock, want.Clock}, {"strictness", is.Strict, want.Strict},
		{"rows that are not valid", is.KeepInvalid, want.KeepInvalid},
	} {
		if a, b := text(c.got), text(c.want); a != b {
			if len(a)+len(b) > 200 {
				return "another " + c.what
			}
			return fmt.Sprintf("%s %s, where %s is asked for", c.what, a, b)
		}
	}
	return "another version"
}

// begin starts a journal, with what is done already.
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
	f, err := os.OpenFile(p.journal, os.O_WRONLY|os.O_APPEND, 0)
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

// giveUp removes the journal of a shard that failed, and the folder that was made for it, if no piece has its name: there is nothing to go on from.
func (w *work) giveUp() error {
	if w.journal == "" {
		return nil
	}
	if w.whole {
		if list, err := os.ReadDir(w.out); err == nil && len(list) > 0 {
			return nil
		}
		return w.remove(w.journal)
	}
	for piece := range w.pieces() {
		if _, err := os.Lstat(filepath.Join(w.out, w.name(piece))); err == nil {
			return nil
		}
	}
	_ = os.Remove(w.out) // unless other shards are in it
	return w.remove(w.journal)
}

// journal is an open one.
type journal struct {
	f  *os.File
	is fs.FileInfo
	// keep is to be called before the first piece gets its name: until then a signal removes the journal.
	keep func()
}

// add writes that a piece is done. What is lost of it, because the machine stopped, costs the piece's being made again.
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

// there returns an error if a piece is gone, or the journal is another: a program that began to make the same shard meanwhile has removed what it did
// not find in the journal.
func (w *work) there(j *journal) error {
	if j.f != nil {
		if now, err := os.Stat(w.journal); err != nil || !os.SameFile(now, j.is) {
			return &fs.PathError{Op: "convert", Path: w.at, Err: errors.New("another program makes the same shard, or its journal was removed")}
		}
	}
	for i := range w.report.Pieces {
		if r := &w.report.Pieces[i]; r.converted() {
			if _, err := os.Stat(w.path(r)); err != nil {
				return err
			}
		}
	}
	return nil
}

// hash fills in how large a piece is, and its hash.
func hash(ctx context.Context, path string, r *PieceReport) error {
	list, err := sources.List(ctx, path)
	if err == nil {
		err = sources.Hash(ctx, path, list)
	}
	if err != nil {
		return err
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		if len(list) != 1 {
			return &fs.PathError{Op: "read", Path: path, Err: errors.New("is no regular file")}
		}
		r.Bytes, r.SHA256 = list[0].Bytes, list[0].SHA256
		return nil
	}
	list = slices.DeleteFunc(list, func(f sources.File) bool { return isReport(f.Path) })
	sum := sha256.New()
	r.Bytes = 0
	for _, f := range list {
		r.Bytes += f.Bytes
		fmt.Fprintf(sum, "%d %s %q\n", f.Bytes, f.SHA256, f.Path)
	}
	r.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// isReport reports whether a file of an output is a report on it.
func isReport(name string) bool { return name == "convert.json" }

// stands reports whether a piece is there as it was written.
func (p *place) stands(ctx context.Context, r *PieceReport) bool {
	if r.SHA256 == "" { // of no episode, or it was just whole
		_, err := os.Stat(p.path(r))
		return err == nil || !r.converted()
	}
	now := *r
	return hash(ctx, p.path(r), &now) == nil && now.SHA256 == r.SHA256 && now.Bytes == r.Bytes
}

// path is where a piece is.
func (p *place) path(r *PieceReport) string {
	if r.Path == "" {
		return p.at
	}
	return filepath.Join(p.at, filepath.FromSlash(r.Path))
}
