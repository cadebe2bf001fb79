package lerobot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/storage"
)

// images creates media from a column of images. It reads the column's first page to find the encoding.
func (r *reader) images(ctx context.Context, name string, f *feature) error {
	source := &images{set: r.set, column: name}
	m := dataset.Media{Name: name, Source: source}
	own, err := r.frameTimes(ctx, name)
	if err != nil {
		return err
	}
	row, absent := 0, 0
	for _, at := range r.of.runs {
		file, err := r.file(at)
		if err != nil {
			return err
		}
		c := file.Column(name)
		if c == nil {
			r.leave(name, int(at.to-at.from), dataset.CodeUndeclared, dataset.Detail{Want: file.Path()})
			row += int(at.to - at.from)
			continue
		}
		without, err := c.Absent(ctx, int(at.group), int64(at.from), int64(at.to))
		if err != nil {
			return r.passOver(name, err)
		}
		for i := at.from; i < at.to; i++ {
			if len(without) > 0 && without[0] == int64(i) {
				without = without[1:]
				absent++
			} else {
				m.Times = append(m.Times, own[row])
				source.frames = append(source.frames, place{at.file, at.group, i})
			}
			row++
		}
	}
	if absent > 0 {
		r.leave(name, absent, dataset.CodeEmptyImages, dataset.Detail{})
	}
	if len(m.Times) == 0 {
		return nil
	}
	k := 0
	for ; k < len(m.Times)-1; k++ { // an empty image does not show the encoding
		image, err := source.read(ctx, source.frames[k])
		if err != nil || len(image.Bytes) > 0 || image.Path != "" {
			break
		}
	}
	first, err := source.ReadFrame(ctx, k)
	if err != nil {
		return r.passOver(name, err)
	}
	r.good = true
	if m.Encoding = sniff(first); m.Encoding == "" {
		r.e.Notes = append(r.e.Notes, dataset.Note{Code: dataset.CodeImageFormat, Subject: name, Count: len(m.Times), Row: dataset.At(0),
			Detail: dataset.Detail{Got: fmt.Sprintf("% x", first[:min(len(first), 8)])}})
		return nil
	}
	if f != nil {
		m.Height, m.Width = sizeIn(f.Shape, f.Names)
		if f.depth != "" && m.Encoding == "png" {
			m.Depth = depthCamera(f.depth)
		}
	}
	r.e.Media = append(r.e.Media, m)
	return nil
}

// sniff returns an image's encoding by its first bytes; empty if LeRobot does not write it.
func sniff(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return "jpeg"
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return "png"
	case bytes.HasPrefix(b, []byte("II*\x00")), bytes.HasPrefix(b, []byte("MM\x00*")):
		return "tiff" // raw depth
	}
	return ""
}

// images reads a column's images. It keeps the last page, because the next images are in it.
type images struct {
	set    *Set
	column string
	frames []place

	mu   sync.Mutex
	at   place // the page's first row
	page []parquet.Image
}

// place is a row in a row group.
type place struct{ file, group, row int32 }

// keepBytes limits the bytes kept from a page, because a writer may put hundreds of images into one. maxImage limits an image in its
// own file, in bytes.
const (
	keepBytes = 16 << 20
	maxImage  = 1 << 28
)

// DepthInfo returns the images' info in info.json if they are a depth map, else "".
func (m *images) DepthInfo() string {
	if f := m.set.header.feature(m.column); f != nil {
		return f.depth
	}
	return ""
}

func (m *images) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	at := m.frames[i]
	image, err := m.read(ctx, at)
	if err != nil {
		return nil, err
	}
	if len(image.Bytes) > 0 {
		return bytes.Clone(image.Bytes), nil
	}
	bad := func(kind error, path, got, want string) *dataset.FormatError {
		return formatError(kind, path, -1, fmt.Sprintf("image %d of %s", i, m.column), got, want)
	}
	table, name := m.set.path(m.set.files[at.file]), filepath.FromSlash(image.Path)
	if !filepath.IsLocal(name) {
		return nil, bad(dataset.ErrNotFound, table, fmt.Sprintf("no bytes and the path %.100q", image.Path), "bytes, or a path within the dataset")
	}
	path := storage.Join(m.set.root, name)
	if st, err := storage.Stat(ctx, path); err == nil && (!st.IsRegular() || st.Size > maxImage) {
		return nil, bad(dataset.ErrUnsupported, path, fmt.Sprintf("%v of %d bytes", st.Mode, st.Size), fmt.Sprintf("a file of at most %d", maxImage))
	}
	b, err := storage.ReadFile(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		missing := bad(dataset.ErrNotFound, table, fmt.Sprintf("no bytes, and no file %.100q", image.Path), "one of them")
		missing.Err = err
		return nil, missing
	}
	return b, err
}

// Check reads all images, and returns notes about empty and broken ones.
func (m *images) Check(ctx context.Context) (dataset.Notes, error) {
	var found problems
	for i, at := range m.frames {
		image, err := m.read(ctx, at)
		if err != nil {
			return nil, err
		}
		if len(image.Bytes) == 0 && image.Path == "" {
			found.add(dataset.CodeEmptyImages, m.column, 0, detail{})
			continue
		}
		b, err := m.ReadFrame(ctx, i)
		if err == nil && sniff(b) == "" {
			err = formatError(dataset.ErrCorrupt, m.set.path(m.set.files[at.file]), -1, fmt.Sprintf("image %d of %s", i, m.column), fmt.Sprintf("% x", b[:min(len(b), 8)]), "JPEG or PNG")
		}
		if bad, broken := dataset.AsBroken(err); broken {
			found.add(dataset.CodeImageBroken, m.column, dataset.At(i), detail{Cause: bad})
		} else if err != nil {
			return nil, err
		}
	}
	return found.list, nil
}

func (m *images) read(ctx context.Context, at place) (parquet.Image, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := int(at.row - m.at.row)
	if at.file == m.at.file && at.group == m.at.group && k >= 0 && k < len(m.page) && !m.set.data.Closed() {
		return m.page[k], nil
	}
	f, err := m.set.data.Get(m.set.path(m.set.files[at.file]))
	if err != nil {
		return parquet.Image{}, err
	}
	defer m.set.data.Give(f)
	c := f.File.Column(m.column)
	if c == nil {
		return parquet.Image{}, formatError(dataset.ErrCorrupt, f.File.Path(), -1, "column "+m.column, "none any more", "the one that there was")
	}
	page, err := c.Images(ctx, int(at.group), int64(at.row), keepBytes)
	if err != nil {
		return parquet.Image{}, err
	}
	m.at, m.page = at, page
	return page[0], nil
}
