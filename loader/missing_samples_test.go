package loader_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
)

// An episode without a stream, or with a stream that is left out, is reported with the reason and its windows. With Strict it is an
// error with the same reason.
func TestAnEpisodeThatLacksAStreamIsToldOrWithStrictAnError(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(3, 4))
	for what, one := range map[string]struct {
		spoil  func(e *dataset.Episode)
		reason dataset.Code
	}{
		"none": {func(e *dataset.Episode) { e.Streams = e.Streams[:2] }, dataset.CodeNoStreamOfName},
		"backwards": {func(e *dataset.Episode) {
			e.Notes, e.Streams = dataset.Notes{{Code: dataset.CodeDisorder, Subject: "action"}}, e.Streams[:2]
		}, dataset.CodeDisorder},
		"width": {func(e *dataset.Episode) { e.Streams[2] = stream(t, r, "action", 2, 30, .8, 3) }, dataset.CodeColumnsUnnamed},
	} {
		m := recordings(t)
		one.spoil(m[2])
		store := inMemory(t, m)
		p := plan()
		p.Shuffle = "none"
		makes := map[string]func(opt loader.Options) (*loader.Loader, error){
			"resident": func(opt loader.Options) (*loader.Loader, error) {
				return loader.New(ctx, open(t, "cpu"), store, p, opt)
			},
			"streaming": func(opt loader.Options) (*loader.Loader, error) {
				return loader.NewStreaming(ctx, open(t, "cpu"), store, p, opt)
			},
			"recordings": func(opt loader.Options) (*loader.Loader, error) {
				return loader.NewStreaming(ctx, open(t, "cpu"), m, p, opt)
			},
		}
		for how, make := range makes {
			l, err := make(loader.Options{Batch: 2})
			require.NoError(t, err, what+how)
			list := l.Report().Lacking
			require.Len(t, list, 1, what+how)
			assert.Equal(t, "action", list[0].Stream, what+how)
			assert.Equal(t, one.reason, list[0].Note.Code, what+how)
			assert.Positive(t, list[0].Windows, what+how)
			require.NoError(t, l.Close())
			_, err = make(loader.Options{Batch: 2, Strict: true})
			var lacking *loader.LackingError
			require.ErrorAs(t, err, &lacking, what+how)
			assert.Equal(t, list[0].Episode, lacking.Episode, what+how)
			assert.Equal(t, list[0].Note.Reason(), lacking.Note.Reason(), what+how)
			l, err = make(loader.Options{Batch: 2, Episodes: [][]int{{2}}})
			if what+how == "nonerecordings" { // the dataset has no such episode
				require.ErrorContains(t, err, `no stream "action"`)
				continue
			}
			if how == "recordings" { // which have other columns then, or none that anybody knows: it is none of the batches' streams
				require.NoError(t, err)
				assert.Equal(t, what == "backwards", len(l.Report().Lacking) == 1)
				require.NoError(t, l.Close())
				continue
			}
			require.ErrorAs(t, err, &lacking, what+how+": which no episode has")
			assert.True(t, lacking.All)
		}
	}
}

// Samples that are not finite are counted by stream, whether they are normalised or not; a store that is read meanwhile is not read for it.
func TestSamplesThatAreNotFiniteAreCounted(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	list, err := tensor.Data[float32](m[1].Streams[0].Values)
	require.NoError(t, err)
	for _, at := range []int{0, 1, 10, 24} { // of samples 0, 0, 2 and 4
		list[at] = float32(math.Inf(at - 10))
	}
	list[12] = float32(math.NaN()) // of sample 2
	imu := data[float32](t, m[1].Streams[1].Values)
	imu[3], imu[5] = list[12], list[12] // of sample 1: a column that the plan takes, and one that it does not
	store := inMemory(t, m)
	p := plan()
	p.Shuffle = "none"
	l, err := loader.New(ctx, open(t, "cpu"), store, p, loader.Options{Batch: 2})
	require.NoError(t, err)
	defer l.Close()
	meanwhile, err := loader.NewStreaming(ctx, open(t, "cpu"), m, p, loader.Options{Batch: 2})
	require.NoError(t, err)
	defer meanwhile.Close()
	for _, r := range []loader.Report{l.Report(), meanwhile.Report()} {
		for i, want := range []int{3, 1, 0} {
			require.NotNil(t, r.Streams[i].NotFinite)
			assert.Equal(t, want, *r.Streams[i].NotFinite, r.Streams[i].Name)
		}
	}
	packed, err := loader.NewStreaming(ctx, open(t, "cpu"), store, p, loader.Options{Batch: 2})
	require.NoError(t, err)
	defer packed.Close()
	assert.Nil(t, packed.Report().Streams[0].NotFinite)
}
