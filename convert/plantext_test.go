package convert

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
)

func TestPlansThatSayTheSameHaveTheSameText(t *testing.T) {
	yes := true
	text := func(s string) string {
		p, err := planfile.Parse("p.yaml", []byte("version: 1\n"+s))
		require.NoError(t, err)
		return string(planText(&p))
	}
	a := "rate: 50\nstreams: [{name: a, method: previous, max_gap: 100ms}]"
	assert.Equal(t, text(a), text("# why\nrate: 50.0\nstreams:\n- name: a\n  method: previous\n  max_gap: 0.1s\n"))
	for _, other := range []string{"rate: 51\nstreams: [{name: a, method: previous, max_gap: 100ms}]", "rate: 50\nstreams: [{name: a, method: previous, max_gap: 101ms}]",
		"rate: 50\nstreams: [{name: a, method: previous}]", a + "\nfilter: {success: true}"} {
		assert.NotEqual(t, text(a), text(other))
	}
	both := align.Plan{Rate: 1, Defaults: align.Sampling{Kind: "linear", Kinds: []align.ColumnKind{{Columns: "a", Kind: "next"}}}, Filter: dataset.Filter{Success: &yes}}
	assert.NotContains(t, string(planText(&both)), "0x")
	assert.True(t, json.Valid(planText(&both)))
	sorted := both
	sorted.Unordered = "sort"
	assert.NotEqual(t, string(planText(&both)), string(planText(&sorted)))
}
