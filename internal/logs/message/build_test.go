package message

import (
	"encoding/binary"
	"math"
)

// writer encodes messages for tests, value by value.
type writer struct {
	b     []byte
	order binary.AppendByteOrder
	start int // where alignment counts from
	align int // the greatest
	nul   bool
	unit  int
}

func cdr() *writer {
	return &writer{b: []byte{0, 1, 0, 0}, order: binary.LittleEndian, start: 4, align: 8, nul: true, unit: 4}
}

func cdrBig() *writer {
	return &writer{b: []byte{0, 0, 0, 0}, order: binary.BigEndian, start: 4, align: 8, nul: true, unit: 4}
}

func xcdr2() *writer {
	return &writer{b: []byte{0, 7, 0, 0}, order: binary.LittleEndian, start: 4, align: 4, nul: true, unit: 2}
}

func ros1() *writer { return &writer{order: binary.LittleEndian, align: 1} }

func (w *writer) pad(n int) *writer {
	for n = min(n, w.align); (len(w.b)-w.start)%n != 0; {
		w.b = append(w.b, 0)
	}
	return w
}

func (w *writer) put(list ...any) *writer {
	for _, v := range list {
		switch v := v.(type) {
		case bool:
			n := uint8(0)
			if v {
				n = 1
			}
			w.b = append(w.b, n)
		case int8:
			w.b = append(w.b, byte(v))
		case uint8:
			w.b = append(w.b, v)
		case int16:
			w.pad(2).b = w.order.AppendUint16(w.b, uint16(v))
		case uint16:
			w.pad(2).b = w.order.AppendUint16(w.b, v)
		case int32:
			w.pad(4).b = w.order.AppendUint32(w.b, uint32(v))
		case uint32:
			w.pad(4).b = w.order.AppendUint32(w.b, v)
		case int64:
			w.pad(8).b = w.order.AppendUint64(w.b, uint64(v))
		case uint64:
			w.pad(8).b = w.order.AppendUint64(w.b, v)
		case float32:
			w.pad(4).b = w.order.AppendUint32(w.b, math.Float32bits(v))
		case float64:
			w.pad(8).b = w.order.AppendUint64(w.b, math.Float64bits(v))
		case string:
			n := len(v)
			if w.nul {
				n++
			}
			w.put(uint32(n))
			w.b = append(w.b, v...)
			if w.nul {
				w.b = append(w.b, 0)
			}
		case []float64:
			w.put(uint32(len(v)))
			for _, x := range v {
				w.put(x)
			}
		case []string:
			w.put(uint32(len(v)))
			for _, x := range v {
				w.put(x)
			}
		case []byte:
			w.put(uint32(len(v)))
			w.b = append(w.b, v...)
		default:
			panic(v)
		}
	}
	return w
}
