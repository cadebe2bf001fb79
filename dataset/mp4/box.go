package mp4

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
)

// maxBoxes is the largest number of boxes that are read in a file: a film has some dozens.
const maxBoxes = 1 << 20

// box is the position of a box in the file. A box that is longer than its parent ends with it, and is cut.
type box struct {
	kind          string
	at, body, end int64
	cut           bool
}

func (b box) size() int64 { return b.end - b.body }

// source is the bytes of a file.
type source struct {
	r     io.ReaderAt
	size  int64
	path  string
	boxed int // boxes that were read
}

func (s *source) fail(at int64, kind error, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: "mp4", Path: s.path, Offset: at, Kind: kind, Msg: msg, Got: got, Want: want}
}

// read returns n bytes at a place that lies in the file.
func (s *source) read(what string, at, n int64) ([]byte, error) {
	if at < 0 || n < 0 || at > s.size || n > s.size-at {
		return nil, s.fail(min(max(at, 0), s.size), dataset.ErrTruncated, what, fmt.Sprintf("%d bytes to the file's end", max(s.size-at, 0)), fmt.Sprint(n))
	}
	data, err := memory.Make[byte](what, int(n))
	if err != nil {
		return nil, err
	}
	return data, s.into(what, data, at)
}

// into fills data from a position.
func (s *source) into(what string, data []byte, at int64) error {
	n, err := s.r.ReadAt(data, at)
	switch {
	case n == len(data):
		return nil
	case errors.Is(err, fs.ErrClosed):
		return fmt.Errorf("mp4: %w: %w", dataset.ErrClosed, err)
	case errors.Is(err, io.EOF):
		return s.fail(at+int64(n), dataset.ErrTruncated, what, fmt.Sprintf("%d bytes", n), fmt.Sprint(len(data)))
	}
	return err
}

// boxes returns the boxes between two offsets. Fewer than 8 bytes at the end are ignored. It stops at an error.
func (s *source) boxes(from, end int64) iter.Seq2[box, error] {
	return func(yield func(box, error) bool) {
		for at := from; end-at >= 8; {
			b, err := s.box(at, end)
			if !yield(b, err) || err != nil {
				return
			}
			at = b.end
		}
	}
}

func (s *source) box(at, end int64) (box, error) {
	if s.boxed++; s.boxed > maxBoxes {
		return box{}, s.fail(at, dataset.ErrTooLarge, "box", "more than a million boxes", "fewer")
	}
	head, err := s.read("box", at, min(16, end-at))
	if err != nil {
		return box{}, err
	}
	b := box{kind: string(head[4:8]), at: at, body: at + 8}
	size := uint64(binary.BigEndian.Uint32(head))
	switch {
	case size == 0:
		size = uint64(end - at)
	case size == 1 && len(head) == 16:
		b.body = at + 16
		size = binary.BigEndian.Uint64(head[8:])
	}
	if size < uint64(b.body-at) {
		return box{}, s.fail(at, dataset.ErrCorrupt, fmt.Sprintf("box %q", b.kind), fmt.Sprintf("size %d", size), fmt.Sprintf("at least %d", b.body-at))
	}
	b.cut = size > uint64(end-at)
	b.end = at + int64(min(size, uint64(end-at)))
	return b, nil
}

// children returns the first box of each kind in a box, and all boxes of the kind several. Boxes before a broken one are valid.
func (s *source) children(parent box, several string) (first map[string]box, all []box, broken error) {
	first = map[string]box{}
	for b, err := range s.boxes(parent.body, parent.end) {
		if err != nil {
			return first, all, err
		}
		if _, ok := first[b.kind]; !ok {
			first[b.kind] = b
		}
		if b.kind == several {
			all = append(all, b)
		}
	}
	return first, all, nil
}

// table is the entries of a box of them, of the same size each.
type table struct {
	data  []byte
	entry int
	n     int
	short *dataset.FormatError // the box declares more entries than fit in it
}

// table reads a box that has its number of entries after head bytes.
func (s *source) table(b box, head, entry int) (table, error) {
	h, err := s.read(b.kind, b.body, int64(head)+4)
	if err != nil {
		return table{}, err
	}
	if b.size() < int64(len(h)) {
		return table{}, s.fail(b.at, dataset.ErrCorrupt, b.kind, fmt.Sprintf("%d bytes", b.size()), fmt.Sprintf("at least %d", len(h)))
	}
	count, room := int64(binary.BigEndian.Uint32(h[head:])), (b.size()-int64(len(h)))/int64(entry)
	t := table{entry: entry, n: int(min(count, room))}
	if count > room {
		kind := dataset.ErrCorrupt
		if b.cut {
			kind = dataset.ErrTruncated
		}
		t.short = s.fail(b.at, kind, b.kind, fmt.Sprintf("room for %d entries", room), fmt.Sprint(count))
	}
	t.data, err = s.read(b.kind, b.body+int64(len(h)), int64(t.n)*int64(entry))
	return t, err
}

// u32 returns the number at a byte of an entry.
func (t *table) u32(i, at int) uint32 { return binary.BigEndian.Uint32(t.data[i*t.entry+at:]) }

// u64 returns the number at a byte of an entry.
func (t *table) u64(i, at int) uint64 { return binary.BigEndian.Uint64(t.data[i*t.entry+at:]) }
