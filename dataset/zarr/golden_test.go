package zarr

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// unzipped returns a folder with the files of an archive in testdata.
func unzipped(t testing.TB, name string) string {
	dir := filepath.Join(t.TempDir(), strings.TrimSuffix(name, ".zip"))
	z, err := zip.OpenReader(filepath.Join("testdata", name))
	require.NoError(t, err)
	defer z.Close()
	for _, m := range z.File {
		r, err := m.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		path := filepath.Join(dir, m.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
	return dir
}

func opens(t testing.TB, path string, opt dataset.Options) dataset.Dataset {
	d, err := dataset.Open(context.Background(), path, opt)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

func episode(t testing.TB, d dataset.Dataset, i int) *dataset.Episode {
	e, err := d.Episode(context.Background(), i)
	require.NoError(t, err)
	return e
}

func floats(t testing.TB, s *dataset.Stream) []float64 {
	list, err := tensor.Floats(s.Values)
	require.NoError(t, err)
	return list
}

// want returns the values that testdata/golden.py gives to rows of array k.
func want(k int, typ string, width, from, to int) (list []float64) {
	for i := from; i < to; i++ {
		for j := range width {
			v := float64((5*i + 3*j + k) % 100)
			switch {
			case strings.HasPrefix(typ, "float"):
				v /= 4
			case typ == "bool":
				v = math.Mod(v, 2)
			}
			list = append(list, v)
		}
	}
	return list
}

// golden is a stream of a file in testdata: the number of its array, its type and its columns.
type golden struct {
	k     int
	typ   string
	names []string
}

func numbered(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

var goldens = map[string]map[string]golden{
	"kinds2.zarr.zip": {
		"i1": {0, "int8", numbered(1)}, "i2": {1, "int16", numbered(2)}, "i4": {2, "int32", []string{"x", "y", "z"}}, "i8": {3, "int64", numbered(2)},
		"u2": {4, "uint16", numbered(2)}, "u4": {5, "uint32", numbered(1)}, "u8": {6, "uint64", numbered(2)}, "f2": {7, "float16", numbered(5)},
		"f4": {8, "float32", numbered(16)}, "f8": {9, "float64", numbered(3)}, "b1": {10, "bool", numbered(1)},
		"fortran": {11, "float32", []string{"[0][0]", "[0][1]", "[1][0]", "[1][1]", "[2][0]", "[2][1]"}},
		"slash":   {12, "int32", []string{"[0][0]", "[0][1]", "[1][0]", "[1][1]"}}, "missing": {16, "float32", numbered(2)}, "missing_i8": {17, "int64", numbered(2)},
	},
	"kinds3.zarr.zip": {
		"f4": {0, "float32", numbered(3)}, "i2": {1, "int16", numbered(2)}, "missing": {3, "float64", numbered(2)},
		"transposed": {2, "int32", []string{"[0][0]", "[0][1]", "[0][2]", "[1][0]", "[1][1]", "[1][2]"}},
	},
}

func TestArraysOfOthersAreRead(t *testing.T) {
	for file, streams := range goldens {
		for _, path := range []string{filepath.Join("testdata", file), unzipped(t, file)} {
			d := opens(t, path, dataset.Options{Strict: true})
			assert.Equal(t, []any{"zarr", file[:5], 3, 10, 5.0}, []any{d.Format(), d.Name()[:5], d.Len(), d.Info().Frames, d.Info().Rate})
			for i, rows := range [][2]int{{0, 3}, {3, 3}, {3, 10}} {
				e := episode(t, d, i)
				require.Len(t, e.Streams, len(streams), path)
				for name, g := range streams {
					s := e.Stream(name)
					require.NotNil(t, s, name)
					values := want(g.k, g.typ, len(g.names), rows[0], rows[1])
					for row := 4; strings.HasPrefix(name, "missing") && rows[1] == 10 && row < 8; row++ { // a chunk without a file
						fill := math.NaN()
						if name == "missing_i8" {
							fill = -7
						}
						values[2*(row-3)], values[2*(row-3)+1] = fill, fill
					}
					assert.Equal(t, fmt.Sprint(values), fmt.Sprint(floats(t, s)), "%s %s", path, name)
					absent := slices.IndexFunc(e.Notes, func(n dataset.Note) bool { return n.Code == dataset.CodeChunksAbsent && n.Subject == name })
					assert.Equal(t, strings.HasPrefix(name, "missing") && rows[1] == 10, absent >= 0, name)
					assert.Equal(t, g.names, s.ColumnNames(), name)
					assert.Equal(t, []any{g.typ, !strings.HasPrefix(g.typ, "float")}, []any{s.Columns[0].Type, s.Columns[0].Integer}, name)
					if rows[1] > rows[0] {
						assert.Equal(t, int64(200_000_000), s.Nanoseconds()[1], "5 rows a second")
					}
				}
			}
		}
	}
}

func TestFramesOfOthersAreRead(t *testing.T) {
	for file, cameras := range map[string]map[string]struct {
		k        int
		encoding string
		shape    []int
	}{
		"kinds2.zarr.zip": {"camera": {13, "rgb8", []int{8, 9, 3}}, "wide_camera": {14, "rgb8", []int{8, 8, 3}}, "depth": {15, "16UC1", []int{8, 9, 1}}},
		"kinds3.zarr.zip": {"camera": {4, "mono8", []int{8, 8, 1}}},
	} {
		d := opens(t, filepath.Join("testdata", file), dataset.Options{})
		e := episode(t, d, 2)
		require.Len(t, e.Media, len(cameras))
		for name, c := range cameras {
			m := e.MediaStream(name)
			require.NotNil(t, m, name)
			assert.Equal(t, c.encoding, m.Encoding)
			for i := range m.Len() {
				frame, err := m.Decode(t.Context(), i)
				require.NoError(t, err)
				got, err := tensor.Floats(frame)
				require.NoError(t, err)
				values := want(c.k, "uint8", len(got), 3+i, 4+i)
				for k := range values {
					if name == "wide_camera" {
						values[k] = math.Floor(values[k] / 4)
					}
				}
				require.Equal(t, []any{c.shape, values}, []any{frame.Shape(), got}, "%s %d", name, i)
			}
		}
	}
}

func TestArraysWithoutAReaderAreNamed(t *testing.T) {
	for file, names := range map[string]map[string]string{
		"kinds2.zarr.zip": {"delta": "delta", "text": "", "complex": "", "jpeg": "imagecodecs_jpeg2k"},
		"kinds3.zarr.zip": {"sharded": "sharding_indexed"},
	} {
		e := episode(t, opens(t, filepath.Join("testdata", file), dataset.Options{Strict: true}), 0)
		assert.Len(t, e.Notes, len(names))
		for name, codec := range names {
			n := e.Notes.LeftOut(name)
			require.NotNil(t, n, name)
			if codec == "" {
				assert.Equal(t, dataset.CodeValueType, n.Code)
				continue
			}
			assert.Equal(t, dataset.CodeUnsupported, n.Code)
			assert.ErrorIs(t, n.Cause, dataset.ErrUnsupported)
			assert.ErrorContains(t, n.Cause, codec)
		}
	}
}

// damaged returns a copy of an archive in testdata as a folder, after change.
func damaged(t *testing.T, change func(file func(name string) string)) string {
	dir := unzipped(t, "kinds2.zarr.zip")
	change(func(name string) string { return filepath.Join(dir, name) })
	return dir
}

func rewrite(t *testing.T, path string, change func(m map[string]any)) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(data, &m))
	change(m)
	data, err = json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

func TestABrokenArrayCostsItself(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, file func(string) string){
		"chunk": func(t *testing.T, file func(string) string) {
			require.NoError(t, os.WriteFile(file("data/f4/1.0"), []byte("none"), 0o600))
		},
		"metadata": func(t *testing.T, file func(string) string) {
			require.NoError(t, os.WriteFile(file("data/f4/.zarray"), []byte("{"), 0o600))
		},
		"shorter": func(t *testing.T, file func(string) string) {
			rewrite(t, file("data/f4/.zarray"), func(m map[string]any) { m["shape"] = []int{9, 16} })
		},
		"chunks of another rank": func(t *testing.T, file func(string) string) {
			rewrite(t, file("data/f4/.zarray"), func(m map[string]any) { m["chunks"] = []int{8} })
		},
		"chunks of another size": func(t *testing.T, file func(string) string) {
			rewrite(t, file("data/f4/.zarray"), func(m map[string]any) { m["chunks"] = []int{8, 1 << 20} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := damaged(t, func(file func(string) string) { change(t, file) })
			e := episode(t, opens(t, path, dataset.Options{}), 2)
			assert.Nil(t, e.Stream("f4"))
			assert.NotNil(t, e.Stream("f8"))
			assert.Equal(t, dataset.CodeBroken, e.Notes.LeftOut("f4").Code)
			assert.NotNil(t, e.Notes.Find(dataset.CodeArrayBroken))
			d, err := dataset.Open(t.Context(), path, dataset.Options{Strict: true})
			if err == nil {
				_, err = d.Episode(t.Context(), 2)
				require.NoError(t, d.Close())
			}
			_, broken := dataset.AsBroken(err)
			assert.True(t, broken, "%v", err)
		})
	}
}

func TestWrongEndsAreErrors(t *testing.T) {
	for name, kind := range map[string]error{"falling": dataset.ErrCorrupt, "none": dataset.ErrUnsupported, "wide": dataset.ErrCorrupt} {
		path := damaged(t, func(file func(string) string) {
			if name == "none" {
				require.NoError(t, os.RemoveAll(file("meta")))
				return
			}
			rewrite(t, file("meta/episode_ends/.zarray"), func(m map[string]any) {
				if m["compressor"], m["chunks"] = nil, []int{3}; name == "wide" {
					m["shape"] = []int{3, 1}
				}
			})
			ends := slices.Concat([]byte{3}, make([]byte, 7), []byte{2}, make([]byte, 7), []byte{10}, make([]byte, 7))
			require.NoError(t, os.WriteFile(file("meta/episode_ends/0"), ends, 0o600))
		})
		_, err := dataset.Open(t.Context(), path, dataset.Options{})
		assert.ErrorIs(t, err, kind, name)
	}
}

// Without an array that can be read, the notes have the reasons, and the ends are right.
func TestAnEpisodeWithoutArraysHasNotes(t *testing.T) {
	path := damaged(t, func(file func(string) string) {
		list, err := os.ReadDir(file("data"))
		require.NoError(t, err)
		for _, a := range list {
			if name := file("data/" + a.Name() + "/.zarray"); a.IsDir() {
				require.NoError(t, os.WriteFile(name, []byte("{"), 0o600))
			}
		}
	})
	e := episode(t, opens(t, path, dataset.Options{}), 2)
	assert.Empty(t, e.Streams)
	assert.NotNil(t, e.Notes.Find(dataset.CodeArrayBroken))
}

func TestAnEpisodePastTheLongestArrayIsAnError(t *testing.T) {
	path := damaged(t, func(file func(string) string) {
		rewrite(t, file("meta/episode_ends/.zarray"), func(m map[string]any) { m["compressor"], m["chunks"] = nil, []int{3} })
		ends := slices.Concat([]byte{3}, make([]byte, 7), []byte{7}, make([]byte, 7), make([]byte, 5), []byte{1}, make([]byte, 2))
		require.NoError(t, os.WriteFile(file("meta/episode_ends/0"), ends, 0o600))
	})
	d := opens(t, path, dataset.Options{})
	assert.Equal(t, 4, episode(t, d, 1).Frames)
	_, err := d.Episode(t.Context(), 2)
	var format *dataset.FormatError
	require.ErrorAs(t, err, &format)
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
	assert.Equal(t, "at most 10, as the longest array has", format.Want)
}
