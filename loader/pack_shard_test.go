package loader_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// sourced is a dataset that records which episodes are read, with the folder of its files.
type sourced struct {
	made
	mu   *sync.Mutex
	read *[]int
	dir  string
}

func (s sourced) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	s.mu.Lock()
	*s.read = append(*s.read, i)
	s.mu.Unlock()
	return s.made.Episode(ctx, i)
}

// sources are five files of recordings. One is broken, and one lacks a stream.
func sources(t *testing.T) sourced {
	t.Helper()
	s := sourced{recordings(t), &sync.Mutex{}, &[]int{}, t.TempDir()}
	s.made[4] = nil
	s.made[2].Streams = s.made[2].Streams[:2]
	s.made[0].Streams = s.made[0].Streams[1:]
	for i := range 5 {
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, fmt.Sprint("f", i)), []byte(strings.Repeat("x", i)), 0o600))
	}
	return s
}

func (s sourced) packShard(t *testing.T, folder string, index, count int, opt store.BuildOptions) (fresh bool) {
	t.Helper()
	opt.Workers = 1
	fresh, err := store.PackShard(context.Background(), s, s.dir, folder, index, count, opt)
	require.NoError(t, err)
	return fresh
}

func (s sourced) packAll(t *testing.T, folder string, count int, opt store.BuildOptions) {
	t.Helper()
	for i := range count {
		s.packShard(t, folder, (i+count/2)%count, count, opt) // in any order
	}
}

