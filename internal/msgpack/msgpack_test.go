package msgpack_test

import (
	"encoding/hex"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/msgpack"
)

func unhex(t testing.TB, text string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	require.NoError(t, err)
	return b
}

// The bytes are from the format's specification.
func TestValuesHaveTheBytesOfTheFormat(t *testing.T) {
	for text, v := range map[string]any{
		"c0": nil, "c2": false, "c3": true, "00": 0, "7f": 127, "d3 0000000000000080": 128, "ff": -1, "e0": -32, "d3 ffffffffffffffdf": -33,
		"d3 8000000000000000": math.MinInt64, "cb 3ff8000000000000": 1.5, "a0": "", "a3 613a62": "a:b", "bf" + strings.Repeat("61", 31): strings.Repeat("a", 31),
		"db 00000020" + strings.Repeat("61", 32): strings.Repeat("a", 32), "c6 00000001 ff": []byte{255}, "90": []any{}, "92 01 a1 62": []any{1, "b"},
		"dd 00000010" + strings.Repeat("05", 16): slices.Repeat([]int{5}, 16), "91 a1 61": []string{"a"}, "82 a1 61 01 a1 62 91 02": map[string]any{"b": []int{2}, "a": 1},
		"81 c6 00000001 61 c0": msgpack.Binary{"a": nil},
	} {
		b := msgpack.Append(nil, v)
		assert.Equal(t, hex.EncodeToString(unhex(t, text)), hex.EncodeToString(b))
		got, err := msgpack.Decode(b)
		require.NoError(t, err)
		assert.EqualValues(t, plain(v), got)
	}
	for text, want := range map[string]any{
		"ca 3fc00000": 1.5, "cc ff": int64(255), "cd ffff": int64(65535), "ce ffffffff": int64(math.MaxUint32), "cf ffffffffffffffff": uint64(math.MaxUint64),
		"d0 80": int64(-128), "d1 ff7f": int64(-129), "d2 00010000": int64(65536), "c4 01 ff": []byte{255}, "c5 0001 00": []byte{0}, "d9 01 61": "a", "da 0001 61": "a",
		"dc 0001 c2": []any{false}, "cf 7fffffffffffffff": int64(math.MaxInt64), "d3 0000000000000001": int64(1), "db 00000001 61": "a", "dd 00000001 c3": []any{true}, "de 0001 a0 c0": map[string]any{"": nil},
		"df 00000001 c4 01 61 c0": map[string]any{"a": nil},
	} {
		got, err := msgpack.Decode(unhex(t, text))
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
	}
	assert.Panics(t, func() { msgpack.Append(nil, int8(1)) })
}

// plain is a value as Decode returns it.
func plain(v any) any {
	list := []any{}
	switch v := v.(type) {
	case int:
		return int64(v)
	case []int:
		for _, x := range v {
			list = append(list, int64(x))
		}
		return list
	case []string:
		for _, x := range v {
			list = append(list, x)
		}
		return list
	case []any:
		for _, x := range v {
			list = append(list, plain(x))
		}
		return list
	case msgpack.Binary:
		return plain(map[string]any(v))
	case map[string]any:
		m := map[string]any{}
		for k, x := range v {
			m[k] = plain(x)
		}
		return m
	}
	return v
}

func TestInputThatBreaksTheFormatIsRefusedAtItsByte(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("91", n) + "c0" }
	for _, c := range []struct {
		text   string
		offset int
		got    string
	}{
		{"", 0, "0 bytes"}, {"c1", 0, "type 0xc1"}, {"c0 c0", 1, "1 bytes after the value"}, {"a2 61", 1, "1 bytes"}, {"a1 ff", 1, "text that is not UTF-8"},
		{"c4", 1, "0 bytes"}, {"c6 ffffffff 00", 5, "1 bytes"}, {"dd ffffffff 00", 5, "1 bytes"}, {"df ffffffff 00", 5, "1 bytes"}, {"cb 00", 1, "1 bytes"},
		{"91", 1, "0 bytes"}, {"81 01 02", 1, "a int64 key"}, {"82 a1 61 01 c4 01 61 02", 4, `the key "a" again`}, {"81 a1 61", 3, "0 bytes"},
		{"82 a1 61 01 a1 62", 6, "0 bytes"}, {"c7 00 00", 0, "type 0xc7"}, {"d4 00 00", 0, "type 0xd4"}, {nested(17), 17, "more than 16 nested levels"},
		{"dd 00004000" + strings.Repeat("00", 1<<14), 5, "more than 16384 values"}, {"92 90 dd 00003ffe" + strings.Repeat("00", 1<<14-2), 7, "more than 16384 values"},
	} {
		got, err := msgpack.Decode(unhex(t, c.text))
		var bad *msgpack.Error
		require.ErrorAs(t, err, &bad, c.text)
		assert.Nil(t, got)
		assert.Equal(t, c.offset, bad.Offset, c.text)
		assert.Equal(t, c.got, bad.Got, c.text)
	}
	_, err := msgpack.Decode(unhex(t, nested(16)))
	assert.NoError(t, err)
	_, err = msgpack.Decode(unhex(t, "dd 00003fff"+strings.Repeat("00", 1<<14-1)))
	assert.NoError(t, err)
}

// used is how many bytes Decode allocates.
func used(data []byte) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = msgpack.Decode(data)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestMemoryFollowsTheInput(t *testing.T) {
	for _, text := range []string{"dd 10000000", "df 10000000", "c6 10000000", "db 10000000", "dd 00003ff0 91 dd 00003ff0"} {
		data := append(unhex(t, text), make([]byte, 1<<16)...)
		assert.Less(t, used(data), uint64(4<<20), text)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(msgpack.Append(nil, map[string]any{"state": msgpack.Binary{"__ndarray__": true, "data": make([]byte, 8), "dtype": "<f4", "shape": []int{1, 2}}, "x": []any{1.5, nil, "a", -7}}))
	f.Add(unhex(f, "df ffffffff 00"))
	f.Add(unhex(f, "cf ffffffffffffffff"))
	f.Add(unhex(f, strings.Repeat("91", 20)))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := msgpack.Decode(data)
		if err != nil {
			var bad *msgpack.Error
			require.ErrorAs(t, err, &bad)
			require.LessOrEqual(t, bad.Offset, len(data))
			return
		}
		b := msgpack.Append(nil, encodable(v))
		again, err := msgpack.Decode(b)
		require.NoError(t, err)
		require.Equal(t, b, msgpack.Append(nil, encodable(again)))
	})
}

// encodable is a decoded value as Append takes it.
func encodable(v any) any {
	switch v := v.(type) {
	case int64:
		return int(v)
	case uint64:
		return float64(v)
	case []any:
		for i := range v {
			v[i] = encodable(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = encodable(v[k])
		}
		return msgpack.Binary(v) // because a key may be any bytes
	}
	return v
}
