package rosbag

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// index reads the connections and the chunk positions at the bag's end. missing is true if it names connections that it does not define. A
// broken index is counted as damage, and leaves no parts.
func (b *bag) index(head record) (missing bool, err error) {
	bad := func(at int64, kind error, got, want string) error {
		b.parts, b.channels = nil, nil
		clear(b.byConn)
		clear(b.counts)
		e := &dataset.FormatError{Offset: at, Kind: kind, Msg: "index", Got: got, Want: want}
		b.lost(dataset.CodeIndexBroken, 0, e)
		return e
	}
	begin, end := int64(min(head.indexPos, 1<<62)), b.file.Size()
	if begin < int64(len(magic)) {
		return false, bad(int64(len(magic)), dataset.ErrCorrupt, fmt.Sprintf("index_pos %d", begin), "a place behind the bag's header")
	}
	if begin > end {
		return false, bad(end, dataset.ErrTruncated, fmt.Sprintf("a file of %d bytes", end), fmt.Sprintf("an index at byte %d", head.indexPos))
	}
	w := window{file: b.file, size: end}
	used := map[uint32]bool{}
	conns := 0
	for at := begin; at < end; {
		r, next, wrong, err := w.head(at)
		if err != nil {
			return false, err
		}
		kind := dataset.ErrCorrupt
		if next > end {
			kind, wrong = dataset.ErrTruncated, "data beyond the file's end"
		}
		if wrong != "" {
			return false, bad(at, kind, wrong, "a record")
		}
		if r.op != opConnection && r.op != opChunkInfo { // reported before its data is read
			return false, bad(at, kind, fmt.Sprintf("a record with op %d", r.op), "connections and chunks")
		}
		topic := bytes.Clone(r.topic)
		data, err := w.bytes(w.data, next)
		switch {
		case err != nil:
			return false, err
		case r.op == opConnection:
			conns++
			r.topic = topic
			b.connect(&b.damage, at, &r, data)
		default:
			if r.chunkPos < uint64(len(magic)) || r.chunkPos >= uint64(begin) || int64(len(data)) < 8*int64(r.count) {
				return false, bad(at, kind, fmt.Sprintf("a chunk at byte %d with %d bytes of counts", r.chunkPos, len(data)), fmt.Sprintf("one before %d", begin))
			}
			for i := range int(r.count) {
				conn := binary.LittleEndian.Uint32(data[8*i:])
				used[conn] = true
				b.counts[conn] += int(binary.LittleEndian.Uint32(data[8*i+4:]))
			}
			b.parts = append(b.parts, part{at: int64(r.chunkPos)})
		}
		at = next
	}
	slices.SortFunc(b.parts, func(a, b part) int { return cmp.Compare(a.at, b.at) })
	for i := range b.parts {
		b.parts[i].end = begin
		if i == 0 {
			continue
		}
		if b.parts[i-1].end = b.parts[i].at; b.parts[i].at == b.parts[i-1].at {
			return false, bad(begin, dataset.ErrCorrupt, fmt.Sprintf("two chunks at byte %d", b.parts[i].at), "one")
		}
	}
	if len(b.parts) != int(head.chunks) || conns != int(head.conns) {
		return false, bad(begin, dataset.ErrCorrupt, fmt.Sprintf("%d chunks and %d connections", len(b.parts), conns), fmt.Sprintf("%d and %d, by the bag's header", head.chunks, head.conns))
	}
	for conn := range used {
		if _, ok := b.byConn[conn]; !ok {
			missing = true
		}
	}
	return missing, nil
}
