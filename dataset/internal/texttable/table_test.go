package texttable_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/texttable"
)

// layouts are of each kind of separator and clock.
var layouts = map[string]texttable.Layout{
	"csv": {Format: "csv", Sep: ',', End: '\n', Quotes: true, Comments: "#%", Header: 1, Clock: texttable.Clock{Exponent: -9}, Fields: []texttable.Field{
		{Name: "timestamp", Kind: texttable.Time}, {Name: "x", Kind: texttable.Number}, {Name: "note", Kind: texttable.Unsure}, {Name: "text"}, {Kind: texttable.Number}}},
	"spaces": {Format: "tum", Sep: ' ', End: '\n', Comments: "#", Fields: []texttable.Field{{Name: "t", Kind: texttable.Time}, {Name: "x", Kind: texttable.Number}}},
	"tabs": {Format: "csv", Sep: '\t', End: '\r', Quotes: true, Fields: []texttable.Field{
		{Name: "sec", Kind: texttable.Time}, {Name: "nsec", Kind: texttable.Low}, {Name: "x", Kind: texttable.Unsure}}},
	"dates": {Format: "csv", Sep: ';', End: '\n', Quotes: true, Clock: texttable.Clock{ISO: true}, Fields: []texttable.Field{{Kind: texttable.Time}, {Kind: texttable.Unsure}}},
	"steps": {Format: "csv", Sep: ',', End: '\n', Quotes: true, Fields: []texttable.Field{{Kind: texttable.Number}, {Kind: texttable.Unsure}}},
}

// Whatever a text holds: no panic, errors that are typed, and a table that is whole.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"timestamp,x,note,text,y\n1520530308189679351,0.25,,\"a, b\",1\n15,-1.5e-3,\"two\nlines\",,2\n", "1.5 2\n# no\n2.5 3", "1\t5\ttrue\r2\t6\t\"a\"\"b\"\r",
		"2024-01-31T12:00:00.123456789+02:00;1\n", "1,a\n,\n\"1\",\"\"\n", "1,\"\n1,2\n\"\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, l := range layouts {
			for _, strict := range []bool{false, true} {
				table, err := texttable.Read(context.Background(), strings.NewReader(text), l, 1, strict)
				var bad *dataset.FormatError
				if err != nil {
					if !errors.As(err, &bad) || bad.Line < 1 || bad.Offset < 0 || bad.Offset > int64(len(text)) {
						t.Fatalf("%s: %#v", name, err)
					}
					continue
				}
				width := 0
				for _, c := range table.Columns {
					if !c.Text && (c.Empty < table.Rows || table.Rows == 0) {
						width++
					}
				}
				if len(table.Values) != table.Rows*width || name != "steps" && len(table.Times) != table.Rows || strict && table.Notes.Damage() != nil || table.Notes.LostBytes() > int64(len(text)) {
					t.Fatalf("%s: %d rows, %d columns, %d values, %d times, damage %v", name, table.Rows, width, len(table.Values), len(table.Times), table.Notes.Damage())
				}
			}
		}
	})
}

func TestLinesGoOnAcrossTheBuffer(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	text := "a\r\n" + long + "\n\nb"
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "halves": iotest.HalfReader(strings.NewReader(text)), "bytes": iotest.OneByteReader(strings.NewReader(text))} {
		lines := texttable.NewLines(r, '\n')
		for i, want := range []texttable.Line{
			{Text: []byte("a"), Number: 1, Bytes: 3, Ended: true}, {Text: []byte(long), At: 3, Number: 2, Bytes: 300_001, Ended: true},
			{Text: []byte{}, At: 300_004, Number: 3, Bytes: 1, Ended: true}, {Text: []byte("b"), At: 300_005, Number: 4, Bytes: 1},
		} {
			got, err := lines.Next()
			require.NoError(t, err)
			assert.Equal(t, want, got, "%s: line %d", name, i+1)
		}
		_, err := lines.Next()
		assert.Equal(t, io.EOF, err)
	}
}

func TestErrorsBelowAreErrors(t *testing.T) {
	broken := errors.New("the disk is on fire")
	for _, text := range []string{"1 2\n", "1 2\n3"} {
		_, err := texttable.Read(context.Background(), io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), layouts["spaces"], 1, false)
		assert.ErrorIs(t, err, broken)
	}
	_, err := texttable.Read(context.Background(), io.MultiReader(strings.NewReader("1,\"a"), iotest.ErrReader(broken)), layouts["steps"], 1, false)
	assert.ErrorIs(t, err, broken)
}

func TestDatesAreReadToTheNanosecond(t *testing.T) {
	c := texttable.Clock{ISO: true}
	for text, want := range map[string]int64{
		"1970-01-01T00:00:00": 0, "1970-01-01 00:00:01.5Z": 15e8, "1970-01-01T01:00:00.000000001+01:00": 1, "1969-12-31T23:59:59.9-00:00": -1e8,
	} {
		ns, exact, ok := c.Read([]byte(text))
		assert.True(t, ok && exact, text)
		assert.Equal(t, want, ns, text)
	}
	_, exact, ok := c.Read([]byte("1970-01-01T00:00:00.0000000001"))
	assert.True(t, ok && !exact)
	for _, text := range []string{"", "1970-01-01", "1970-13-01T00:00:00", "9999-01-01T00:00:00", "1970-01-01T00:00:00 later", "not a date of any kind"} {
		_, _, ok := c.Read([]byte(text))
		assert.False(t, ok, text)
	}
}
