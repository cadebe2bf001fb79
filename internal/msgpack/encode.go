package msgpack

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Binary is a map with binary keys.
type Binary map[string]any

// Append appends a value in its shortest form: nil, bool, int, float64, string, []byte, []any, []string, []int, map[string]any or Binary. Keys are
// in order. It panics for other types.
func Append(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, typeNil)
	case bool:
		if v {
			return append(b, typeTrue)
		}
		return append(b, typeFalse)
	case int:
		return appendInt(b, v)
	case float64:
		return binary.BigEndian.AppendUint64(append(b, float64Type), math.Float64bits(v))
	case string:
		return append(appendHead(b, len(v), fixString, 31, str8, 0), v...)
	case []byte:
		return append(appendHead(b, len(v), 0, -1, bin8, 0), v...)
	case []any:
		return appendList(b, v)
	case []string:
		return appendList(b, v)
	case []int:
		return appendList(b, v)
	case map[string]any:
		b = appendHead(b, len(v), fixMap, 15, map16, 1)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b = Append(Append(b, k), v[k])
		}
		return b
	case Binary:
		b = appendHead(b, len(v), fixMap, 15, map16, 1)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b = Append(Append(b, []byte(k)), v[k])
		}
		return b
	}
	panic(fmt.Sprintf("msgpack: a value of type %T", v))
}

func appendList[T any](b []byte, list []T) []byte {
	b = appendHead(b, len(list), fixArray, 15, array16, 1)
	for _, v := range list {
		b = Append(b, v)
	}
	return b
}

// appendHead appends a type and a length: in one byte from fixed on if the length is at most most, else by the type first for a length of
// 1<<least bytes, or by the types after it.
func appendHead(b []byte, n int, fixed byte, most int, first byte, least int) []byte {
	switch {
	case n <= most:
		return append(b, fixed+byte(n))
	case n < 1<<8 && least == 0:
		return append(b, first, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, first+byte(1-least)), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(b, first+byte(2-least)), uint32(n))
}

func appendInt(b []byte, v int) []byte {
	switch {
	case v >= -32 && v < fixMap:
		return append(b, byte(v))
	case v == int(int8(v)):
		return append(b, int8Type, byte(v))
	case v == int(int16(v)):
		return binary.BigEndian.AppendUint16(append(b, int8Type+1), uint16(v))
	case v == int(int32(v)):
		return binary.BigEndian.AppendUint32(append(b, int8Type+2), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(b, int8Type+3), uint64(v))
}
