package convert

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
)

// lossyReader is a dataset whose recordings have notes about what they lost, with numbers that differ.
type lossyReader struct{ dataset.Dataset }

func (d lossyReader) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	e, err := d.Dataset.Episode(ctx, i)
	if err == nil {
		e.Notes.Add(dataset.Note{Code: dataset.CodeTextFields, Subject: "/rosout", Count: 2 + i})
		e.Notes.Add(dataset.Note{Code: dataset.CodeHeaderTimeZero, Subject: "/odom", Count: 1})
		e.Notes.AddDamage(dataset.CodeChunkBroken, int64(10+i), nil)
		e.Dropouts = make([]dataset.Dropout, 1+i)
	}
	return e, err
}

// Losses are the reader's notes and the recorder's dropouts, counted over all episodes in one entry of each code and subject; a remark is none.
func TestLossesAreNotesOfAllEpisodes(t *testing.T) {
	ctx := context.Background()
	in := write(t, recorded(t, 1, 20, false), recorded(t, 2, 20, false), recorded(t, 3, 20, false))
	out := filepath.Join(t.TempDir(), "out")
	c, err := New(ctx, []string{in}, out, NPZ(), Options{})
	require.NoError(t, err)
	defer c.Close()
	c.inputs[0].from = lossyReader{c.inputs[0].from}
	r, err := c.Shard(ctx, 0)
	require.NoError(t, err)
	entry := func(n dataset.Note) dataset.EpisodeNote {
		return dataset.EpisodeNote{Note: n, Episode: "run1", Number: 0, Episodes: 3}
	}
	want := []dataset.EpisodeNote{
		entry(dataset.Note{Code: dataset.CodeTextFields, Subject: "/rosout", Count: 9}),
		entry(dataset.Note{Code: dataset.CodeChunkBroken, Count: 3, Detail: dataset.Detail{Bytes: 33}}),
		entry(dataset.Note{Code: dataset.CodeRecorderDropouts, Count: 6}),
	}
	assert.Equal(t, want, r.Losses.List)
	b := filetest.Read(t, filepath.Join(out, "convert.json"))
	var written Report
	require.NoError(t, json.Unmarshal(b, &written))
	assert.Equal(t, want, written.Losses.List)
}
