package message

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
)

// guess makes types and messages at random, and says what they are to become.
type guess struct {
	*rand.Rand
	ros1  bool
	w     *writer
	boxes bool
	types [][]guessed // p/T0, p/T1, ...: each uses only those before it
	table []float64
	lists [][]float64
	sizes []int32
}

type guessed struct {
	kind  string // of a primitive, or "T3"
	sub   int    // which type it is, or -1
	array Array
	n     int
}

var kindsOf1 = []string{"bool", "int8", "uint8", "byte", "char", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "string", "time", "duration"}
var kindsOf2 = []string{"bool", "int8", "uint8", "byte", "char", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "string"}

func (g *guess) make() (text string) {
	var b []string
	for i := range 1 + g.IntN(4) {
		var fields []guessed
		var lines strings.Builder
		for k := range g.IntN(7) {
			kinds := kindsOf2
			if g.ros1 {
				kinds = kindsOf1
			}
			f := guessed{kind: kinds[g.IntN(len(kinds))], sub: -1, array: Array(g.IntN(4) % 3), n: 1 + g.IntN(4)}
			if i > 0 && g.IntN(3) == 0 {
				f.sub = g.IntN(i)
				f.kind = fmt.Sprintf("T%d", f.sub)
			}
			array := [...]string{"", fmt.Sprintf("[%d]", f.n), "[]"}[f.array]
			fmt.Fprintf(&lines, "%s%s f%d # of %d\n", f.kind, array, k, i)
			fields = append(fields, f)
		}
		g.types = append(g.types, fields)
		b = append(b, lines.String())
	}
	text = b[len(b)-1]
	for i := range len(b) - 1 {
		text += line80 + fmt.Sprintf("MSG: p/T%d\n", i) + b[i]
	}
	return text
}

// number writes a number at random and returns it as a float64 holds it.
func (g *guess) number(kind string) []float64 {
	one := func(v any, f float64) []float64 {
		g.w.put(v)
		return []float64{f}
	}
	switch u := g.Uint64(); kind {
	case "bool":
		return one(u&1 == 1, float64(u&1))
	case "byte":
		if !g.ros1 {
			return one(uint8(u), float64(uint8(u)))
		}
		return one(int8(u), float64(int8(u)))
	case "int8":
		return one(int8(u), float64(int8(u)))
	case "uint8", "char":
		return one(uint8(u), float64(uint8(u)))
	case "int16":
		return one(int16(u), float64(int16(u)))
	case "uint16":
		return one(uint16(u), float64(uint16(u)))
	case "int32":
		return one(int32(u), float64(int32(u)))
	case "uint32":
		return one(uint32(u), float64(uint32(u)))
	case "int64":
		return one(int64(u), float64(int64(u)))
	case "uint64":
		return one(u, float64(u))
	case "float32":
		v := float32(g.NormFloat64())
		return one(v, float64(v))
	case "float64":
		v := g.NormFloat64()
		return one(v, v)
	case "time":
		return append(one(uint32(u), float64(uint32(u))), one(uint32(u>>32), float64(uint32(u>>32)))...)
	case "duration":
		return append(one(int32(u), float64(int32(u))), one(int32(u>>32), float64(int32(u>>32)))...)
	}
	g.w.put(strings.Repeat("x", g.IntN(6)))
	return nil
}

// fields writes a struct. to is where its numbers belong, nil if they are left out; table says whether arrays of any length in it are lists.
func (g *guess) fields(t int, to *[]float64, table bool) {
	if len(g.types[t]) == 0 && !g.ros1 {
		g.w.put(uint8(0))
	}
	for _, f := range g.types[t] {
		element := func(to *[]float64, table bool) {
			if f.sub >= 0 {
				g.fields(f.sub, to, table)
			} else if v := g.number(f.kind); to != nil {
				*to = append(*to, v...)
			}
		}
		if f.array != One && g.boxes && (f.sub >= 0 || f.kind == "string") {
			g.w.put(uint32(0))
		}
		switch f.array {
		case One:
			element(to, table)
		case Fixed:
			for range f.n {
				element(to, false)
			}
		case Sequence:
			n := g.IntN(4)
			g.w.put(uint32(n))
			var list *[]float64
			if table && g.numbers(f) {
				list = &[]float64{}
			}
			for range n {
				element(list, false)
			}
			if list != nil {
				g.lists, g.sizes = append(g.lists, *list), append(g.sizes, int32(n))
			}
		}
	}
}

