package align_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

func TestNotesOfStreams(t *testing.T) {
	r := align.Report{Streams: []align.StreamReport{{Name: "a", Samples: 9}, {Name: "b", Samples: 9, Unfinite: 2}}}
	r.NoteUnfinite()
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNotFinite, Subject: "b", Count: 2, Detail: dataset.Detail{Of: 9}}}, r.Notes)
	s := numbered(t, "s", every(20, func(i int) int64 { return map[bool]int64{true: 0, false: 20_000*ms + int64(i)*100*ms}[i == 0] }))
	got, err := align.Resample(context.Background(), cpu(t), episode(s), align.Plan{Targets: tensor.Must(tensor.Of([]int64{21_000 * ms}, 1))})
	require.NoError(t, err)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeStrayTaken, Subject: "s", Detail: dataset.Detail{Got: "0.000", Want: "20.100"}}}, got.Report.Notes)
}
