package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/parquet-go/parquet-go"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// File is an open Parquet file. Its methods may be called from any goroutine.
type File struct {
	handle
	groups  []Group
	rows    int64
	columns []*Column
}

// Group is a row group: rows that are stored together.
type Group struct {
	Rows int64
}

// Open opens a file and reads its footer. If the footer is missing, for example because a recorder did not finish the file, the error
// is dataset.ErrTruncated. format is the format name in errors, such as "lerobot".
func Open(format, path string) (f *File, err error) {
	file, err := storage.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	f = &File{handle: handle{format: format, path: path, file: file}}
	defer func() {
		if err != nil {
			file.Close()
			f = nil
		}
	}()
	defer f.guard("footer", &err)
	f.size = file.Size()
	if err := f.check(); err != nil {
		return nil, dataset.StandIn(context.Background(), err, path)
	}
	f.parsed, err = parquet.OpenFile(file, f.size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(16<<10))
	if err != nil {
		return nil, f.bad(dataset.ErrCorrupt, f.size-8, "footer", "", "", err)
	}
	return f, f.describe()
}

// check reads the footer and returns an error if it declares more than the file can contain.
func (f *File) check() error {
	var tail [8]byte
	if f.size < 12 {
		return f.bad(dataset.ErrTruncated, f.size, "file", fmt.Sprintf("%d bytes", f.size), "12 or more", nil)
	}
	if _, err := f.file.ReadAt(tail[:4], 0); err != nil {
		return err
	}
	if string(tail[:4]) != "PAR1" {
		return f.bad(dataset.ErrCorrupt, 0, "beginning", fmt.Sprintf("%q", tail[:4]), `"PAR1"`, nil)
	}
	if _, err := f.file.ReadAt(tail[:], f.size-8); err != nil {
		return err
	}
	if string(tail[4:]) == "PARE" {
		return f.bad(dataset.ErrUnsupported, f.size-4, "footer", "an encrypted file", "one that is not", nil)
	}
	if string(tail[4:]) != "PAR1" {
		return f.bad(dataset.ErrTruncated, f.size-4, "end", fmt.Sprintf("%q", tail[4:]),
			`"PAR1": the file has no footer, as one that was not finished`, nil)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > f.size-12 {
		return f.bad(dataset.ErrTooLarge, f.size-8, "footer's length", fmt.Sprint(n), fmt.Sprintf("at most %d", f.size-12), nil)
	}
	before := min(int64(sealBytes), f.size-8-n)
	footer := make([]byte, before+n)
	if _, err := f.file.ReadAt(footer, f.size-8-n-before); err != nil {
		return err
	}
	sealed, footer := footer[:before], footer[before:]
	if b, ok := bytes.CutPrefix(sealed, []byte(seal)); ok {
		if err := compareSum(binary.LittleEndian.Uint32(b), footer); err != nil {
			return f.bad(dataset.ErrCorrupt, f.size-8-n, "footer", "", "", err)
		}
	}
	counts, err := checkFooter(footer)
	if f.counts = counts; err != nil {
		return f.bad(dataset.ErrCorrupt, f.size-8-n, "footer", "", "", err)
	}
	return nil
}

// describe lists the row groups and the columns.
func (f *File) describe() error {
	meta := f.parsed.Metadata()
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		if g.NumRows < 0 || g.NumRows > math.MaxInt32 || f.rows > 1<<40 {
			return f.bad(dataset.ErrTooLarge, -1, fmt.Sprintf("row group %d", i), fmt.Sprintf("%d rows", g.NumRows),
				"0 to 2147483647, and 2^40 in all", nil)
		}
		f.groups = append(f.groups, Group{g.NumRows})
		f.rows += g.NumRows
	}
	at := 1
	for _, c := range f.parsed.Root().Columns() {
		n := elements(c)
		f.columns = append(f.columns, newColumn(&f.handle, c, meta.Schema[at:at+n]))
		at += n
	}
	return nil
}

// Path returns the file's path.
func (f *File) Path() string { return f.path }

// Rows returns the number of rows.
func (f *File) Rows() int64 { return f.rows }

// Size returns the file's size in bytes.
func (f *File) Size() int64 { return f.size }

// Groups returns the row groups in row order.
func (f *File) Groups() []Group { return f.groups }

// Columns returns the top-level fields in file order.
func (f *File) Columns() []*Column { return f.columns }

// Column returns the field with a name, or nil.
func (f *File) Column(name string) *Column {
	for _, c := range f.columns {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Lookup returns a value in the file's metadata.
func (f *File) Lookup(key string) (string, bool) { return f.parsed.Lookup(key) }

// Close closes the file. Close twice is fine.
func (f *File) Close() error {
	if err := f.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
