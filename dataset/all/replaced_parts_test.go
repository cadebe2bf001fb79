package all_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// bagRecord is a record of a ROS 1 bag: its header, its data, and where its data and the record end.
func bagRecord(b []byte, at int) (head string, data, end int) {
	data = at + 4 + int(binary.LittleEndian.Uint32(b[at:])) + 4
	return string(b[at+4 : data-4]), data, data + int(binary.LittleEndian.Uint32(b[data-4:]))
}

// replacedMessages replaces each message in a ROS 1 bag without compression. Lengths and positions in the bag fit the new message.
func replacedMessages(name string, data []byte) (list []replacement) {
	const magic = len("#ROSBAG V2.0\n")
	field := func(b []byte, from int, name string) []byte { // the bytes of a field in the header of a record
		return b[from+bytes.Index(b[from:], []byte(name+"="))+len(name)+1:]
	}
	for at, end := magic, 0; at < len(data); at = end {
		var head string
		var chunk int
		if head, chunk, end = bagRecord(data, at); !strings.Contains(head, "op=\x05") {
			continue
		}
		for from, next := chunk, 0; from < end; from = next {
			var inner string
			var message int
			if inner, message, next = bagRecord(data, from); !strings.Contains(inner, "op=\x02") {
				continue
			}
			for what, with := range others(data[message:next]) {
				b := slices.Concat(data[:message], with, data[next:])
				more := len(with) - (next - message)
				binary.LittleEndian.PutUint32(b[message-4:], uint32(len(with)))
				binary.LittleEndian.PutUint32(b[chunk-4:], uint32(end-chunk+more))
				binary.LittleEndian.PutUint32(field(b, at, "size"), uint32(end-chunk+more))
				index := field(b, magic, "index_pos")
				binary.LittleEndian.PutUint64(index, binary.LittleEndian.Uint64(index)+uint64(more))
				for k, after := end+more, 0; k < len(b); k = after {
					var head string
					if head, _, after = bagRecord(b, k); strings.Contains(head, "op=\x06") {
						if place := field(b, k, "chunk_pos"); binary.LittleEndian.Uint64(place) > uint64(at) {
							binary.LittleEndian.PutUint64(place, binary.LittleEndian.Uint64(place)+uint64(more))
						}
					}
				}
				list = append(list, replacement{what: fmt.Sprint(what, " ", message), file: name, data: b, one: timeOf})
			}
		}
	}
	return list
}

// replacedBlobs makes the last column in each row in an SQLite database empty or shorter, if it is a blob. The page keeps the other
// bytes.
func replacedBlobs(name string, data []byte) (list []replacement) {
	size := int(binary.BigEndian.Uint16(data[16:]))
	number := func(b []byte) (v, n int) { // of one or two bytes
		if b[0] < 128 {
			return int(b[0]), 1
		}
		return int(b[0]&127)<<7 | int(b[1]), 2
	}
	for page := size; page < len(data); page += size {
		if data[page] != 13 { // a leaf of a table
			continue
		}
		for k := range int(binary.BigEndian.Uint16(data[page+3:])) {
			cell := page + int(binary.BigEndian.Uint16(data[page+8+2*k:]))
			payload, n := number(data[cell:])
			_, of := number(data[cell+n:])
			row := cell + n + of
			head := row + int(data[row])
			last := head - 1
			if data[last-1] >= 128 {
				last--
			}
			kind, m := number(data[last:])
			if kind < 12 || kind%2 != 0 {
				continue
			}
			for what, length := range map[string]int{"empty": 0, "short": min((kind-12)/2-2, 100)} {
				b := bytes.Clone(data)
				put := func(at, n, v int) {
					if b[at+n-1] = byte(v & 127); n == 2 {
						b[at] = 128 | byte(v>>7)
					}
				}
				put(cell, n, payload-(kind-12)/2+length)
				put(last, m, 12+2*length)
				list = append(list, replacement{what: fmt.Sprint(what, " ", page, " ", k), file: name, data: b, one: timeOf})
			}
		}
	}
	return list
}

// wireField is a protobuf field with wire type bytes: its number, its body, and the bytes after it.
func wireField(b []byte) (number uint64, body, rest []byte) {
	tag, n := binary.Uvarint(b)
	size, m := binary.Uvarint(b[n:])
	return tag >> 3, b[n+m : n+m+int(size)], b[n+m+int(size):]
}

func putWireField(b []byte, number uint64, body []byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(b, number<<3|2), uint64(len(body))), body...)
}

// replacedFeatures replaces each feature in each record of a TFRecord file: its list is empty, twice as long, without its last value,
// with one more, or of another type.
func replacedFeatures(name string, data []byte) (list []replacement) {
	if !strings.Contains(name, "tfrecord") {
		return nil
	}
	for at := 0; at < len(data); {
		end := at + 16 + int(binary.LittleEndian.Uint64(data[at:]))
		_, features, _ := wireField(data[at+12 : end-4])
		for rest := features; len(rest) > 0; {
			before := features[:len(features)-len(rest)]
			var entry []byte
			_, entry, rest = wireField(rest)
			_, key, value := wireField(entry)
			_, feature, _ := wireField(value)
			kind, values, _ := wireField(feature)
			for what, with := range otherLists(kind, values) {
				made := putWireField(putWireField(nil, 1, key), 2, with)
				record := putWireField(nil, 1, slices.Concat(putWireField(before[:len(before):len(before)], 1, made), rest))
				b := slices.Concat(data[:at], tfRecord(record), data[end:])
				list = append(list, replacement{what: fmt.Sprint(what, " ", at, " ", string(key)), file: name, data: b, one: streamOf})
			}
		}
		at = end
	}
	return list
}

// otherLists are TensorFlow features that replace one by kind: 1 for bytes, 2 for float32, 3 for int64.
func otherLists(kind uint64, values []byte) map[string][]byte {
	var items [][]byte // of bytes each field, of numbers the parts of one
	packed := values
	if kind != 1 && len(values) > 0 {
		_, packed, _ = wireField(values)
	}
	for len(packed) > 0 {
		n := 4
		switch kind {
		case 1:
			_, body, _ := wireField(packed)
			n = len(putWireField(nil, 1, body))
		case 3:
			_, n = binary.Uvarint(packed)
		}
		items, packed = append(items, packed[:n]), packed[n:]
	}
	feature := func(kind uint64, items ...[]byte) []byte {
		b := slices.Concat(items...)
		if kind != 1 {
			b = putWireField(nil, 1, b)
		}
		return putWireField(nil, kind, b)
	}
	if len(items) == 0 { // an episode without steps
		return nil
	}
	last := items[len(items)-1]
	other, value := uint64(3), []byte{1}
	if kind == 3 {
		other, value = 2, []byte{0, 0, 128, 63}
	}
	return map[string][]byte{
		"none": nil, "empty": feature(kind), "doubled": feature(kind, slices.Concat(items, items)...), "short": feature(kind, items[:len(items)-1]...),
		"long": feature(kind, append(slices.Clone(items), last)...), "another type": feature(other, slices.Repeat([][]byte{value}, len(items))...),
	}
}
