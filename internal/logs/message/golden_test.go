package message

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// golden is a message and what others decode of it.
type golden struct {
	Type, Encoding, Schema, Definition string
	Message                            []byte
	Columns                            []string
	Values                             []float64
	Lists                              []struct {
		Name    string
		Columns []string
		Rows    [][]float64
	}
	Stamp *string
}

func goldens(t testing.TB) (list []golden) {
	b := filetest.Read(t, "testdata/golden.json")
	require.NoError(t, json.Unmarshal(b, &list))
	return list
}

func TestMessagesDecodeAsOthersDecodeThem(t *testing.T) {
	lists := 0
	for _, g := range goldens(t) {
		d, err := New(g.Encoding, Schema{g.Type, g.Schema, []byte(g.Definition)}, nil)
		require.NoError(t, err, g.Type)
		shape := d.Shape()
		require.Equal(t, append([]string(nil), g.Columns...), names(shape.Columns), g.Type)
		var rows Rows
		require.NoError(t, d.Append(&rows, g.Message), g.Type)
		require.Equal(t, append([]float64{}, g.Values...), append([]float64{}, values(rows.F64, rows.F32)...), g.Type)
		assert.Equal(t, g.Stamp != nil, shape.Stamp, g.Type)
		if g.Stamp != nil {
			assert.Equal(t, *g.Stamp, strconv.FormatInt(rows.Stamps[0], 10), g.Type)
		}
		for i, l := range shape.Lists {
			for _, want := range g.Lists {
				if want.Name != l.Name || rows.Lists[i].Dropped {
					continue
				}
				lists++
				var all []float64
				for _, row := range want.Rows {
					all = append(all, row...)
				}
				require.Equal(t, want.Columns, names(l.Columns), g.Type)
				require.Equal(t, all, values(rows.Lists[i].F64, rows.Lists[i].F32), "%s.%s", g.Type, l.Name)
				require.Equal(t, []int32{int32(len(want.Rows))}, rows.Lists[i].Lengths)
			}
		}
	}
	assert.Greater(t, lists, 30)
}
