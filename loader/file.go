package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/tensor"
)

// indexKey is the text of the metadata that makes a safetensors file a store.
const indexKey = "robocache.store"

// index is what a store's file holds besides its tensors. Its JSON names are a contract.
type index struct {
	Version  int               `json:"version"` // 1
	Name     string            `json:"name"`
	Format   string            `json:"format"`
	Rate     float64           `json:"rate,omitempty"`
	RateFrom string            `json:"rate_from,omitempty"`
	Splits   []dataset.Split   `json:"splits,omitempty"`
	Other    map[string]string `json:"attributes,omitempty"`
	Streams  []indexStream     `json:"streams"`
	Episodes []Episode         `json:"episodes"`
	Skipped  []Skipped         `json:"skipped,omitempty"`
	Sources  []Source          `json:"sources,omitempty"`
}

type indexStream struct {
	Name       string           `json:"name"`
	Columns    []dataset.Column `json:"columns"`
	Rounded    int              `json:"rounded,omitempty"`
	Overflowed int              `json:"overflowed,omitempty"`
	Inexact    int              `json:"inexact,omitempty"`
}

// Source is a file that a store was packed from.
type Source struct {
	Path   string `json:"path"` // below the dataset's folder, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// SourcesOf hashes the files of a dataset: the file, or all below the folder, in the order of their names. Names that begin with a dot are left out.
func SourcesOf(ctx context.Context, path string) ([]Source, error) {
	var list []Source
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case file != path && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := os.Stat(file) // what a link links to
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		name := filepath.Base(file)
		if file != path {
			if name, err = filepath.Rel(path, file); err != nil {
				return err
			}
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		h := sha256.New()
		n, err := io.Copy(h, f)
		list = append(list, Source{filepath.ToSlash(name), n, hex.EncodeToString(h.Sum(nil))})
		return err
	})
	return list, err
}

// Save writes the store as a safetensors file, which has its name when it is whole: of each stream NAME.values, NAME.times and NAME.offsets, and the rest as
// JSON in the metadata, robocache.store. Other programs read it as any such file. Equal stores give equal bytes.
func (s *Store) Save(path string) error {
	x := index{Version: 1, Name: s.name, Format: s.format, Rate: s.info.Rate, RateFrom: s.info.RateFrom, Splits: s.info.Splits, Other: s.info.Attributes,
		Streams: []indexStream{}, Episodes: s.Episodes, Skipped: s.Skipped, Sources: s.Sources}
	return atomicfile.WriteFile(path, func(w io.Writer) error {
		f := safetensors.NewWriter(w)
		for i := range s.Streams {
			p := &s.Streams[i]
			x.Streams = append(x.Streams, indexStream{p.Name, p.Columns, p.Rounded, p.Overflowed, p.Inexact})
			offsets, err := tensor.Of(p.Offsets, len(p.Offsets))
			if err != nil {
				return err
			}
			for _, t := range []struct {
				part string
				t    *tensor.Tensor
			}{{"values", p.Values}, {"times", p.Times}, {"offsets", offsets}} {
				if err := f.Add(p.Name+"."+t.part, t.t); err != nil {
					return err
				}
			}
		}
		text, err := json.Marshal(x)
		if err != nil {
			return err
		}
		if err := f.AddText(indexKey, string(text)); err != nil {
			return err
		}
		return f.Close()
	})
}

// IsStore reports whether a file is a store that Save wrote.
func IsStore(path string) bool {
	f, err := safetensors.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Metadata()[indexKey] != ""
}

