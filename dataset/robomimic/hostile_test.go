package robomimic_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/robomimic"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/h5test"
	"github.com/robocache/robocache/internal/test/settest"
)

// The file of scripts/gen_robomimic_golden.py: each of its lies costs itself.
func TestSizesThatAreLiesTakeNoMemory(t *testing.T) {
	ctx := context.Background()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := robomimic.Open("testdata/hostile.hdf5", dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	read := func(i int) *dataset.Episode {
		e := settest.Episode(t, d, i)
		for _, m := range e.Media {
			_, err := m.Frame(ctx, m.Len()-1)
			require.NoError(t, err)
		}
		return e
	}
	require.Equal(t, 7, d.Len())
	info := d.Info()
	assert.Equal(t, []string{"lift it"}, info.Tasks, "of problem_info, which has it by letters")
	assert.Equal(t, 3+3+7+4, info.Frames)
	require.Len(t, info.Notes, 2)
	assert.Equal(t, dataset.Note{Code: dataset.CodeStepTotal, Subject: "data", Count: 1, Detail: dataset.Detail{Got: "17", Want: "99"}}, info.Notes[1])
	assert.Equal(t, []any{dataset.CodeUnreadable, "data/demo_5"}, []any{info.Notes[0].Code, info.Notes[0].Subject})

	e := read(0)
	assert.Equal(t, 3, e.Frames)
	assert.Equal(t, "lift it", e.Attributes.Task)
	assert.Equal(t, []string{"actions"}, e.Names())
	assert.Equal(t, "step-count: 1000000000000000 of 3", h5test.Left(e)["obs/image"].Reason())
	assert.NotNil(t, e.Notes.Find(dataset.CodeAttributeBroken))
	assert.Contains(t, e.Notes.Damage().String(), "num_samples: corrupt: got 1000000000000000, want 3")
	for _, i := range []int{1, 2} {
		e = read(i)
		assert.Zero(t, e.Frames)
		assert.Empty(t, e.Streams)
		assert.Empty(t, e.Media)
		assert.Contains(t, fmt.Sprint(e.Notes.Damage()), "too large")
	}
	e = read(4)
	assert.Equal(t, 4, e.Frames, "most of its datasets have so many")
	assert.Equal(t, []string{"obs/a", "obs/b"}, e.Names())
	assert.Contains(t, fmt.Sprint(e.Notes.Damage()), "num_samples: corrupt: got 7, want 4")
	_, err = d.Episode(ctx, 5)
	assert.Error(t, err)
	assert.Equal(t, 4, read(6).Frames, "the next one is whole")
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "bytes")
}

func TestABrokenAttributeCostsItself(t *testing.T) {
	d, err := robomimic.Open("testdata/hostile.hdf5", dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	e := settest.Episode(t, d, 3)
	assert.Equal(t, map[string]string{"fine": "1"}, e.Attributes.Other)
	assert.Contains(t, h5test.Left(e), "attribute broken")
	assert.Equal(t, 3, e.Stream("actions").Len())
	_, err = robomimic.Open("testdata/hostile.hdf5", dataset.Options{Strict: true})
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
}

// Although nothing says that it is robomimic's.
func TestAFileThatIsNoHDF5SaysWhy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.hdf5")
	filetest.Write(t, path, "\x89HDF\r\n\x1a\n\x02\x08\x08")
	_, err := dataset.Open(context.Background(), path, dataset.Options{})
	assert.ErrorContains(t, err, "hdf5: "+path+": byte")
}

// The end of the header of the group data lies behind the cut, or part of its names.
func TestAFileThatIsCutGivesWhatIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.hdf5")
	for _, c := range []struct {
		file                  string
		percent, demos, whole int
	}{
		{"image_gzip_latest", 70, 5, 4}, {"image_gzip_latest", 90, 6, 5}, {"image_gzip_latest", 99, 6, 5},
		{"image_gzip_earliest", 30, 6, 1}, {"image_gzip_earliest", 70, 6, 4}, {"image_gzip_earliest", 99, 6, 5}, {"lowdim_earliest", 90, 25, 22},
	} {
		data := filetest.Read(t, recording(t, "robomimic_bridge/"+c.file+".hdf5"))
		filetest.Write(t, path, data[:len(data)*c.percent/100])
		d, err := dataset.Open(context.Background(), path, dataset.Options{})
		require.NoError(t, err)
		assert.Equal(t, "robomimic", d.Format(), "its env_args are lost, and not known to be none")
		assert.Contains(t, d.Info().Notes.Find(dataset.CodeFileDoubtful).Cause.Error(), "the file ends at byte")
		assert.Contains(t, d.Info().Notes[1].String(), "truncated")
		assert.Equal(t, c.demos, d.Len(), c)
		uncut, err := robomimic.Open(recording(t, "robomimic_bridge/"+c.file+".hdf5"), dataset.Options{})
		require.NoError(t, err)
		want := map[string][]float64{}
		for e, err := range dataset.Episodes(context.Background(), uncut) {
			require.NoError(t, err)
			want[e.Name] = floats(t, e.Stream("actions"))
		}
		require.NoError(t, uncut.Close())
		whole := 0
		for e, err := range dataset.Episodes(context.Background(), d) {
			if err == nil && e.Notes.Damage() == nil {
				assert.Equal(t, want[e.Name], floats(t, e.Stream("actions")))
				whole++
			}
		}
		assert.Equal(t, c.whole, whole, c)
		require.NoError(t, d.Close())
		_, err = dataset.Open(context.Background(), path, dataset.Options{Strict: true})
		assert.Error(t, err)
	}
}

func TestBrokenFilesCostWhatIsBroken(t *testing.T) {
	h5test.Hostile(t, "testdata/demo.hdf5", robomimic.Open, 101)
}

func TestMutantsDoNoHarm(t *testing.T) {
	h5test.Mutants(t, robomimic.Open, 500, "testdata/demo.hdf5", "testdata/kinds.hdf5", "testdata/hostile.hdf5")
}

func FuzzOpen(f *testing.F) {
	h5test.Fuzz(f, robomimic.Open, "testdata/demo.hdf5", "testdata/kinds.hdf5", "testdata/hostile.hdf5")
}
