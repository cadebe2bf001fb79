package loader_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
)

// A recording's note about the streams is in the report once, with its count, whether the recordings are packed or streamed.
func TestALoaderSaysWhatItsRecordingsSay(t *testing.T) {
	ctx := context.Background()
	d := recordings(t)
	byName, noHeader := dataset.Note{Code: dataset.CodeLabelsReordered, Subject: "state"}, dataset.Note{Code: dataset.CodeLogClock, Subject: "imu"}
	action, clocks := dataset.Note{Code: dataset.CodeLogClock, Subject: "action"}, dataset.Note{Code: dataset.CodeRangeNotNarrowed}
	for _, i := range []int{0, 2, 5} {
		d[i].Notes.Add(byName)
	}
	d[1].Notes = dataset.Notes{noHeader, action}
	d[2].Notes.Add(clocks)
	d[3].Notes.AddDamage(dataset.CodeChunkBroken, 84066, nil)
	of := func(n dataset.Note, number, episodes int) dataset.EpisodeNote {
		return dataset.EpisodeNote{Note: n, Episode: fmt.Sprint("e", number), Number: number, Episodes: episodes}
	}
	whole := []dataset.EpisodeNote{of(byName, 0, 3), of(noHeader, 1, 1), of(action, 1, 1), of(clocks, 2, 1), of(d[3].Notes[0], 3, 1)}
	some := []dataset.EpisodeNote{whole[0], whole[2], whole[3], whole[4]}
	built, opened, _ := saved(t, d, store.BuildOptions{})
	for _, c := range []struct {
		streams []align.Stream
		want    []dataset.EpisodeNote
	}{{nil, whole}, {[]align.Stream{{Name: "s", From: "state"}, {Name: "action"}}, some}} {
		p := plan()
		p.Streams, p.Windows = c.streams, nil
		for _, store := range []*store.Store{built, opened} {
			l, err := loader.New(ctx, open(t, "cpu"), store, p, loader.Options{Batch: 2})
			require.NoError(t, err)
			assert.Equal(t, c.want, l.Report().EpisodeNotes)
			require.NoError(t, l.Close())
		}
		p.Shuffle = "shards"
		assert.Equal(t, c.want, streamed(t, "cpu", d, p, loader.Options{Batch: 2}).Report().EpisodeNotes)
	}
	d[4].Notes.Add(dataset.Note{Code: dataset.CodeNoMessages, Subject: "lidar"})
	built, _, _ = saved(t, d, store.BuildOptions{})
	p := plan()
	p.Streams, p.Windows = []align.Stream{{Name: "action"}}, nil
	l, err := loader.New(ctx, open(t, "cpu"), built, p, loader.Options{Batch: 2, AllNotes: true})
	require.NoError(t, err)
	assert.Equal(t, append(whole, of(d[4].Notes[0], 4, 1)), l.Report().EpisodeNotes, "those about other streams, and what was left out")
	require.NoError(t, l.Close())
	only, _, _ := saved(t, d, store.BuildOptions{Streams: []string{"action"}})
	assert.Equal(t, dataset.Notes{action}, only.Episodes[1].Notes)
}
