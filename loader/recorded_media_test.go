package loader_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
)

// reread counts the episodes that are read, and fails after Close.
type reread struct {
	made
	reads  *int
	closed *bool
}

func (d reread) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	if *d.closed {
		return nil, dataset.ErrClosed
	}
	*d.reads++
	return d.made.Episode(ctx, i)
}

// A store that is built in memory has the media streams of its recordings. Only Episode reads them again.
func TestABuiltStoreHasTheMediaOfItsRecordings(t *testing.T) {
	ctx := context.Background()
	d := reread{filmed(t), new(int), new(bool)}
	d.made[0] = nil // it cannot be read, so the store's episodes have other indices
	s, err := store.Build(ctx, d, store.BuildOptions{Media: []string{"eye"}, Workers: 1})
	require.NoError(t, err)
	*d.reads = 0
	for i := range s.Len() {
		want := d.made[i+1]
		e, _, err := s.Read(ctx, i)
		require.NoError(t, err)
		again, err := s.Episode(ctx, i)
		require.NoError(t, err)
		assert.ElementsMatch(t, e.MediaNames(), again.MediaNames())
		for _, m := range want.Media {
			if m.Name == "eye" {
				continue
			}
			assert.Equal(t, &m, again.MediaStream(m.Name))
			m.Source = nil
			assert.Equal(t, &m, e.MediaStream(m.Name))
		}
	}
	assert.Equal(t, s.Len(), *d.reads)
	*d.closed = true
	_, _, err = s.Read(ctx, 0)
	require.NoError(t, err)
	_, err = s.Episode(ctx, 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
	require.NoError(t, s.Close())
	_, _, err = s.Read(ctx, 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

// A resident loader counts the bad frames of recordings as a streaming one, and draws the same batches.
func TestAResidentLoaderTakesBadFramesOfRecordings(t *testing.T) {
	m, p := filmedRecordings(t, 4), shards()
	p.Windows["front"] = cameraPlan().Windows["front"]
	opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, Cameras: twoCameras[:1], ShardWindows: 40, MixShards: 2}
	want, got := map[int64]uint64{}, map[int64]uint64{}
	ahead, kept := streamed(t, "cpu", m, p, opt), load(t, "cpu", m, p, opt)
	digests(t, ahead, want, 0, 1, 8)
	digests(t, kept, got, 0, 1, 8)
	same(t, want, got, "batches with bad frames")
	assert.Positive(t, kept.Report().Cameras[0].Bad)
	assert.Equal(t, ahead.Report().Cameras, kept.Report().Cameras)
}

// Each store of a mixture has the frames of its own recordings.
func TestAMixtureHasTheFramesOfItsRecordings(t *testing.T) {
	ctx := context.Background()
	m := filmedRecordings(t, -1)
	p := shards()
	p.Shuffle = "windows"
	opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, Cameras: twoCameras[:1]}
	want, got := map[int64]uint64{}, map[int64]uint64{}
	digests(t, load(t, "cpu", m, p, opt), want, 0, 1, 8)
	l, err := loader.NewMixture(ctx, open(t, "cpu"), []loader.Weighted{{Store: inMemory(t, m[:3])}, {Store: inMemory(t, m[3:])}}, p, opt)
	require.NoError(t, err)
	defer l.Close()
	digests(t, l, got, 0, 1, 8)
	same(t, want, got, "a mixture of parts")
	assert.Zero(t, l.Report().Cameras[0].Bad)
}