func opened(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// A folder of shards equals the store in one file: in its description, its episodes, its batches, and its saved bytes.
func TestShardsAreOneStore(t *testing.T) {
	ctx := context.Background()
	d := sources(t)
	dir := t.TempDir()
	single := filepath.Join(dir, "single.safetensors")
	all, err := store.SourcesOf(ctx, d.dir)
	require.NoError(t, err)
	require.NoError(t, store.Pack(ctx, d, single, store.BuildOptions{Sources: all}))
	want := opened(t, single)
	batches := func(s *store.Store) map[int64]uint64 {
		got := map[int64]uint64{}
		l, err := loader.New(ctx, open(t, "cpu"), s, plan(), loader.Options{Batch: 8, Last: ops.LastShort})
		require.NoError(t, err)
		digests(t, l, got, 0, 1, 8)
		require.NoError(t, l.Close())
		return got
	}
	drawn := batches(want)
	for _, n := range []int{1, 2, 3, 7, 19} { // 19 are more than there are episodes
		folder := filepath.Join(dir, fmt.Sprint(n))
		d.packAll(t, folder, n, store.BuildOptions{})
		assert.True(t, store.IsStore(folder))
		got := opened(t, folder)
		assert.Equal(t, want.Episodes, got.Episodes, n)
		assert.Equal(t, want.Skipped, got.Skipped, n)
		assert.Equal(t, want.Sources, got.Sources, n)
		assert.Equal(t, want.Info(), got.Info(), n)
		assert.Nil(t, got.Shard)
		require.NoError(t, got.Fresh(ctx, d.dir))
		require.Len(t, got.Streams, len(want.Streams))
		for i := range want.Streams {
			a, b := &want.Streams[i], &got.Streams[i]
			assert.Equal(t, a.Name, b.Name)
			assert.Equal(t, a.Offsets, b.Offsets)
			assert.Equal(t, a.Samples(), b.Samples())
			assert.Equal(t, a.DType(), b.DType())
		}
		for i := range want.Len() {
			a, err := want.Episode(ctx, i)
			require.NoError(t, err)
			b, err := got.Episode(ctx, i)
			require.NoError(t, err)
			assert.Equal(t, a.Notes, b.Notes)
			require.Equal(t, a.Names(), b.Names())
			for m := range a.Streams {
				assert.Equal(t, data[int64](t, a.Streams[m].Times), data[int64](t, b.Streams[m].Times))
				assert.Equal(t, data[float32](t, a.Streams[m].Values), data[float32](t, b.Streams[m].Values))
			}
		}
		assert.Equal(t, drawn, batches(got), n)
		again := filepath.Join(dir, fmt.Sprint(n, ".safetensors"))
		require.NoError(t, got.Save(again))
		assert.True(t, string(content(t, single)) == string(content(t, again)), "%d shards saved as one file", n)
		require.NoError(t, got.Close())
		_, err := got.Episode(ctx, 0)
		assert.ErrorIs(t, err, dataset.ErrClosed)
		assert.ErrorIs(t, got.Guard(func() error { return nil }), dataset.ErrClosed)
	}
}

// Every episode is in one shard, floor(e*N/E), which reads it and no other.
func TestAShardReadsItsEpisodesAlone(t *testing.T) {
	d := sources(t)
	for _, n := range []int{1, 3, 7, 8, 100} {
		dir := t.TempDir()
		for i := range n {
			*d.read = nil
			var want []int
			for e := range d.Len() {
				if e*n/d.Len() == i {
					want = append(want, e)
				}
			}
			assert.False(t, d.packShard(t, dir, i, n, store.BuildOptions{}))
			assert.Equal(t, want, *d.read, "shard %d of %d", i, n)
			s := opened(t, filepath.Join(dir, store.ShardName(i, n)))
			assert.Equal(t, len(want), len(s.Episodes)+len(s.Skipped))
			for _, skipped := range s.Skipped {
				assert.Equal(t, dataset.At(4), skipped.Row)
				assert.EqualError(t, skipped.Cause, "broken")
			}
			require.NoError(t, s.Fresh(context.Background(), d.dir))
		}
	}
}

func TestAShardThatIsFreshStays(t *testing.T) {
	d := sources(t)
	folder := filepath.Join(t.TempDir(), "deep", "store")
	path := filepath.Join(folder, store.ShardName(1, 3))
	packed := func(opt store.BuildOptions) bool {
		*d.read = nil
		fresh := d.packShard(t, folder, 1, 3, opt)
		assert.Equal(t, fresh, len(*d.read) == 0)
		return !fresh
	}
	assert.True(t, packed(store.BuildOptions{}))
	first := content(t, path)
	assert.False(t, packed(store.BuildOptions{}))
	assert.True(t, packed(store.BuildOptions{DType: tensor.F16, Replace: true}), "other options")
	assert.False(t, packed(store.BuildOptions{DType: tensor.F16, Replace: true}), "nothing to replace")
	assert.True(t, packed(store.BuildOptions{Streams: []string{"imu"}, Replace: true}), "other options")
	assert.True(t, packed(store.BuildOptions{Replace: true}), "other options")
	assert.Equal(t, first, content(t, path))

	require.NoError(t, os.WriteFile(path, first[:len(first)-1], 0o600))
	assert.True(t, packed(store.BuildOptions{}), "cut short")
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "f1"), []byte("y"), 0o600)) // of the same length
	assert.True(t, packed(store.BuildOptions{}), "a file of its own is another")
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "f0"), []byte("longer"), 0o600))
	assert.True(t, packed(store.BuildOptions{}), "a file of another shard is longer")
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "f0"), []byte("equals"), 0o600))
	assert.False(t, packed(store.BuildOptions{}), "what another shard hashes")

	left := filepath.Join(folder, "."+store.ShardName(1, 3)+".0123456789abcdef.tmp")
	other := filepath.Join(folder, "."+store.ShardName(2, 3)+".0123456789abcdef.tmp")
	for _, name := range []string{left, other} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	assert.True(t, packed(store.BuildOptions{DType: tensor.F16, Replace: true}))
	assert.NoFileExists(t, left, "what a program that was killed has left")
	assert.FileExists(t, other, "of another shard, which may be being written")
}