// Open reads a store that Save wrote. A file that is none, or whose parts do not go together, is a *dataset.FormatError.
func Open(path string) (*Store, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	bad := func(kind error, what, got, want string) error {
		return &dataset.FormatError{Format: "store", Path: path, Offset: -1, Kind: kind, Msg: what, Got: got, Want: want}
	}
	text := f.Metadata()[indexKey]
	if text == "" {
		return nil, bad(dataset.ErrUnsupported, "metadata", "no "+indexKey, "a store")
	}
	var x index
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		return nil, bad(dataset.ErrCorrupt, "metadata "+indexKey, err.Error(), "JSON")
	}
	if x.Version != 1 {
		return nil, bad(dataset.ErrUnsupported, "version", fmt.Sprint(x.Version), "1")
	}
	s := &Store{name: x.Name, format: x.Format, Episodes: x.Episodes, Skipped: x.Skipped, Sources: x.Sources,
		info: dataset.Info{Rate: x.Rate, RateFrom: x.RateFrom, Splits: x.Splits, Attributes: x.Other}}
	for _, in := range x.Streams {
		p := Stream{Name: in.Name, Columns: in.Columns, Rounded: in.Rounded, Overflowed: in.Overflowed, Inexact: in.Inexact}
		for _, t := range []struct {
			part string
			to   **tensor.Tensor
		}{{"values", &p.Values}, {"times", &p.Times}} {
			if *t.to, err = f.Tensor(in.Name + "." + t.part); err != nil {
				return nil, err
			}
		}
		offsets, err := f.Tensor(in.Name + ".offsets")
		if err != nil {
			return nil, err
		}
		if p.Offsets, err = tensor.Data[int64](offsets); err != nil {
			return nil, bad(dataset.ErrCorrupt, "tensor "+in.Name+".offsets", offsets.String(), "i64")
		}
		if why := p.check(len(x.Episodes)); why != "" {
			return nil, bad(dataset.ErrCorrupt, "stream "+in.Name, why, "values [N,D], times [N] and offsets [E+1] that go together")
		}
		s.Streams = append(s.Streams, p)
	}
	return s, nil
}

// check says what of a packed stream does not go together, or nothing.
func (p *Stream) check(episodes int) string {
	v, t := p.Values, p.Times
	switch {
	case !v.DType().IsFloat() || v.Rank() != 2 || v.Dim(1) != len(p.Columns) || len(p.Columns) == 0:
		return fmt.Sprintf("values %v of %d columns", v, len(p.Columns))
	case t.DType() != tensor.I64 || t.Rank() != 1 || t.Dim(0) != v.Dim(0):
		return fmt.Sprintf("times %v of values %v", t, v)
	case len(p.Offsets) != episodes+1 || p.Offsets[0] != 0 || p.Offsets[episodes] != int64(v.Dim(0)):
		return fmt.Sprintf("%d offsets of %d episodes and %d samples", len(p.Offsets), episodes, v.Dim(0))
	}
	for e := range episodes {
		if p.Offsets[e] > p.Offsets[e+1] {
			return fmt.Sprintf("offsets %d and %d of episode %d", p.Offsets[e], p.Offsets[e+1], e)
		}
	}
	return ""
}

// StaleError says that the files which a store was packed from are others now.
type StaleError struct {
	Path    string
	Changed []string // files that are other, gone or new
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("loader: the store is stale: of %s %d files differ: %s; want it packed again", e.Path, len(e.Changed), listed(e.Changed))
}

// Unwrap returns dataset.ErrCorrupt.
func (e *StaleError) Unwrap() error { return dataset.ErrCorrupt }

// Fresh compares the files of a dataset with those that the store was packed from. Others are a *StaleError.
func (s *Store) Fresh(ctx context.Context, path string) error {
	now, err := SourcesOf(ctx, path)
	if err != nil {
		return err
	}
	was := make(map[string]Source, len(s.Sources))
	for _, f := range s.Sources {
		was[f.Path] = f
	}
	var changed []string
	for _, f := range now {
		if was[f.Path] != f {
			changed = append(changed, f.Path)
		}
		delete(was, f.Path)
	}
	for _, f := range s.Sources {
		if _, gone := was[f.Path]; gone {
			changed = append(changed, f.Path)
		}
	}
	if len(changed) > 0 {
		return &StaleError{path, changed}
	}
	return nil
}
