package safetensors

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/npz"
)

func init() {
	dataset.Register(dataset.Format{
		Name: "safetensors", Extensions: []string{".safetensors"}, Match: Match,
		Open: func(_ context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			return dataset.Single("safetensors", path, func(context.Context) (*dataset.Episode, error) { return ReadFile(path, opt) }), nil
		},
	})
}

// Match recognises a file by its first bytes: a header length, and the beginning of a JSON object.
func Match(head []byte) bool {
	if len(head) < prefix+2 || head[prefix] != '{' || binary.LittleEndian.Uint64(head) > maxHeader {
		return false
	}
	inside := bytes.TrimLeft(head[prefix+1:], " \t\r\n")
	return len(inside) > 0 && (inside[0] == '"' || inside[0] == '}')
}

// arrays is a file as package npz makes streams of it.
type arrays struct{ *File }

// Has is true for the names of columns too.
func (a arrays) Has(name string) bool {
	_, text := a.metadata[name]
	return a.File.Has(name) || text && strings.HasSuffix(name, ".columns")
}

func (a arrays) Header(name string) (npy.Header, error) { return a.array(name) }

func (a arrays) Table(name string, opt npy.TableOptions) (*npy.Table, error) {
	return read(a.File, name, func(r io.Reader, h *npy.Header) (*npy.Table, error) { return npy.ReadTableData(r, h, opt) })
}

// ReadFile reads the streams in a file: NAME.values and NAME.times, and optionally the column names, NAME.columns in the metadata;
// see [npz.File.Episode]. Other tensors are left out with a note. Metadata becomes attributes; task and success set the episode's
// own. The episode gets the file's name.
func ReadFile(path string, opt dataset.Options) (*dataset.Episode, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, name := range f.names {
		if err := f.cut(name); err != nil && opt.Strict {
			return nil, err
		}
	}
	archive := &npz.Archive{Format: "safetensors", Path: path, Arrays: arrays{f}}
	e, used, err := archive.Episode(npz.EpisodeOptions{Strict: opt.Strict})
	if err != nil {
		return nil, err
	}
	taken := make(map[string]bool, len(used))
	for _, name := range used {
		taken[name] = true
	}
	for _, name := range f.names {
		if taken[name] {
			continue
		}
		note := dataset.Note{Code: dataset.CodeNoStream, Subject: name, Detail: dataset.Detail{Got: f.tensors[name].String(), Want: "NAME.values and NAME.times"}}
		if _, err := f.array(name); err != nil {
			note = npz.ArrayNote(name, err)
		}
		e.Notes.Add(note)
		var lost *dataset.FormatError
		if errors.As(f.cut(name), &lost) {
			e.Notes.AddDamage(dataset.CodeArrayCut, f.Stored(name), lost)
		}
	}
	for name, text := range f.metadata {
		if taken[name] || e.Attributes.Say(name, text) {
			continue
		}
		if e.Attributes.Other == nil {
			e.Attributes.Other = map[string]string{}
		}
		e.Attributes.Other[name] = text
	}
	e.Name, e.Attributes.Source = dataset.BaseName(path), path
	return e, nil
}