// Shards that were packed with other options are not replaced unless that is asked for, whether they are stale or not; nor is one of them added to.
func TestShardsOfOtherOptionsAreNotReplacedUnasked(t *testing.T) {
	d := sources(t)
	folder := t.TempDir()
	d.packShard(t, folder, 1, 3, store.BuildOptions{Media: []string{store.AllMedia}})
	d.packShard(t, folder, 2, 3, store.BuildOptions{Media: []string{store.AllMedia}})
	were := [][]byte{content(t, filepath.Join(folder, store.ShardName(1, 3))), content(t, filepath.Join(folder, store.ShardName(2, 3)))}
	for range 2 {
		for index := range 3 {
			for says, opt := range map[string]store.BuildOptions{
				"media asked for none, where": {},
				"streams asked for [imu]":     {Streams: []string{"imu"}, Media: []string{store.AllMedia}},
				"dtype f64, where":            {DType: tensor.F64, Media: []string{store.AllMedia}},
				"strict true, where":          {Strict: true, Media: []string{store.AllMedia}},
			} {
				_, err := store.PackShard(context.Background(), d, d.dir, folder, index, 3, opt)
				assert.ErrorIs(t, err, dataset.ErrOption)
				assert.ErrorContains(t, err, says)
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(d.dir, "f1"), []byte("y"), 0o600)) // which makes them stale
	}
	assert.Equal(t, []string{store.ShardName(1, 3), store.ShardName(2, 3)}, names(t, folder))
	for i, was := range were {
		assert.True(t, string(was) == string(content(t, filepath.Join(folder, store.ShardName(i+1, 3)))))
	}
	assert.False(t, d.packShard(t, folder, 1, 3, store.BuildOptions{Media: []string{store.AllMedia}}), "it is stale")
}

// A dataset that changed since is stale: for a shard by the files that it hashed and the others' names and sizes, for the whole by all.
func TestShardsKnowWhenTheyAreStale(t *testing.T) {
	ctx := context.Background()
	d := sources(t)
	folder := t.TempDir()
	d.packAll(t, folder, 2, store.BuildOptions{})
	whole, first, second := opened(t, folder), opened(t, filepath.Join(folder, store.ShardName(0, 2))), opened(t, filepath.Join(folder, store.ShardName(1, 2)))
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "f1"), []byte("y"), 0o600))
	var stale *store.StaleError
	require.ErrorAs(t, whole.Fresh(ctx, d.dir), &stale)
	assert.Equal(t, []string{"f1"}, stale.Changed)
	assert.ErrorAs(t, second.Fresh(ctx, d.dir), &stale)
	require.NoError(t, first.Fresh(ctx, d.dir))
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "f9"), nil, 0o600))
	assert.ErrorAs(t, first.Fresh(ctx, d.dir), &stale)
}

// If a stream's columns differ between shards, the later shards leave it out by name, as Build does for episodes.
func TestStreamsOfOtherColumnsInAShardAreLeftOutByName(t *testing.T) {
	ctx := context.Background()
	d := sources(t)
	for _, i := range []int{5, 6} {
		s := &d.made[i].Streams[1]
		values, err := s.Values.Slice(1, 0, 2)
		require.NoError(t, err)
		s.Values, s.Columns = values, s.Columns[:2]
	}
	folder := t.TempDir()
	d.packAll(t, folder, 7, store.BuildOptions{})
	got := opened(t, folder)
	want := inMemory(t, d)
	assert.Equal(t, want.Episodes, got.Episodes)
	assert.Contains(t, got.Episodes[5].Notes, dataset.Note{Code: dataset.CodeColumnsUnnamed, Subject: "imu", Count: 91, Detail: dataset.Detail{Got: "2", Want: "3"}})
	e, err := got.Episode(ctx, 5)
	require.NoError(t, err)
	assert.Nil(t, e.Stream("imu"))
}

