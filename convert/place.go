package convert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/sources"
)

// place has the paths of a shard's files: the output, its report, its journal and its lock.
type place struct {
	at      string // the output, as the caller wrote it
	whole   bool   // the output is the piece itself
	shard   int
	shards  int
	marker  string // the report of a finished shard; empty if the output is one file
	journal string // the list of finished pieces, next to the output
	lock    string // the file that the program that makes the shard has locked
}

// placeOf returns the paths for a shard. single is set if the output is one file.
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

// BusyError reports an output that another program is making. errors.As also finds an *OptionError in it.
type BusyError struct{ Option OptionError }

func (e *BusyError) Error() string { return e.Option.Error() }

// Unwrap returns the option.
func (e *BusyError) Unwrap() error { return &e.Option }

// alone locks the shard's output and returns the function that unlocks it. If another program makes the shard, the error is a *BusyError.
func (p *place) alone() (unlock func(), err error) {
	if err := atomicfile.MkdirAll(filepath.Dir(p.lock)); err != nil {
		return nil, err
	}
	unlock, err = atomicfile.Lock(p.lock)
	if errors.Is(err, atomicfile.ErrLocked) {
		return nil, &BusyError{OptionError{Arg: "output", Got: p.at + ", which another program is making", Want: "another folder, or to wait until it is done"}}
	}
	return unlock, err
}

// path returns the path of a piece.
func (p *place) path(r *PieceReport) string {
	if r.Path == "" {
		return p.at
	}
	return filepath.Join(p.at, filepath.FromSlash(r.Path))
}

// stands reports whether a piece exists with its recorded size and hash. If its hash was not recorded yet, it must only exist. A piece
// without a converted episode has no file, so it always stands.
func (p *place) stands(ctx context.Context, r *PieceReport) bool {
	if r.SHA256 == "" { // of no episode, or it was just whole
		_, err := fault.Stat(p.path(r))
		return err == nil || !r.converted()
	}
	now := *r
	return hash(ctx, p.path(r), &now) == nil && now.SHA256 == r.SHA256 && now.Bytes == r.Bytes
}

// hash sets a piece's size in bytes, and its hash: see PieceReport.SHA256.
func hash(ctx context.Context, path string, r *PieceReport) error {
	list, err := sources.List(ctx, path)
	if err == nil {
		err = sources.Hash(ctx, path, list)
	}
	if err != nil {
		return err
	}
	st, err := fault.Stat(path)
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

// isReport reports whether a file in an output is the conversion's report, which is no part of a piece.
func isReport(name string) bool { return name == "convert.json" }
