package rosbag

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// The kinds of records.
const (
	opMessage    = 2
	opHeader     = 3
	opIndex      = 4
	opChunk      = 5
	opChunkInfo  = 6
	opConnection = 7
)

// maxHeader limits a record's header, in bytes. Valid headers have less than a hundred bytes, plus a topic's name.
const maxHeader = 1 << 16

// record is the content of a record's header. Its texts share the header's memory.
type record struct {
	op                   byte
	has                  has
	conn, size           uint32
	conns, chunks, count uint32
	sec, nsec            uint32
	indexPos, chunkPos   uint64
	topic                []byte
	compression          []byte
	encryptor            []byte
}

// has is the set of fields in a header.
type has uint16

const (
	hasOp has = 1 << iota
	hasConn
	hasTime
	hasSize
	hasCompression
	hasTopic
	hasIndexPos
	hasChunkPos
)

// needs are the fields that a record of each kind must have.
var needs = [8]has{
	opMessage: hasConn | hasTime, opHeader: hasIndexPos, opChunk: hasSize | hasCompression, opChunkInfo: hasChunkPos, opConnection: hasConn | hasTopic,
}

// time returns the record's time in nanoseconds. It is at most 2^32 s, so it cannot overflow.
func (r *record) time() int64 { return int64(r.sec)*1e9 + int64(r.nsec) }

// parse reads a header. It returns a description of the error, or "".
func (r *record) parse(b []byte) string {
	*r = record{}
	for len(b) > 0 {
		if len(b) < 4 {
			return "a field that is cut"
		}
		n := binary.LittleEndian.Uint32(b)
		if uint64(n) > uint64(len(b)-4) {
			return fmt.Sprintf("a field of %d bytes in %d", n, len(b)-4)
		}
		field := b[4 : 4+n]
		b = b[4+n:]
		eq := bytes.IndexByte(field, '=')
		if eq < 0 {
			return "a field without ="
		}
		if !r.set(field[:eq], field[eq+1:]) {
			return fmt.Sprintf("%d bytes for field %s", len(field)-eq-1, field[:eq])
		}
	}
	switch {
	case r.has&hasOp == 0:
		return "no field op"
	case int(r.op) < len(needs) && r.has&needs[r.op] != needs[r.op]:
		return fmt.Sprintf("a header with op %d that lacks fields", r.op)
	}
	return ""
}

// set sets a field by name, and reports whether the value has the field's length. Unknown fields are ignored.
func (r *record) set(name, v []byte) bool {
	var flag has
	var word *uint32
	var long *uint64
	size := 4
	switch string(name) {
	case "op":
		flag, size = hasOp, 1
	case "conn":
		flag, word = hasConn, &r.conn
	case "time":
		flag, size = hasTime, 8
	case "size":
		flag, word = hasSize, &r.size
	case "index_pos":
		flag, size, long = hasIndexPos, 8, &r.indexPos
	case "chunk_pos":
		flag, size, long = hasChunkPos, 8, &r.chunkPos
	case "conn_count":
		word = &r.conns
	case "chunk_count":
		word = &r.chunks
	case "count":
		word = &r.count
	case "compression":
		r.compression = v
		r.has |= hasCompression
		return true
	case "topic":
		r.topic = v
		r.has |= hasTopic
		return true
	case "encryptor":
		r.encryptor = v
		return true
	default:
		return true
	}
	if len(v) != size {
		return false
	}
	r.has |= flag
	switch {
	case word != nil:
		*word = binary.LittleEndian.Uint32(v)
	case long != nil:
		*long = binary.LittleEndian.Uint64(v)
	case flag == hasOp:
		r.op = v[0]
	default: // time
		r.sec, r.nsec = binary.LittleEndian.Uint32(v), binary.LittleEndian.Uint32(v[4:])
	}
	return true
}

// whole reads the record at the beginning of b, and returns its data and length. wrong describes an error; cut is true if the only
// error is that b ends.
func (r *record) whole(b []byte) (data []byte, length int, wrong string, cut bool) {
	if len(b) < 4 {
		return nil, 0, fmt.Sprintf("%d bytes", len(b)), true
	}
	n := binary.LittleEndian.Uint32(b)
	switch {
	case n > maxHeader:
		return nil, 0, fmt.Sprintf("a header of %d bytes", n), false
	case uint64(n)+8 > uint64(len(b)):
		return nil, 0, fmt.Sprintf("a header of %d bytes in %d", n, len(b)-4), true
	}
	if wrong := r.parse(b[4 : 4+n]); wrong != "" {
		return nil, 0, wrong, false
	}
	rest := b[8+n:]
	size := binary.LittleEndian.Uint32(b[4+n:])
	if uint64(size) > uint64(len(rest)) {
		return nil, 0, fmt.Sprintf("data of %d bytes in %d", size, len(rest)), true
	}
	return rest[:size:size], 8 + int(n) + int(size), "", false
}

// maxBack is the largest distance from the beginning of a record to its field op in a search. A longer record, from a topic with a
// long name, is not found.
const maxBack = 512

// opField is the beginning of the field op in every record.
var opField = []byte("\x04\x00\x00\x00op=")

// next returns the position in b, at or after from, of the next record with a whole header and an opcode that ok accepts; -1 if
// there is none.
func next(b []byte, from int, ok func(op byte) bool) int {
	var r record
	for at := from; ; {
		hit := bytes.Index(b[at:], opField)
		if hit < 0 {
			return -1
		}
		hit += at
		at = hit + 1
		if end := hit + len(opField); end >= len(b) || !ok(b[end]) {
			continue
		}
		for begin := max(from, hit-maxBack); begin <= hit-4; begin++ {
			n := binary.LittleEndian.Uint32(b[begin:])
			if n <= maxHeader && begin+4+int(n) > hit+len(opField) && begin+8+int(n) <= len(b) && r.parse(b[begin+4:begin+4+int(n)]) == "" {
				return begin
			}
		}
	}
}

// fieldsOf calls use for the fields of a connection's data, and reports whether they are whole.
func fieldsOf(b []byte, use func(name, value []byte)) bool {
	for len(b) > 0 {
		if len(b) < 4 {
			return false
		}
		n := binary.LittleEndian.Uint32(b)
		if n > math.MaxInt32 || int(n) > len(b)-4 {
			return false
		}
		name, value, ok := bytes.Cut(b[4:4+n], []byte("="))
		if !ok {
			return false
		}
		use(name, value)
		b = b[4+n:]
	}
	return true
}
