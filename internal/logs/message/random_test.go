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
	ros1, idl bool
	w         *writer
	boxes     bool
	types     [][]guessed // p/T0, p/T1, ...: each uses only those before it
	table     []float64
	lists     [][]float64
	sizes     []int32
}

type guessed struct {
	kind  string // of a primitive, or "T3"
	sub   int    // which type it is, or -1
	array Array
	n     int // of a fixed array, or the bound of a sequence; 0 is none
}

var kindsOf1 = []string{"bool", "int8", "uint8", "byte", "char", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "string", "time", "duration"}
var kindsOf2 = append(slices.Clone(kindsOf1[:13]), "string", "wstring", "string<=7", "wstring<=7")
var kindsOfIDL = append(slices.Clone(kindsOf2), "p::E8", "p::E16", "E32", "p::Angle", "long", "unsigned long long")

// idlOf are the names of kinds in IDL, where these differ from ROS.
var idlOf = map[string]string{"bool": "boolean", "byte": "octet", "uint16": "unsigned short", "int32": "long", "float32": "float", "float64": "double", "string<=7": "string<7>", "wstring<=7": "wstring<MOST>"}

// declared stands before the structs of IDL.
const declared = `// a comment
module p {
  const unsigned long MOST = 7; /* of text */
  @bit_bound(8) enum E8 { A, @value(5) B };
  @verbatim (language="comment", text="bits") @bit_bound(16)
  enum E16 { C };
  enum E32 { D, E };
  typedef double Angle;
};
`

func (g *guess) make() (text string) {
	var b []string
	kinds := kindsOf2
	switch {
	case g.ros1:
		kinds = kindsOf1
	case g.idl:
		kinds = kindsOfIDL
	}
	for i := range 1 + g.IntN(4) {
		var fields []guessed
		var lines, before strings.Builder
		for k := range g.IntN(7) {
			f := guessed{kind: kinds[g.IntN(len(kinds))], sub: -1, array: Array(g.IntN(4) % 3), n: 1 + g.IntN(4)}
			if i > 0 && g.IntN(3) == 0 {
				f.sub = g.IntN(i)
				f.kind = fmt.Sprintf("T%d", f.sub)
			}
			if f.array == Sequence && (g.ros1 || g.IntN(2) == 0) {
				f.n = 0
			}
			if g.idl {
				g.member(&lines, &before, f, k)
			} else {
				g.line(&lines, f, k)
			}
			fields = append(fields, f)
		}
		g.types = append(g.types, fields)
		text := lines.String()
		if g.idl {
			if len(fields) == 0 {
				text = "uint8 structure_needs_at_least_one_member;\n"
			}
			text = fmt.Sprintf("%smodule p {\nmodule msg {\n%s@final struct %s {\n%s};\n};\n};\n", declared, before.String(), fmt.Sprintf("T%d", i), text)
		} else if len(fields) == 0 {
			text = "# nothing\n"
		}
		b = append(b, text)
	}
	last := len(b) - 1
	kind, text := "MSG: p/T", b[last]
	if g.idl {
		kind, text = "IDL: p/msg/T", line80+fmt.Sprintf("IDL: p/msg/T%d\n", last)+b[last]
	}
	for i := range last {
		text += line80 + fmt.Sprintf("%s%d\n", kind, i) + b[i]
	}
	return text
}

// line writes a field of .msg, some with a default value, some after a constant.
func (g *guess) line(lines *strings.Builder, f guessed, k int) {
	array := [...]string{"", fmt.Sprintf("[%d]", f.n), "[]"}[f.array]
	if f.array == Sequence && f.n > 0 {
		array = fmt.Sprintf("[<=%d]", f.n)
	}
	after := ""
	if !g.ros1 && f.array == One && f.sub < 0 && g.IntN(4) == 0 {
		if after = " 1"; strings.Contains(f.kind, "string") {
			after = ` "a # text = 1"`
		}
	}
	if g.IntN(8) == 0 {
		fmt.Fprintf(lines, "string S%d=a # text\n  int32\tC%d = -%d # a number\n\n", k, k, k)
	}
	fmt.Fprintf(lines, "%s%s f%d%s # of %d\n", f.kind, array, k, after, k)
}

// member writes a field of IDL. Some arrays are types of their own before the struct, as rosidl writes them.
func (g *guess) member(lines, before *strings.Builder, f guessed, k int) {
	name := f.kind
	if ros := idlOf[name]; ros != "" {
		name = ros
	}
	if f.sub >= 0 && g.IntN(2) == 0 {
		name = "p::msg::" + name
	}
	if g.IntN(5) == 0 {
		fmt.Fprint(lines, "@unit (value=\"m (s)\") ")
	}
	switch {
	case f.array == One:
		fmt.Fprintf(lines, "%s f%d;\n", name, k)
	case f.array == Sequence && f.n == 0:
		fmt.Fprintf(lines, "sequence<%s> f%d;\n", name, k)
	case f.array == Sequence:
		fmt.Fprintf(lines, "sequence<%s, %d> f%d;\n", name, f.n, k)
	case g.IntN(2) == 0:
		fmt.Fprintf(before, "typedef %s array_%d[%d];\n", name, k, f.n)
		fmt.Fprintf(lines, "array_%d f%d;\n", k, k)
	default:
		fmt.Fprintf(lines, "%s f%d[%d];\n", name, k, f.n)
	}
}

