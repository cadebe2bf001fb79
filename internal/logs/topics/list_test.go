package topics

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/tensor"
)

// joints reads messages of one topic, a second apart, each a part of its own or all in one.
func joints(t *testing.T, together bool, messages ...string) *dataset.Episode {
	t.Helper()
	log := &fakeLog{channels: []Channel{{Topic: "/j", Encoding: "json"}}}
	for i, text := range messages {
		m := Message{Log: int64(i), Publish: int64(i), Data: []byte(text)}
		if together && i > 0 {
			log.parts[0] = append(log.parts[0], m)
		} else {
			log.parts = append(log.parts, []Message{m})
		}
	}
	e, err := Read(context.Background(), log, dataset.Options{})
	require.NoError(t, err)
	return e
}

func doubles(t *testing.T, s *dataset.Stream) []float64 {
	t.Helper()
	require.NotNil(t, s)
	require.NoError(t, s.Check())
	list, err := tensor.Data[float64](s.Values)
	require.NoError(t, err)
	return list
}

func TestElementsAreToldByTheirNames(t *testing.T) {
	for _, together := range []bool{true, false} {
		e := joints(t, together,
			`{"name":["c","a","b"],"position":[3,1,2],"velocity":[{"v":30},{"v":10},{"v":20}]}`,
			`{"name":["a","b","c"],"position":[4,5,6],"velocity":[{"v":40},{"v":50},{"v":60}]}`,
			`{"name":["b","c","a"],"position":[8,9,7],"velocity":[{"v":80},{"v":90},{"v":70}]}`)
		s := e.Stream("/j.position")
		assert.Equal(t, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, doubles(t, s))
		assert.Equal(t, []string{"a", "b", "c"}, columnNames(s), "sorted, since no message's order is more right than another's")
		assert.Equal(t, []float64{10, 20, 30, 40, 50, 60, 70, 80, 90}, doubles(t, e.Stream("/j.velocity")))
		assert.Equal(t, []string{"a.v", "b.v", "c.v"}, columnNames(e.Stream("/j.velocity")))
		assert.Equal(t, dataset.Notes{{Code: dataset.CodeLabelsReordered, Subject: "/j", Detail: dataset.Detail{Got: "name"}}}, e.Notes)

		e = joints(t, together, `{"name":["b","a"],"position":[1,2]}`, `{"name":["b","a"],"position":[3,4]}`)
		assert.Equal(t, []string{"b", "a"}, columnNames(e.Stream("/j.position")), "as every message has them")
		assert.Empty(t, e.Notes)
	}
}

func TestEachSetOfNamesHasAStream(t *testing.T) {
	for _, together := range []bool{true, false} {
		e := joints(t, together,
			`{"name":["r1","r2"],"position":[1,2],"velocity":[]}`,
			`{"name":["l"],"position":[3],"velocity":[30]}`,
			`{"name":["r2","r1"],"position":[5,4],"velocity":[]}`,
			`{"name":["l"],"position":[6],"velocity":[60]}`,
			`{"name":[],"position":[],"velocity":[]}`)
		assert.Equal(t, []string{"/j.position (l)", "/j.position (r1, r2)", "/j.velocity"}, e.Names())
		left, right := e.Stream("/j.position (l)"), e.Stream("/j.position (r1, r2)")
		assert.Equal(t, []float64{3, 6}, doubles(t, left))
		assert.Equal(t, []int64{1, 3}, left.Nanoseconds())
		assert.Equal(t, []float64{1, 2, 4, 5}, doubles(t, right))
		assert.Equal(t, []int64{0, 2}, right.Nanoseconds())
		assert.Equal(t, []string{"r1", "r2"}, columnNames(right))
		assert.Equal(t, []float64{30, 60}, doubles(t, e.Stream("/j.velocity")))
		assert.Equal(t, []int64{1, 3}, e.Stream("/j.velocity").Nanoseconds())
		assert.Equal(t, dataset.Notes{
			{Code: dataset.CodeMessagesEmpty, Subject: "/j.position", Count: 1, Detail: dataset.Detail{Of: 5}},
			{Code: dataset.CodeLabelSets, Subject: "/j", Detail: dataset.Detail{Got: "name", Of: 2}},
			{Code: dataset.CodeMessagesEmpty, Subject: "/j.velocity", Count: 3, Detail: dataset.Detail{Of: 5}},
		}, e.Notes)
	}
}

func TestNamesThatTellNothingAreNotUsed(t *testing.T) {
	for _, together := range []bool{true, false} {
		e := joints(t, together, `{"name":["a","a"],"position":[1,2]}`, `{"name":["a","a"],"position":[3,4]}`)
		assert.Equal(t, []string{"[0]", "[1]"}, columnNames(e.Stream("/j.position")))
		assert.Equal(t, []float64{1, 2, 3, 4}, doubles(t, e.Stream("/j.position")))
		assert.Equal(t, dataset.Notes{{Code: dataset.CodeLabelsUnusable, Subject: "/j.position", Detail: dataset.Detail{Got: "name"}}}, e.Notes)

		long := strings.Repeat("n", 256)
		e = joints(t, together, `{"name":["a","`+long+`"],"position":[1,2]}`)
		assert.Equal(t, []string{"[0]", "[1]"}, columnNames(e.Stream("/j.position")))
		assert.Len(t, e.Notes, 1)

		e = joints(t, together, `{"name":["a","b"],"position":[1,2]}`, `{"name":[],"position":[3,4]}`)
		assert.Equal(t, []string{"[0]", "[1]"}, columnNames(e.Stream("/j.position")))
		assert.Equal(t, dataset.Notes{{Code: dataset.CodeLabelsPartial, Subject: "/j.position", Detail: dataset.Detail{Got: "name"}}}, e.Notes)

		e = joints(t, together, `{"name":["a","b"],"position":[1,2]}`, `{"name":["b","a"],"position":[1,2]}`, `{"name":[],"position":[3,4]}`)
		assert.Equal(t, dataset.Notes{{Code: dataset.CodeLabelsChange, Subject: "/j.position", Count: 3, Detail: dataset.Detail{Got: "name"}}}, e.Notes)

		var many []string
		for i := range message.MaxNames + 1 {
			many = append(many, fmt.Sprintf(`{"name":["j%d"],"position":[%d]}`, i, i))
		}
		assert.Len(t, joints(t, together, many[1:]...).Streams, message.MaxNames)
		e = joints(t, together, many...)
		assert.Equal(t, dataset.Notes{{Code: dataset.CodeLabelSetLimit, Subject: "/j.position", Count: message.MaxNames + 1, Detail: dataset.Detail{Got: "name", Want: "16"}}}, e.Notes)
	}
}
