package openpi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/internal/msgpack"
	"github.com/robocache/robocache/tensor"
)

// RequestError is a message that is no request. Key is the stream, or empty.
type RequestError struct{ Key, Got, Want string }

func (e *RequestError) Error() string {
	at := "request"
	if e.Key != "" {
		at = fmt.Sprintf("request: %q", e.Key)
	}
	return fmt.Sprintf("%s: got %s, want %s", at, e.Got, e.Want)
}

// ReadRequest decodes a request. The error is a *msgpack.Error, a *RequestError, or a *dataset.FormatError for an array that NumPy cannot read.
func ReadRequest(data []byte) (map[string]*tensor.Tensor, error) {
	v, err := msgpack.Decode(data)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &RequestError{Got: fmt.Sprintf("%T", v), Want: "a map from streams to arrays"}
	}
	streams := map[string]*tensor.Tensor{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if streams[name], err = readArray(name, m[name]); err != nil {
			return nil, err
		}
	}
	return streams, nil
}

// readArray reads an array with numbers.
func readArray(name string, v any) (*tensor.Tensor, error) {
	m, _ := v.(map[string]any)
	data, hasData := m["data"].([]byte)
	dtype, hasType := m["dtype"].(string)
	list, hasShape := m["shape"].([]any)
	if m["__ndarray__"] != true || !hasData || !hasType || !hasShape {
		return nil, &RequestError{name, fmt.Sprintf("%T", v), "an array: a map with __ndarray__, data, dtype and shape"}
	}
	shape := make([]int, len(list))
	for i := range list {
		n, whole := list[i].(int64)
		if shape[i] = int(n); !whole || n < 0 {
			return nil, &RequestError{name, fmt.Sprintf("%v in shape", list[i]), "a number from 0"}
		}
	}
	h, err := npy.HeaderOf(dtype, 0, shape...)
	if err != nil {
		return nil, err
	}
	r := bytes.NewReader(data)
	t, err := npy.ReadData(r, &h)
	if err == nil && r.Len() > 0 {
		err = &RequestError{name, fmt.Sprintf("%d bytes after the array", r.Len()), "data of the shape"}
	}
	return t, err
}

// reply encodes a reply with actions [C,A]. previous is the whole time for the connection's previous request, or 0.
func reply(actions []float64, columns int, infer, previous time.Duration) []byte {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	times := map[string]any{"infer_ms": ms(infer)}
	if previous > 0 {
		times["prev_total_ms"] = ms(previous)
	}
	data, _ := binary.Append(nil, binary.LittleEndian, actions) // fails for other types only
	return msgpack.Append(nil, map[string]any{"server_timing": times, "actions": msgpack.Binary{
		"__ndarray__": true, "data": data, "dtype": "<f8", "shape": []int{len(actions) / columns, columns}}})
}