func TestAFolderThatIsNotOnePackingIsRefused(t *testing.T) {
	ctx := context.Background()
	d := sources(t)
	first := store.ShardName(0, 3)
	for what, c := range map[string]struct {
		spoil func(folder string)
		kind  error
		says  string
	}{
		"no shard":       {func(f string) { require.NoError(t, os.RemoveAll(f)); require.NoError(t, os.Mkdir(f, 0o700)) }, dataset.ErrUnsupported, "no shard"},
		"a shard is not": {func(f string) { require.NoError(t, os.Remove(filepath.Join(f, first))) }, dataset.ErrNotFound, "got 2 of 3, want [" + first + "] too"},
		"two packings": {func(f string) { require.NoError(t, os.WriteFile(filepath.Join(f, store.ShardName(0, 4)), nil, 0o600)) }, dataset.ErrCorrupt,
			"shard-00000-of-00003.safetensors and shard-00000-of-00004.safetensors"},
		"another shard": {func(f string) {
			require.NoError(t, os.WriteFile(filepath.Join(f, first), content(t, filepath.Join(f, store.ShardName(1, 3))), 0o600))
		}, dataset.ErrCorrupt, "want shard 0 of 3"},
		"other options": {func(f string) { d.packShard(t, f, 1, 3, store.BuildOptions{DType: tensor.F16, Replace: true}) }, dataset.ErrCorrupt, "dtype: corrupt: got f16, want f32"},
		"other files": {func(f string) {
			require.NoError(t, os.WriteFile(filepath.Join(d.dir, "more"), nil, 0o600))
			d.packShard(t, f, 1, 3, store.BuildOptions{})
			require.NoError(t, os.Remove(filepath.Join(d.dir, "more")))
		}, dataset.ErrCorrupt, "dataset files"},
		"other episodes": {func(f string) {
			less := d
			less.made = d.made[:6]
			less.packShard(t, f, 1, 3, store.BuildOptions{})
		}, dataset.ErrCorrupt, "dataset episodes: corrupt: got 6, want 7"},
		"an empty file": {func(f string) { require.NoError(t, os.WriteFile(filepath.Join(f, first), nil, 0o600)) }, dataset.ErrTruncated, first},
		"a stream that no shard has": {func(f string) {
			d.packAll(t, f, 3, store.BuildOptions{Streams: []string{"imu", "none"}, Replace: true})
		}, dataset.ErrNotFound,
			"none called none in any shard"},
	} {
		folder := t.TempDir()
		d.packAll(t, folder, 3, store.BuildOptions{})
		c.spoil(folder)
		s, err := store.Open(folder)
		assert.Nil(t, s)
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, what)
		assert.ErrorIs(t, err, c.kind, what)
		assert.ErrorContains(t, err, c.says, what)
	}
	assert.False(t, store.IsStore(t.TempDir()))

	folder := t.TempDir()
	d.packAll(t, folder, 2, store.BuildOptions{})
	for _, c := range [][2]int{{0, 3}, {2, 2}, {-1, 2}, {0, 0}, {0, store.MostShards + 1}} {
		_, err := store.PackShard(ctx, d, d.dir, folder, c[0], c[1], store.BuildOptions{})
		assert.ErrorIs(t, err, dataset.ErrOption)
	}
	_, err := store.PackShard(ctx, d, filepath.Join(d.dir, "none"), folder, 0, 2, store.BuildOptions{})
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.Equal(t, []string{store.ShardName(0, 2), store.ShardName(1, 2)}, names(t, folder))
}

// A shard's header is checked against its contents.
func TestAShardThatLiesIsRefused(t *testing.T) {
	d := sources(t)
	dir := t.TempDir()
	d.packShard(t, dir, 1, 2, store.BuildOptions{})
	path := filepath.Join(dir, store.ShardName(1, 2))
	whole := string(content(t, path))
	for _, change := range [][2]string{
		{`"count\":2`, `"count\":0`}, {`"count\":2`, `"count\":1`}, {`"index\":1`, `"index\":2`}, {`"index\":1`, `"index\":0`}, {`"episodes\":7,`, `"episodes\":8,`},
		{`"files\":5`, `"files\":6`}, {`"files\":5`, `"files\":-5`}, {`"number\":5`, `"number\":3`}, {`"episodes\":7,`, `"episodes\":9000000000000000,`},
	} {
		text := strings.Replace(whole, change[0], change[1], 1)
		require.NotEqual(t, whole, text, change[0])
		text = resized(t, text)
		require.NoError(t, os.WriteFile(path, filetest.Reseal(t, []byte(text)), 0o600))
		_, err := store.Open(path)
		assert.ErrorIs(t, err, dataset.ErrCorrupt, change[1])
		assert.NotContains(t, err.Error(), "checksum", change[1])
	}
}

// resized writes the length of a changed header.
func resized(t *testing.T, file string) string {
	t.Helper()
	var header map[string]any
	d := json.NewDecoder(strings.NewReader(file[8:]))
	require.NoError(t, d.Decode(&header))
	n := int(d.InputOffset())
	rest := strings.TrimLeft(file[8+n:], " ")
	for n%64 != 56 {
		n++
	}
	head := file[8 : 8+int(d.InputOffset())]
	head += strings.Repeat(" ", n-len(head))
	return string([]byte{byte(n), byte(n >> 8), byte(n >> 16), 0, 0, 0, 0, 0}) + head + rest
}

