package loader_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

// readStore opens a dataset, and reads all that is in it. It returns the first error.
func readStore(open func() (dataset.Dataset, error)) error {
	ctx := context.Background()
	d, err := open()
	if err != nil {
		return err
	}
	defer d.Close()
	for i := range d.Len() {
		e, err := d.Episode(ctx, i)
		if err != nil {
			return err
		}
		for k := range e.Streams {
			if _, err := tensor.Floats(e.Streams[k].Values); err != nil {
				return err
			}
		}
		for k := range e.Media {
			for n := range e.Media[k].Len() {
				if _, err := e.Media[k].Frame(ctx, n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func TestAStoreHasTheChecksumsOfItsFormat(t *testing.T) {
	for _, rows := range []int{3, 20000} {
		path := packedRows(t, rows)
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, b, filetest.Reseal(t, bytes.Clone(b)))
	}
}

// packedRows packs two episodes, of rows and of one row less, with frames.
func packedRows(t *testing.T, rows int) string {
	t.Helper()
	m := made{}
	for i := range 2 {
		values, times := make([]float32, 3*(rows-i)), make([]int64, rows-i)
		for k := range values {
			values[k] = float32(k + i)
		}
		for k := range times {
			times[k] = int64(k) * 1e7
		}
		s, err := dataset.NewStream("s", times, tensor.Must(tensor.Of(values, rows-i, 3)), nil)
		require.NoError(t, err)
		frames := frameList{[]byte("first frame"), []byte("another frame")}
		m = append(m, &dataset.Episode{Name: fmt.Sprint(i), Streams: []dataset.Stream{s},
			Media: []dataset.Media{{Name: "c", Encoding: "rgb8", Times: []int64{0, 5}, Source: frames}}})
	}
	path := filepath.Join(t.TempDir(), "s.safetensors")
	require.NoError(t, store.Pack(context.Background(), m, path, store.BuildOptions{Media: []string{"c"}}))
	return path
}

// frameList are frames in memory.
type frameList [][]byte

func (f frameList) ReadFrame(_ context.Context, i int) ([]byte, error) { return f[i], nil }

// A store with a damaged byte is an error of the format, whichever byte it is, and however the store is read.
func TestADamagedByteOfAStoreIsAnError(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	for _, c := range []struct{ rows, step int }{{3, 1}, {20000, 7001}} {
		path := packedRows(t, c.rows)
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		opens := map[string]func() (dataset.Dataset, error){
			"as a store": func() (dataset.Dataset, error) {
				s, err := store.Open(path)
				if err != nil {
					return nil, err
				}
				return s, nil
			},
			"as any dataset": func() (dataset.Dataset, error) { return dataset.Open(ctx, path, dataset.Options{}) },
		}
		for how, open := range opens {
			require.NoError(t, readStore(open), how)
		}
		for at := 0; at < len(whole); at += c.step {
			for k, mask := range []byte{1 << (at % 8), 0xff} {
				if !thorough.Long && at/2%2 != k {
					continue
				}
				whole[at] ^= mask
				require.NoError(t, os.WriteFile(path, whole, 0o600))
				whole[at] ^= mask
				for how, open := range opens {
					if !thorough.Long && (how == "as a store") != (at%2 == 0) {
						continue
					}
					err := readStore(open)
					var bad *dataset.FormatError
					require.ErrorAs(t, err, &bad, "byte %d ^ %#x, %s", at, mask, how)
					require.Equal(t, path, bad.Path)
				}
			}
		}
	}
}

// Loaders do not draw from a damaged block, whether they read the mapping or the file.
func TestADamagedByteIsDrawnByNoLoader(t *testing.T) {
	ctx := context.Background()
	path := packedRows(t, 20000)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	head := 8 + int(binary.LittleEndian.Uint64(whole))
	for _, at := range []int{head + 100, head + 400000, len(whole) - 200} { // times and values
		damaged := append([]byte{}, whole...)
		damaged[at] ^= 4
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		s, err := store.Open(path)
		require.NoError(t, err)
		for name, create := range map[string]func(loader.Options) (*loader.Loader, error){
			"resident": func(o loader.Options) (*loader.Loader, error) {
				return loader.New(ctx, open(t, "cpu"), s, align.Plan{Rate: 100, Shuffle: "windows"}, o)
			},
			"streaming": func(o loader.Options) (*loader.Loader, error) {
				return loader.NewStreaming(ctx, open(t, "cpu"), s, align.Plan{Rate: 100, Shuffle: "shards"}, o)
			},
		} {
			l, err := create(loader.Options{Batch: 8, Strict: true})
			for k := 0; err == nil && k < 10000; k++ {
				err = l.Next(ctx)
			}
			var bad *dataset.FormatError
			assert.ErrorAs(t, err, &bad, "%s, byte %d", name, at)
			if l != nil {
				l.Close()
			}
		}
		require.NoError(t, s.Close())
	}
}
