package ulog

import (
	"encoding/binary"
	"math"
)

// build makes a log, message by message.
type build struct{ b []byte }

func newBuild(version byte, startMicros uint64) *build {
	return &build{binary.LittleEndian.AppendUint64(append([]byte(fileMagic), version), startMicros)}
}

// put appends a message; its body is made of bytes, strings and numbers, little-endian.
func (w *build) put(kind byte, parts ...any) *build {
	body := pack(parts...)
	w.b = append(binary.LittleEndian.AppendUint16(w.b, uint16(len(body))), kind)
	w.b = append(w.b, body...)
	return w
}

func (w *build) format(text string) *build { return w.put('F', text) }

func (w *build) subscribe(multi uint8, id uint16, name string) *build {
	return w.put('A', multi, id, name)
}

func (w *build) data(id uint16, parts ...any) *build {
	return w.put('D', append([]any{id}, parts...)...)
}

// keyed is the body of information and parameters.
func keyed(key string, value ...any) []any {
	return append([]any{uint8(len(key)), key}, value...)
}

func pack(parts ...any) []byte {
	var b []byte
	le := binary.LittleEndian
	for _, p := range parts {
		switch v := p.(type) {
		case []byte:
			b = append(b, v...)
		case string:
			b = append(b, v...)
		case uint8:
			b = append(b, v)
		case int8:
			b = append(b, byte(v))
		case bool:
			if v {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		case uint16:
			b = le.AppendUint16(b, v)
		case int16:
			b = le.AppendUint16(b, uint16(v))
		case uint32:
			b = le.AppendUint32(b, v)
		case int32:
			b = le.AppendUint32(b, uint32(v))
		case uint64:
			b = le.AppendUint64(b, v)
		case int64:
			b = le.AppendUint64(b, uint64(v))
		case float32:
			b = le.AppendUint32(b, math.Float32bits(v))
		case float64:
			b = le.AppendUint64(b, math.Float64bits(v))
		default:
			panic("build: a type that no log holds")
		}
	}
	return b
}

// flagBits is the body of a flag message with appended parts at these offsets.
func flagBits(parts ...uint64) []byte {
	b := make([]byte, 40)
	for i, p := range parts {
		b[8] = 1
		binary.LittleEndian.PutUint64(b[16+8*i:], p)
	}
	return b
}

// small is a correct log with a message of every kind.
func small() *build {
	w := newBuild(1, 1000).put('B', flagBits())
	w.format("point:float x;float y;uint8_t[2] _padding0;")
	w.format("pose:uint64_t timestamp;point[2] at;bool on;uint8_t[7] _padding0;")
	w.put('I', keyed("char[3] sys_name", "PX4")...)
	w.put('M', append([]any{uint8(0)}, keyed("char[2] top", "ab")...)...)
	w.put('P', keyed("int32_t A", int32(-7))...)
	w.put('Q', append([]any{uint8(1)}, keyed("float B", float32(0.5))...)...)
	w.subscribe(0, 0, "pose").subscribe(1, 1, "pose")
	w.data(0, uint64(2000), float32(1), float32(2), uint16(0), float32(3), float32(4), uint16(0), true)
	w.put('O', uint16(65))
	w.put('L', uint8('6'), uint64(2500), "hello")
	w.put('C', uint8('4'), uint16(9), uint64(2600), "tagged")
	w.put('S', syncMagic)
	w.data(1, uint64(3000), float32(5), float32(6), uint16(0), float32(7), float32(8), uint16(0), false)
	w.put('P', keyed("int32_t A", int32(8))...)
	w.put('R', uint16(0))
	return w
}

// messagesOf lists the messages of a log that is whole.
func messagesOf(log []byte) (list []message) {
	w := walker{file: inMemory(log)}
	for at := headerSize; at < len(log); at = list[len(list)-1].end() {
		list = append(list, w.head(at))
	}
	return list
}