// numbers reports whether a field's elements have columns.
func (g *guess) numbers(f guessed) bool {
	if f.sub < 0 {
		return f.kind != "string"
	}
	for _, f := range g.types[f.sub] {
		if f.array != Sequence && g.numbers(f) {
			return true
		}
	}
	return false
}

func values(f64 []float64, f32 []float32) []float64 {
	list := slices.Clone(f64)
	for _, v := range f32 {
		list = append(list, float64(v))
	}
	return list
}

// Whatever the type, each number goes to its column in each encoding, and a message that is cut anywhere is an error that leaves no trace.
func TestAnyTypeDecodesToWhatWasWritten(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for seed := range uint64(1000) {
		for name, start := range map[string]func() *writer{"ros1": ros1, "cdr": cdr, "cdr, big": cdrBig, "xcdr2": xcdr2} {
			g := &guess{Rand: rand.New(rand.NewPCG(1, seed)), ros1: name == "ros1", boxes: name == "xcdr2", w: start()}
			text := g.make()
			if len(g.types[len(g.types)-1]) == 0 {
				continue // a text that begins with another type is none of this
			}
			encoding, schema := "cdr", "ros2msg"
			if g.ros1 {
				encoding, schema = "ros1", "ros1msg"
			}
			d, err := New(encoding, Schema{"p/Top", schema, []byte(text)}, nil)
			require.NoError(t, err, "%s %d\n%s", name, seed, text)
			g.fields(len(g.types)-1, &g.table, true)
			shape := d.Shape()
			require.Len(t, shape.Columns, len(g.table), "%s %d\n%s", name, seed, text)
			require.Len(t, shape.Lists, len(g.lists), "%s %d\n%s", name, seed, text)
			var rows Rows
			for range 2 {
				require.NoError(t, d.Append(&rows, g.w.b), "%s %d\n%s%x", name, seed, text, g.w.b)
			}
			half := func(list []float64) []float64 { return list[len(list)/2:] }
			require.Equal(t, append([]float64{}, g.table...), append([]float64{}, half(values(rows.F64, rows.F32))...), "%s %d\n%s", name, seed, text)
			for i, want := range g.lists {
				l := rows.Lists[i]
				require.Equal(t, []int32{g.sizes[i], g.sizes[i]}, l.Lengths)
				require.Equal(t, append([]float64{}, want...), append([]float64{}, half(values(l.F64, l.F32))...), "%s %d: %s\n%s", name, seed, shape.Lists[i].Name, text)
			}
			before := fmt.Sprint(rows.Count, rows.F32, rows.F64, rows.Inexact, rows.Lists, rows.Stamps)
			for n := range g.w.b {
				var bad *dataset.FormatError
				err := d.Append(&rows, g.w.b[:n])
				require.True(t, errors.As(err, &bad) && errors.Is(err, dataset.ErrTruncated), "%s %d: %d of %d bytes: %v\n%s", name, seed, n, len(g.w.b), err, text)
				require.LessOrEqual(t, bad.Offset, int64(n)+4)
			}
			longer := append(slices.Clone(g.w.b), 0, 0, 0, 0)
			if g.ros1 {
				require.NoError(t, d.Append(&rows, longer))
				assert.Equal(t, Surplus{1, 4}, rows.Surplus)
				continue
			}
			require.Error(t, d.Append(&rows, longer))
			assert.Equal(t, before, fmt.Sprint(rows.Count, rows.F32, rows.F64, rows.Inexact, rows.Lists, rows.Stamps))
		}
	}
}
