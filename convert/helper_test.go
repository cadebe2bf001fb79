package convert

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/tensor"
)

// recorded is an episode of a table of 30 rows a second, and with apart an imu of its own clock and a camera.
func recorded(t *testing.T, seed, rows int, apart bool) *dataset.Episode {
	t.Helper()
	e := &dataset.Episode{Name: fmt.Sprint("run", seed), Attributes: dataset.Attributes{Task: fmt.Sprint("task ", seed%2)}}
	times := make([]int64, rows)
	state, action := make([]float32, 3*rows), make([]float64, 2*rows)
	for i := range times {
		times[i] = int64(1e9) + (int64(i)*1e9+15)/30
	}
	for i := range state {
		state[i] = float32(i*seed%101) * .37
	}
	for i := range action {
		action[i] = float64(i*seed%97) * .11
	}
	add := func(name string, times []int64, values *tensor.Tensor) {
		s, err := dataset.NewStream(name, times, values, nil)
		require.NoError(t, err)
		e.Streams = append(e.Streams, s)
	}
	add("state", times, tensor.Must(tensor.Of(state, rows, 3)))
	add("action", times, tensor.Must(tensor.Of(action, rows, 2)))
	if apart {
		own, numbers := make([]int64, 5*rows), make([]float32, 5*rows)
		for i := range own {
			own[i], numbers[i] = int64(1e9)+int64(i)*7_000_003, float32(i)
		}
		add("imu", own, tensor.Must(tensor.Of(numbers, len(own), 1)))
		frames := make([]int64, rows/2)
		for i := range frames {
			frames[i] = int64(1e9) + int64(i)*66_000_000
		}
		e.Media = append(e.Media, dataset.Media{Name: "front", Times: frames, Encoding: "mono8", Width: 2, Height: 1, Source: numbered{}})
	}
	return e
}

// numbered are frames of two pixels that have their number.
type numbered struct{}

func (numbered) ReadFrame(_ context.Context, i int) ([]byte, error) {
	return []byte{byte(i), byte(i >> 8)}, nil
}

// write writes recordings into a folder, one a file.
func write(t *testing.T, list ...*dataset.Episode) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "in")
	require.NoError(t, os.Mkdir(dir, 0o777))
	for _, e := range list {
		require.NoError(t, mcap.WriteFile(filepath.Join(dir, e.Name+".mcap"), mcap.WriterOptions{}, func(w *mcap.Writer) error {
			return w.Episode(context.Background(), e, mcap.Protobuf)
		}))
	}
	return dir
}

// all makes all shards of a conversion.
func all(out string, to Target, opt Options, in ...string) ([]*Report, error) {
	ctx := context.Background()
	c, err := New(ctx, in, out, to, opt)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var list []*Report
	for i := range max(opt.Shards, 1) {
		r, err := c.Shard(ctx, i)
		if err != nil {
			return list, err
		}
		list = append(list, r)
	}
	return list, nil
}

// converts makes an output in one shard.
func converts(t *testing.T, out string, to Target, opt Options, in ...string) *Report {
	t.Helper()
	list, err := all(out, to, opt, in...)
	require.NoError(t, err)
	require.Len(t, list, max(opt.Shards, 1))
	return list[0]
}

// tree is what is in a folder, by the files' names.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(b)
		return err
	}))
	return files
}

// episodes reads a dataset.
func episodes(t *testing.T, path string) (list []*dataset.Episode) {
	t.Helper()
	d, err := dataset.Open(context.Background(), path, dataset.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	for e, err := range dataset.Episodes(context.Background(), d) {
		require.NoError(t, err)
		list = append(list, e)
	}
	return list
}

// equalStreams compares streams to the bit.
func equalStreams(t *testing.T, want, got *dataset.Episode, what string) {
	t.Helper()
	assert.ElementsMatch(t, want.Names(), got.Names(), what)
	for i := range want.Streams {
		w, g := &want.Streams[i], got.Stream(want.Streams[i].Name)
		if !assert.NotNil(t, g, "%s: %s", what, w.Name) {
			continue
		}
		assert.Equal(t, w.Nanoseconds(), g.Nanoseconds(), "%s: %s", what, w.Name)
		assert.Equal(t, w.ColumnNames(), g.ColumnNames(), "%s: %s", what, w.Name)
		assert.Equal(t, w.Values.DType(), g.Values.DType(), "%s: %s", what, w.Name)
		assert.True(t, same(w.Values, g.Values), "%s: %s", what, w.Name)
	}
}
