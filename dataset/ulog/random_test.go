package ulog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// drawnField is a field of a type that is drawn at random.
type drawnField struct {
	typ  string // of the format, or "t3"
	sub  int    // the number of its type, or -1
	n    int    // of an array; 0 is a single value
	name string
}

var drawnTypes = []string{"int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "float", "double", "bool", "char"}

// draw returns types: each has fields of those before it, and the last has a clock.
func draw(r *rand.Rand) (types [][]drawnField) {
	for i := range 1 + r.IntN(4) {
		var fields []drawnField
		for k := range 1 + r.IntN(6) {
			f := drawnField{typ: drawnTypes[r.IntN(len(drawnTypes))], sub: -1, name: fmt.Sprintf("f%d", k)}
			if r.IntN(2) == 0 {
				f.n = 1 + r.IntN(3)
			}
			if i > 0 && r.IntN(3) == 0 {
				f.sub = r.IntN(i)
				f.typ = fmt.Sprintf("t%d", f.sub)
			} else if r.IntN(6) == 0 {
				f.typ, f.name = "uint8_t", fmt.Sprintf("_padding%d", k)
			}
			fields = append(fields, f)
		}
		types = append(types, fields)
	}
	last := len(types) - 1
	at := r.IntN(len(types[last]) + 1)
	types[last] = append(types[last][:at:at], append([]drawnField{{"uint64_t", -1, 0, "timestamp"}}, types[last][at:]...)...)
	return types
}

// fill makes a message of a type, and the names and values of its columns.
func fill(r *rand.Rand, types [][]drawnField, of int, prefix string, time uint64) (b []byte, names []string, values []float64) {
	for _, f := range types[of] {
		for i := range max(f.n, 1) {
			name := prefix + f.name
			if f.n > 0 {
				name += fmt.Sprintf("[%d]", i)
			}
			if f.sub >= 0 {
				inner, more, numbers := fill(r, types, f.sub, name+".", time)
				b, names, values = append(b, inner...), append(names, more...), append(values, numbers...)
				continue
			}
			v, u := 0.0, r.Uint64()>>(11+r.IntN(50))
			switch f.typ {
			case "int8_t", "uint8_t", "bool", "char":
				if v = float64(uint8(u)); f.typ == "int8_t" {
					v = float64(int8(u))
				} else if f.typ == "bool" {
					u &= 1
					v = float64(u)
				}
				b = append(b, byte(u))
			case "int16_t":
				v, b = float64(int16(u)), append(b, pack(int16(u))...)
			case "uint16_t":
				v, b = float64(uint16(u)), append(b, pack(uint16(u))...)
			case "int32_t":
				v, b = float64(int32(u)), append(b, pack(int32(u))...)
			case "uint32_t":
				v, b = float64(uint32(u)), append(b, pack(uint32(u))...)
			case "int64_t":
				v, b = -float64(u), append(b, pack(-int64(u))...)
			case "uint64_t":
				if f.name == "timestamp" && prefix == "" {
					u = time
				}
				v, b = float64(u), append(b, pack(u)...)
			case "float":
				v = float64(float32(r.NormFloat64()))
				b = append(b, pack(float32(v))...)
			default:
				v = r.NormFloat64()
				b = append(b, pack(v)...)
			}
			if !strings.HasPrefix(f.name, "_padding") && (f.name != "timestamp" || prefix != "") {
				names, values = append(names, name), append(values, v)
			}
		}
	}
	return b, names, values
}

// Padding behind the last value of a type is not in all messages.
func TestMessagesOfAnyTypeHaveTheValuesThatWereWritten(t *testing.T) {
	for seed := range uint64(10_000) {
		r := rand.New(rand.NewPCG(53, seed))
		types := draw(r)
		w := newBuild(0, 0)
		for i, fields := range types {
			text := fmt.Sprintf("t%d:", i)
			for _, f := range fields {
				if text += f.typ; f.n > 0 {
					text += fmt.Sprintf("[%d]", f.n)
				}
				text += " " + f.name + ";"
			}
			w.format(text)
		}
		last := len(types) - 1
		w.subscribe(0, 7, fmt.Sprintf("t%d", last))
		var names []string
		var want []float64
		for row := range 3 {
			b, columns, values := fill(r, types, last, "", uint64(10+row))
			end := types[last][len(types[last])-1]
			if strings.HasPrefix(end.name, "_padding") {
				b = b[:len(b)-r.IntN(max(end.n, 1)+1)]
			}
			w.data(7, b)
			names, want = columns, append(want, values...)
		}
		log := parse(t, w)
		require.Empty(t, log.Notes.Damage(), "%d: %v", seed, types)
		require.Len(t, log.Streams, 1, "%d: %v", seed, types)
		s := log.Streams[0]
		var got []string
		for _, c := range s.Columns {
			got = append(got, c.Name)
		}
		require.Equal(t, names, got, "%d", seed)
		require.Equal(t, append([]float64{}, want...), float64s(t, s.Values), "%d: %v", seed, types)
		require.Equal(t, []int64{10_000, 11_000, 12_000}, s.Nanoseconds(), "%d", seed)
	}
}