// number writes a number at random and returns it as a float64 holds it.
func (g *guess) number(kind string) []float64 {
	one := func(v any, f float64) []float64 {
		g.w.put(v)
		return []float64{f}
	}
	switch u := g.Uint64(); kind {
	case "p::E8":
		return one(uint8(u%2), float64(u%2))
	case "p::E16":
		return one(uint16(u%9), float64(u%9))
	case "E32":
		return one(uint32(u%9), float64(u%9))
	case "wstring", "wstring<=7":
		n := g.IntN(6)
		g.w.put(uint32(n))
		for range n * g.w.unit {
			g.w.b = append(g.w.b, 'x')
		}
		return nil
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
	case "int32", "long":
		return one(int32(u), float64(int32(u)))
	case "uint32":
		return one(uint32(u), float64(uint32(u)))
	case "int64":
		return one(int64(u), float64(int64(u)))
	case "uint64", "unsigned long long":
		return one(u, float64(u))
	case "float32":
		v := float32(g.NormFloat64())
		return one(v, float64(v))
	case "float64", "p::Angle":
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
		if f.array != One && g.boxes && (f.sub >= 0 || strings.Contains(f.kind, "string")) {
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
			if f.n > 0 {
				n = min(n, f.n)
			}
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
		return !strings.Contains(f.kind, "string")
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

// decodings are the encodings of messages and of their schemas.
var decodings = []struct {
	encoding, schema string
	start            func() *writer
}{
	{"ros1", "ros1msg", ros1}, {"cdr", "ros2msg", cdr}, {"cdr", "ros2msg", cdrBig}, {"cdr", "ros2msg", xcdr2}, {"cdr", "ros2idl", cdr}, {"cdr", "ros2idl", cdrBig}, {"cdr", "ros2idl", xcdr2},
}

// Whatever the type, each number goes to its column in each encoding, and a message that is cut is an error that leaves no trace: one of the first
// thousand types anywhere, one of the others in one place.
func TestAnyTypeDecodesToWhatWasWritten(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for seed := range uint64(thorough.Of(5_000, 10_000)) {
		e := decodings[seed%uint64(len(decodings))]
		if thorough.Long || seed < 500 {
			for _, e := range decodings {
				anyType(t, seed, e.encoding, e.schema, e.start(), true)
			}
			continue
		}
		anyType(t, seed, e.encoding, e.schema, e.start(), false)
	}
}

func anyType(t *testing.T, seed uint64, encoding, schema string, w *writer, everywhere bool) {
	g := &guess{Rand: rand.New(rand.NewPCG(1, seed)), ros1: encoding == "ros1", idl: schema == "ros2idl", boxes: w.unit == 2, w: w}
	text := g.make()
	name := fmt.Sprintf("%s %x of %s, %d\n%s", encoding, w.b, schema, seed, text)
	d, err := New(encoding, Schema{fmt.Sprintf("p/msg/T%d", len(g.types)-1), schema, []byte(text)}, nil)
	require.NoError(t, err, name)
	g.fields(len(g.types)-1, &g.table, true)
	shape := d.Shape()
	require.Len(t, shape.Columns, len(g.table), name)
	require.Len(t, shape.Lists, len(g.lists), name)
	var rows Rows
	for range 2 {
		require.NoError(t, d.Append(&rows, g.w.b), "%s\n%x", name, g.w.b)
	}
	half := func(list []float64) []float64 { return list[len(list)/2:] }
	require.Equal(t, append([]float64{}, g.table...), append([]float64{}, half(values(rows.F64, rows.F32))...), name)
	for i, want := range g.lists {
		l := rows.Lists[i]
		require.Equal(t, []int32{g.sizes[i], g.sizes[i]}, l.Lengths)
		require.Equal(t, append([]float64{}, want...), append([]float64{}, half(values(l.F64, l.F32))...), "%s: %s", shape.Lists[i].Name, name)
	}
	if w.unit == 4 && strings.Contains(text, "wstring") {
		return // a part of it may be a message with units of two bytes
	}
	before := fmt.Sprint(rows.Count, rows.F32, rows.F64, rows.Inexact, rows.Lists, rows.Stamps)
	for n := range g.w.b {
		if !everywhere {
			n = g.IntN(len(g.w.b))
		}
		var bad *dataset.FormatError
		err := d.Append(&rows, g.w.b[:n])
		require.True(t, errors.As(err, &bad) && errors.Is(err, dataset.ErrTruncated), "%d of %d bytes: %v\n%s", n, len(g.w.b), err, name)
		require.LessOrEqual(t, bad.Offset, int64(n)+4)
		if !everywhere {
			break
		}
	}
	longer := append(slices.Clone(g.w.b), 0, 0, 0, 0)
	if g.ros1 {
		require.NoError(t, d.Append(&rows, longer))
		assert.Equal(t, Surplus{1, 4}, rows.Surplus)
		return
	}
	require.Error(t, d.Append(&rows, longer))
	assert.Equal(t, before, fmt.Sprint(rows.Count, rows.F32, rows.F64, rows.Inexact, rows.Lists, rows.Stamps))
}
