package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

const (
	magic      = "SQLite format 3\x00"
	headerSize = 100
)

// image has the pages of a database. A page in the write-ahead log replaces the page with the same number in the database file.
type image struct {
	file   storage.File
	wal    storage.File     // nil if there is none
	over   map[uint32]int64 // offset in the log of a page's last version, by page number, from 1
	page   int64            // page size in bytes
	usable int              // bytes in a page that table content may use
	size   int64            // size of the database in bytes
	utf16  binary.ByteOrder // byte order of text; nil if text is UTF-8
}

// newImage reads the database's header and the write-ahead log. If the file is shorter than its header declares, that is counted as damage.
func newImage(ctx context.Context, path string, file, wal storage.File, damage *dataset.Notes) (*image, error) {
	m := &image{file: file, size: file.Size()}
	if wal != nil {
		m.wal = wal
		if err := m.overlay(ctx, path, damage); err != nil {
			return nil, err
		}
	}
	head := make([]byte, headerSize)
	n, err := m.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	bad := &dataset.FormatError{Format: "rosbag2", Path: path, Offset: 0, Kind: dataset.ErrCorrupt, Msg: "database header"}
	if n < headerSize {
		bad.Offset, bad.Kind, bad.Got, bad.Want = int64(n), dataset.ErrTruncated, strconv.Itoa(n)+" bytes", "100"
		return nil, bad
	}
	if string(head[:len(magic)]) != magic {
		bad.Got, bad.Want = strconv.Quote(string(head[:len(magic)])), strconv.Quote(magic)
		return nil, bad
	}
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	if page < 512 || page&(page-1) != 0 || m.over != nil && page != m.page {
		bad.Offset, bad.Msg, bad.Got, bad.Want = 16, "page size", strconv.FormatInt(page, 10), "a power of two from 512 to 65536, as in the log"
		return nil, bad
	}
	m.page, m.usable = page, int(page)-int(head[20])
	if m.usable < 480 {
		bad.Offset, bad.Msg, bad.Got, bad.Want = 20, "bytes that are kept free in a page", strconv.Itoa(int(head[20])), fmt.Sprintf("at most %d", page-480)
		return nil, bad
	}
	m.utf16 = utf16Of(head[59])
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	if valid := binary.BigEndian.Uint32(head[24:]) == binary.BigEndian.Uint32(head[92:]); valid && pages*page > m.size {
		*damage = append(*damage, dataset.Note{Code: dataset.CodeFileShort, Detail: dataset.Detail{Bytes: pages*page - m.size, Cause: &dataset.FormatError{
			Format: "rosbag2", Path: path, Offset: m.size, Kind: dataset.ErrTruncated, Msg: "database pages",
			Got: strconv.FormatInt(m.size, 10) + " bytes", Want: strconv.FormatInt(pages*page, 10),
		}}})
	}
	return m, nil
}

// ReadAt reads a page from the log if the log has it, else from the file.
func (m *image) ReadAt(b []byte, at int64) (n int, err error) {
	if m.over == nil {
		return from(m.file, b, at, m.size)
	}
	for n < len(b) {
		if at >= m.size {
			return n, io.EOF
		}
		number, in := uint32(at/m.page)+1, at%m.page
		part := b[n:min(int64(len(b)), int64(n)+m.page-in)]
		var k int
		if frame, ok := m.over[number]; ok {
			k, err = from(m.wal, part, frame+in, m.wal.Size())
		} else {
			k, err = from(m.file, part, at, m.file.Size())
		}
		n, at = n+k, at+int64(k)
		if k < len(part) {
			return n, err
		}
	}
	return n, nil
}

// from reads from a file that had size bytes when it was opened. It returns io.EOF only at that size, and io.ErrUnexpectedEOF if the file
// has become shorter.
func from(f storage.File, b []byte, at, size int64) (int, error) {
	if at >= size {
		return 0, io.EOF
	}
	want := b[:min(int64(len(b)), size-at)]
	n, err := f.ReadAt(want, at)
	switch {
	case n == len(b):
		return n, nil
	case n == len(want):
		return n, io.EOF
	case err == nil || err == io.EOF:
		err = io.ErrUnexpectedEOF // it has shrunk
	}
	return n, err
}

func (m *image) Close() error {
	err := m.file.Close()
	if m.wal != nil {
		if walErr := m.wal.Close(); err == nil {
			err = walErr
		}
	}
	return err
}
