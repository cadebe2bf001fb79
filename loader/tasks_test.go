package loader_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/lerobot"
	lerobotwrite "github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/robocache/robocache/internal/test/s3test"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

// The task of each window is that of its anchor: of LeRobot's task_index, in memory, from a shard on a disk and in a bucket, and streaming.
func TestWindowsHaveTheirTask(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	w, err := lerobotwrite.Create(in, lerobotwrite.Options{FPS: 10})
	require.NoError(t, err)
	times, values, rows := make([]int64, 20), make([]float32, 20), make([]string, 20)
	for i := range times {
		times[i], values[i], rows[i] = int64(i)*1e8, float32(i), []string{"reach", "lift"}[i/10]
	}
	s, err := dataset.NewStream("action", times, tensor.Must(tensor.Of(values, 20, 1)), []dataset.Column{{Name: "x"}})
	require.NoError(t, err)
	for i := range 2 {
		e := &dataset.Episode{Streams: []dataset.Stream{s}, Attributes: dataset.Attributes{Task: "cup"}}
		require.NoError(t, w.AddWith(ctx, e, []lerobotwrite.EpisodeOptions{{RowTasks: rows}, {}}[i]))
	}
	require.NoError(t, w.Commit(ctx))
	require.NoError(t, w.Close())
	d, err := dataset.Open(ctx, in, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "packed"), 0o700))
	packed := filepath.Join(dir, "packed", "store.safetensors")
	require.NoError(t, store.Pack(ctx, d, packed, store.BuildOptions{}))
	s3test.Shared().PutFolder(t, "tasks", "packed", filepath.Dir(packed))
	s3test.Shared().PutFolder(t, "tasks", "in", in)
	bucket, err := dataset.Open(ctx, "s3://tasks/in", dataset.Options{})
	require.NoError(t, err)
	defer bucket.Close()
	device := open(t, "cpu")
	plan := align.Plan{Rate: 10, Streams: []align.Stream{{Name: "action"}}, Shuffle: "none"}
	check := func(name string, l *loader.Loader, err error) {
		require.NoError(t, err, name)
		defer l.Close()
		seen := 0
		for b, err := range l.Epoch(ctx) {
			require.NoError(t, err, name)
			b, err = b.Host(ctx)
			require.NoError(t, err)
			tasks, err := l.TasksOf(b)
			require.NoError(t, err)
			episodes, err := tensor.Data[int64](b.Episodes)
			require.NoError(t, err)
			ticks, err := tensor.Data[int64](b.Ticks)
			require.NoError(t, err)
			for row, e := range episodes {
				want := ""
				switch {
				case e == 1:
					want = "cup"
				case e == 0:
					want = rows[ticks[row]]
				}
				assert.Equal(t, want, tasks[row], "%s: episode %d, tick %d", name, e, ticks[row])
				seen++
			}
		}
		assert.Equal(t, 40, seen, name)
	}
	opt := loader.Options{Batch: 8}
	for name, path := range map[string]string{"shard": packed, "bucket": "s3://tasks/packed/store.safetensors"} {
		held, err := store.Open(path)
		require.NoError(t, err)
		l, err := loader.New(ctx, device, held, plan, opt)
		check(name, l, err)
		l, err = loader.NewStreaming(ctx, device, held, plan, opt)
		check("streaming "+name, l, err)
		require.NoError(t, held.Close())
	}
	for name, from := range map[string]dataset.Dataset{"dataset": d, "dataset in a bucket": bucket} {
		l, err := loader.NewStreaming(ctx, device, from, plan, opt)
		check(name, l, err)
	}
}
