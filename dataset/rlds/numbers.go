package rlds

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/internal/records"
	"github.com/robocache/robocache/tensor"
)

// maxValues limits the values in an encoded feature per episode, because compressed values may be a thousand times larger than the
// file. Only tests change it.
var maxValues = 1 << 27

// values collects numbers: f32 if that holds their dtype, else f64.
type values struct {
	wide    bool
	narrow  []float32
	double  []float64
	inexact int
	exact   []int64 // the whole numbers, if double cannot hold one of them; else nil
}

func (v *values) put(s records.Scalar, b []byte) {
	var exact bool
	if v.wide {
		var x float64
		x, exact = records.Load[float64](s, b, binary.LittleEndian)
		v.double = append(v.double, x)
	} else {
		var x float32
		x, exact = records.Load[float32](s, b, binary.LittleEndian)
		v.narrow = append(v.narrow, x)
	}
	if !exact {
		v.inexact++
	}
}

// putInt adds a number from an int64_list.
func (v *values) putInt(x uint64) {
	var exact bool
	if n := int64(x); v.wide {
		f := float64(n)
		if exact = f < 1<<63 && int64(f) == n; !exact && v.exact == nil {
			v.exact = append(make([]int64, 0, cap(v.double)), tensor.Cast[int64](v.double)...)
		}
		v.double = append(v.double, f)
		if v.exact != nil {
			v.exact = append(v.exact, n)
		}
	} else {
		f := float32(n)
		v.narrow, exact = append(v.narrow, f), f < 1<<63 && int64(f) == n
	}
	if !exact {
		v.inexact++
	}
}

// putUint adds a uint64 from an int64_list.
func (v *values) putUint(x uint64) {
	f := float64(x) // uint64 is always wide
	v.double = append(v.double, f)
	if f >= 1<<64 || uint64(f) != x {
		v.inexact++
	}
}

// putInts adds the varints in the bytes of an int64_list.
func (v *values) putInts(w wire, unsigned bool) error {
	for w.pos < len(w.b) {
		if c := w.b[w.pos]; c < 0x80 { // most are booleans and small numbers
			if w.pos++; v.wide {
				v.double = append(v.double, float64(c))
				if v.exact != nil {
					v.exact = append(v.exact, int64(c))
				}
			} else {
				v.narrow = append(v.narrow, float32(c))
			}
			continue
		}
		x, err := w.varint()
		if err != nil {
			return err
		}
		v.putWhole(x, unsigned)
	}
	return nil
}

// putWhole adds a number from an int64_list, which stores uint64 with the same bits.
func (v *values) putWhole(x uint64, unsigned bool) {
	if unsigned {
		v.putUint(x)
	} else {
		v.putInt(x)
	}
}

// putFloats adds the little-endian float32 numbers in a float_list.
func (v *values) putFloats(b []byte) {
	if at := len(v.narrow); raw.Little && !v.wide {
		v.narrow = slices.Grow(v.narrow, len(b)/4)[:at+len(b)/4]
		copy(raw.Bytes(v.narrow[at:]), b)
		return
	}
	for ; len(b) >= 4; b = b[4:] {
		x := math.Float32frombits(binary.LittleEndian.Uint32(b))
		if v.wide {
			v.double = append(v.double, float64(x))
		} else {
			v.narrow = append(v.narrow, x)
		}
	}
}

func (v *values) len() int { return len(v.narrow) + len(v.double) }

func (v *values) tensor(rows, width int) (*tensor.Tensor, error) {
	if v.wide {
		return tensor.Of(v.double, rows, width)
	}
	return tensor.Of(v.narrow, rows, width)
}

// room reserves memory for n numbers, unless shared is large enough. The file contains that many numbers.
func (v *values) room(n int, shared []float32) {
	switch {
	case v.wide:
		v.double = memory.Must[float64]("values", n)[:0]
	case cap(shared) >= n:
		v.narrow = shared
	default:
		v.narrow = memory.Must[float32]("values", n)[:0]
	}
}

// list returns the list kind that the leaf's values are stored in.
func (l *leaf) list() listKind {
	switch {
	case l.kind != numbers || l.encoding != "":
		return bytesList
	case l.scalar.IsInteger():
		return int64List
	}
	return floatList
}

// decode reads a feature's n numbers. Numbers in f32 use shared if it is large enough.
func (l *leaf) decode(f feature, n int, shared []float32) (v values, err error) {
	v.wide = !l.scalar.FitsF32()
	if l.encoding != "" {
		return v, l.decodeItems(&v, f.items(n))
	}
	v.room(n, shared)
	unsigned := l.scalar == records.U64
	for w := f.body; ; {
		s, ok, err := w.stretch(f.listed)
		switch {
		case err != nil || !ok:
			return v, err
		case f.listed == floatList:
			v.putFloats(s.body.b)
		case s.kind == wireVarint:
			v.putWhole(s.value, unsigned)
		default:
			if err := v.putInts(s.body, unsigned); err != nil {
				return v, err
			}
		}
	}
}

// decodeItems reads items, each with one value's bytes.
func (l *leaf) decodeItems(v *values, items []wire) error {
	size := l.scalar.Size()
	half := l.dtype == "bfloat16" // a bfloat16 is the upper half of a float32
	if half {
		size = 2
	}
	closed, want := size, -1 // bytes in the closed dimensions; bytes in an item
	for _, d := range l.shape {
		closed *= max(d, 1)
	}
	if l.columns != nil {
		want = closed
	}
	for _, item := range items {
		b, err := l.unpack(item)
		switch {
		case err != nil:
			return err
		case want < 0 && len(b)%closed == 0:
			want = len(b)
		}
		if len(b) != want {
			return item.bad(0, "value of feature "+quote(l.key), fmt.Sprintf("%d bytes", len(b)), l.wantBytes(want, closed))
		}
		if v.len()+want/size > maxValues {
			return formatError(dataset.ErrTooLarge, "", item.at, "feature "+quote(l.key), fmt.Sprintf("more than %d numbers", maxValues), "fewer")
		}
		for ; len(b) > 0; b = b[size:] {
			if half {
				v.put(records.F32, []byte{0, 0, b[0], b[1]})
			} else {
				v.put(l.scalar, b)
			}
		}
	}
	return nil
}

func (l *leaf) wantBytes(want, closed int) string {
	if want < 0 {
		return fmt.Sprintf("a multiple of %d, %s of %s", closed, shapeText(l.shape), l.dtype)
	}
	return fmt.Sprintf("%d, %s of %s", want, shapeText(l.shape), l.dtype)
}

// unpack returns an item's bytes. A compressed item may expand only to the largest possible value.
func (l *leaf) unpack(item wire) ([]byte, error) {
	if l.encoding != "zlib" {
		return item.b, nil
	}
	const most = 8 * maxColumns
	r, err := zlib.NewReader(bytes.NewReader(item.b))
	var b []byte
	if err == nil {
		b, err = io.ReadAll(io.LimitReader(r, most+1))
	}
	if err != nil {
		bad := item.bad(0, "value of feature "+quote(l.key), "", "")
		bad.Err = err
		return nil, bad
	}
	if len(b) > most {
		return nil, formatError(dataset.ErrTooLarge, "", item.at, "value of feature "+quote(l.key), "more bytes", fmt.Sprintf("at most %d", most))
	}
	return b, nil
}
