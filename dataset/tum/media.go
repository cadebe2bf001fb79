package tum

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/texttable"
	"github.com/robocache/robocache/storage"
)

// media is a list of frames.
type media struct {
	dataset.Media
	rounded int // times with digits below a nanosecond
	notes   dataset.Notes
}

// frames reads the files of a list.
type frames struct {
	dir   string
	names []string
}

// ReadFrame returns the bytes of a frame's file.
func (f *frames) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	return storage.ReadFile(ctx, storage.Join(f.dir, f.names[i]))
}

// frame is a line of a list.
type frame struct {
	time  int64
	exact bool
	name  string
}

// frameOf reads a line of a list: a time and a file's name.
func frameOf(line texttable.Line) (frame, *dataset.FormatError) {
	text := trimLeft(line.Text)
	word, n, _ := texttable.Word(text, ' ', false)
	fail := func(kind error, msg, got, want string) (frame, *dataset.FormatError) {
		return frame{}, &dataset.FormatError{Format: "tum", Offset: line.At, Line: line.Number, Kind: kind, Msg: msg, Got: strconv.Quote(got[:min(len(got), 60)]), Want: want}
	}
	time, exact, ok := texttable.Clock{}.Read(word)
	if !ok {
		return fail(dataset.ErrCorrupt, "frame", string(word), "a time in seconds, and a file's name")
	}
	name := strings.TrimSpace(string(text[n:]))
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsRune(name, 0) {
		return fail(dataset.ErrCorrupt, "frame", name, "the name of a file below the list's folder")
	}
	return frame{time, exact, filepath.FromSlash(name)}, nil
}

// list reads a list of frames. The files that are not there are a problem, which a strict reader refuses.
func (s *Set) list(path, name string) error {
	f, err := storage.Open(context.Background(), path)
	if err != nil {
		return err
	}
	defer f.Close()
	source := &frames{dir: storage.Dir(path)}
	m := media{Media: dataset.Media{Name: name, Source: source}}
	lines := texttable.NewLines(storage.Reader(f), '\n')
	whole, missing, others, first := 0, 0, 0, ""
	var files storage.Listing
	for {
		line, err := lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if len(trimLeft(line.Text)) == 0 || line.Text[0] == comments[0] {
			continue
		}
		at, bad := frameOf(line)
		if bad != nil {
			bad.Path = path
			if s.opt.Strict {
				return bad
			}
			m.notes.Add(dataset.Note{Code: dataset.CodeLineBroken, Count: 1, Detail: dataset.Detail{Bytes: int64(line.Bytes), Got: storage.Base(path), Cause: bad}})
			continue
		}
		whole++
		if !at.exact {
			m.rounded++
		}
		encoding := strings.TrimPrefix(strings.ToLower(filepath.Ext(at.name)), ".")
		if encoding == "jpg" {
			encoding = "jpeg"
		}
		switch {
		case !files.Has(context.Background(), storage.Join(source.dir, at.name)):
			if missing++; first == "" {
				first = at.name
			}
			continue
		case m.Encoding == "":
			m.Encoding = encoding
		case m.Encoding != encoding:
			others++
			continue
		}
		m.Times, source.names = append(m.Times, at.time), append(source.names, at.name)
	}
	if missing > 0 {
		m.notes.Add(dataset.Note{Code: dataset.CodeMediaFileMissing, Subject: name, Count: missing})
	}
	if others > 0 {
		m.notes.Add(dataset.Note{Code: dataset.CodeOtherEncoding, Subject: name, Count: others, Detail: dataset.Detail{Want: m.Encoding}})
	}
	s.media = append(s.media, m)
	if missing == 0 {
		return nil
	}
	s.info.Notes.Add(dataset.Note{Code: dataset.CodeFilesMissing, Subject: storage.Base(path), Count: missing,
		Detail: dataset.Detail{Of: whole, Names: []string{filepath.ToSlash(first)}}})
	if s.opt.Strict {
		got := fmt.Sprintf("%d of %d files are missing, the first is %s", missing, whole, filepath.ToSlash(first))
		return &dataset.FormatError{Format: "tum", Path: path, Offset: -1, Kind: dataset.ErrNotFound, Msg: "frames", Got: got}
	}
	return nil
}