func TestWhatCannotBeWrittenOfAShardIsSaid(t *testing.T) {
	d := sources(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := store.PackShard(context.Background(), d, d.dir, filepath.Join(file, "store"), 0, 2, store.BuildOptions{})
	assert.Error(t, err)
	var bad *dataset.FormatError
	assert.False(t, errors.As(err, &bad))
	strict := store.BuildOptions{Strict: true, Workers: 1}
	folder := t.TempDir()
	_, err = store.PackShard(context.Background(), d, d.dir, folder, 1, 2, strict)
	assert.ErrorContains(t, err, "broken")
	assert.Empty(t, names(t, folder))
}

// Shards pack frames of cameras too, and leave out frames that differ from the first shard's, by name.
func TestFramesInShardsAreThoseOfOneFile(t *testing.T) {
	ctx := context.Background()
	d := sources(t)
	d.made = filmed(t)
	opt := store.BuildOptions{Media: []string{store.AllMedia}}
	dir := t.TempDir()
	all, err := store.SourcesOf(ctx, d.dir)
	require.NoError(t, err)
	single := filepath.Join(dir, "single.safetensors")
	opt.Sources = all
	require.NoError(t, store.Pack(ctx, d, single, opt))
	want := opened(t, single)
	for _, n := range []int{2, 7, 9} {
		folder := filepath.Join(dir, fmt.Sprint(n))
		d.packAll(t, folder, n, opt)
		got := opened(t, folder)
		require.Len(t, got.Media, 2)
		for i := range want.Media {
			a, b := &want.Media[i], &got.Media[i]
			assert.Equal(t, []any{a.Name, a.Encoding, a.Width, a.Height, a.Offsets, a.Len(), a.Bytes()}, []any{b.Name, b.Encoding, b.Width, b.Height, b.Offsets, b.Len(), b.Bytes()})
		}
		for i := range want.Len() {
			assert.ElementsMatch(t, want.Episodes[i].Notes, got.Episodes[i].Notes)
			a, err := want.Episode(ctx, i)
			require.NoError(t, err)
			b, err := got.Episode(ctx, i)
			require.NoError(t, err)
			require.Len(t, b.Media, len(a.Media))
			for m := range a.Media {
				assert.Equal(t, a.Media[m].Times, b.Media[m].Times)
				for k := range a.Media[m].Len() {
					x, err := a.Media[m].Frame(ctx, k)
					require.NoError(t, err)
					y, err := b.Media[m].Frame(ctx, k)
					require.NoError(t, err)
					assert.Equal(t, x, y)
				}
			}
		}
		again := filepath.Join(dir, "again.safetensors")
		require.NoError(t, got.Save(again))
		if n == 2 { // a join without losses is checked last
			assert.True(t, string(content(t, single)) == string(content(t, again)))
		}
	}
	folder := t.TempDir()
	d.packAll(t, folder, 2, store.BuildOptions{Media: []string{"none"}})
	_, err = store.Open(folder)
	assert.ErrorContains(t, err, "none called none in any shard")
}

// A folder of shards is a dataset of the format that one file is.
func TestAFolderOfShardsIsADataset(t *testing.T) {
	d := sources(t)
	folder := t.TempDir()
	d.packAll(t, folder, 3, store.BuildOptions{})
	s, err := dataset.Open(context.Background(), folder, dataset.Options{})
	require.NoError(t, err)
	assert.Equal(t, "made", s.Format())
	require.Equal(t, 6, s.Len())
	e, err := s.Episode(context.Background(), 5)
	require.NoError(t, err)
	assert.Equal(t, d.made[6].Streams[0].Nanoseconds(), e.Stream("state").Nanoseconds())
	_, err = s.Episode(context.Background(), 6)
	assert.ErrorAs(t, err, new(*dataset.RangeError))
	require.NoError(t, os.Truncate(filepath.Join(folder, store.ShardName(2, 3)), 100))
	_, err = s.Episode(context.Background(), 5)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	_, err = s.Episode(context.Background(), 0)
	assert.NoError(t, err, "of another shard")
	require.NoError(t, s.Close())
	_, err = s.Episode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
	require.NoError(t, os.Remove(filepath.Join(folder, store.ShardName(1, 3))))
	_, err = dataset.Open(context.Background(), folder, dataset.Options{})
	assert.ErrorIs(t, err, dataset.ErrNotFound)
}
