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

// Append appends a value: nil, bool, int, float64, string, []byte, []any, []string, []int, map[string]any or Binary. Keys are in order. Small
// integers and short lengths take one byte, others 8 or 4 bytes. It panics for other types.
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
		if v >= -32 && v < fixMap {
			return append(b, byte(v))
		}
		return binary.BigEndian.AppendUint64(append(b, int64Type), uint64(v))
	case float64:
		return binary.BigEndian.AppendUint64(append(b, float64Type), math.Float64bits(v))
	case string:
		return append(appendHead(b, len(v), fixString, 31, str32), v...)
	case []byte:
		return append(appendHead(b, len(v), 0, -1, bin32), v...)
	case []any:
		return appendList(b, v)
	case []string:
		return appendList(b, v)
	case []int:
		return appendList(b, v)
	case map[string]any:
		b = appendHead(b, len(v), fixMap, 15, map32)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b = Append(Append(b, k), v[k])
		}
		return b
	case Binary:
		b = appendHead(b, len(v), fixMap, 15, map32)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b = Append(Append(b, []byte(k)), v[k])
		}
		return b
	}
	panic(fmt.Sprintf("msgpack: a value of type %T", v))
}

func appendList[T any](b []byte, list []T) []byte {
	b = appendHead(b, len(list), fixArray, 15, array32)
	for _, v := range list {
		b = Append(b, v)
	}
	return b
}

// appendHead appends a type with a length: the type fixed if the length is at most most, else the type long.
func appendHead(b []byte, n int, fixed byte, most int, long byte) []byte {
	if n <= most {
		return append(b, fixed+byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, long), uint32(n))
}
