package message

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// drawnJSON is a shape of JSON messages that is drawn at random, and the messages of it.
type drawnJSON struct {
	*rand.Rand
	b     strings.Builder
	names []string
	row   []float64
	lists []drawnList
}

type drawnMember struct {
	kind    string // "number", "bool", "text", "null", "object", or an array of one of the last three and of "number"
	array   bool
	members []drawnMember
}

func (g *drawnJSON) shape(depth int) (list []drawnMember) {
	kinds := []string{"number", "number", "bool", "text", "null", "object"}
	for range g.IntN(6) {
		m := drawnMember{kind: kinds[g.IntN(len(kinds))], array: g.IntN(4) == 0}
		if m.kind == "object" {
			if m.kind = "number"; depth < 3 {
				m.kind, m.members = "object", g.shape(depth+1)
			}
		}
		list = append(list, m)
	}
	return list
}

func (g *drawnJSON) space() { g.b.WriteString([]string{"", "", " ", "\n\t"}[g.IntN(4)]) }

// scalar writes a value and returns the number that it is.
func (g *drawnJSON) scalar(kind string) float64 {
	switch kind {
	case "bool":
		v := g.IntN(2)
		g.b.WriteString([]string{"false", "true"}[v])
		return float64(v)
	case "text":
		g.b.WriteString([]string{`""`, `"a \" { [ , \\"`, `"\u00e9\ud83d\ude00"`}[g.IntN(3)])
	case "null":
		g.b.WriteString("null")
	default:
		text := []string{"0", "-0.0", "1e3", "-2.5E-3", "9007199254740993", `"NaN"`, `"-Infinity"`, "0.1"}[g.IntN(8)]
		if g.IntN(2) == 0 {
			text = strconv.FormatFloat(g.NormFloat64(), 'g', -1, 64)
		}
		g.b.WriteString(text)
		v, _ := strconv.ParseFloat(strings.Trim(text, `"`), 64)
		return v
	}
	return 0
}

// columnsOf returns the number of columns of a member in an array.
func columnsOf(m drawnMember) (n int) {
	if m.kind != "object" {
		return map[string]int{"number": 1, "bool": 1}[m.kind]
	}
	for _, in := range m.members {
		if !in.array {
			n += columnsOf(in)
		}
	}
	return n
}

// object writes an object. all is whether each of its members is there; table whether arrays in it are lists; there whether it is written at all.
func (g *drawnJSON) object(list []drawnMember, path string, all, table, there bool, row *[]float64) {
	write := func(s string) {
		if there {
			g.b.WriteString(s)
		}
	}
	write("{")
	comma := ""
	for i, m := range list {
		has := there && (all || g.IntN(3) > 0)
		name := fmt.Sprintf("é%d", i)
		if has {
			g.b.WriteString(comma)
			g.space()
			g.b.WriteString([]string{strconv.Quote(name), strconv.QuoteToASCII(name)}[g.IntN(2)])
			g.space()
			g.b.WriteString(":")
			g.space()
			comma = ","
		}
		switch {
		case m.array:
			made := drawnList{}
			if has {
				g.b.WriteString("[")
				if made.count = 1 + g.IntN(3); !all && g.IntN(3) == 0 {
					made.count = 0
				}
				for k := range made.count {
					if k > 0 {
						g.b.WriteString(",")
					}
					g.element(m, all && k == 0, &made.values)
				}
				g.b.WriteString("]")
			}
			if table && columnsOf(m) > 0 {
				g.lists = append(g.lists, made)
			}
		case m.kind == "object":
			g.object(m.members, path+name+".", all, table, has, row)
		default:
			v := math.NaN()
			if has {
				v = g.scalar(m.kind)
			}
			if columnsOf(m) > 0 {
				*row, g.names = append(*row, v), append(g.names, path+name)
			}
		}
		if has {
			g.space()
		}
	}
	write("}")
}

func (g *drawnJSON) element(m drawnMember, all bool, values *[]float64) {
	names := g.names
	if m.kind == "object" {
		g.object(m.members, "", all, false, true, values)
	} else if v := g.scalar(m.kind); columnsOf(m) > 0 {
		*values = append(*values, v)
	}
	g.names = names
}

// The first message has each member, and the second a part of them.
func TestJSONMessagesOfAnyShapeDecodeToTheValuesThatWereWritten(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for seed := range uint64(10_000) {
		r := rand.New(rand.NewPCG(3, seed))
		list := (&drawnJSON{Rand: r}).shape(0)
		d, err := New("json", Schema{Name: "p.T"}, nil)
		require.NoError(t, err)
		var messages []*drawnJSON
		for i := range 2 {
			g := &drawnJSON{Rand: r}
			g.object(list, "", i == 0, true, true, &g.row)
			require.NoError(t, d.(Learner).Learn([]byte(g.b.String())), "%d: %s", seed, g.b.String())
			messages = append(messages, g)
		}
		shape := d.Shape()
		require.Equal(t, messages[0].names, columns(shape.Columns), "%d: %s", seed, messages[0].b.String())
		for _, g := range messages {
			var rows Rows
			require.NoError(t, d.Append(&rows, []byte(g.b.String())), "%d: %s", seed, g.b.String())
			require.Equal(t, fmt.Sprint(g.row), fmt.Sprint(values(rows.F64, rows.F32)), "%d: %s", seed, g.b.String())
			require.Len(t, shape.Lists, len(g.lists), "%d: %s", seed, g.b.String())
			for i, want := range g.lists {
				l := rows.Lists[i]
				require.Equal(t, []int32{int32(want.count)}, l.Lengths, "%d: %s", seed, g.b.String())
				require.Equal(t, fmt.Sprint(want.values), fmt.Sprint(values(l.F64, l.F32)), "%d: %s: %s", seed, shape.Lists[i].Name, g.b.String())
			}
		}
	}
}
