package aloha_test

import (
	"bytes"
	"context"
	"fmt"
	"image/jpeg"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/aloha"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/h5test"
	"github.com/robocache/robocache/internal/test/settest"
)

func TestEpisodesAreWhatH5pyReads(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name, encoding, sim string
		steps               int
	}{{"raw", "rgb8", "true", 6}, {"jpeg", "jpeg", "false", 4}} {
		file := "testdata/" + c.name + ".hdf5"
		d, err := dataset.Open(ctx, file, dataset.Options{Rate: 50})
		require.NoError(t, err)
		assert.Equal(t, "aloha", d.Format())
		assert.Equal(t, [3]any{50.0, "caller", c.steps}, [3]any{d.Info().Rate, d.Info().RateFrom, d.Info().Frames})
		require.Equal(t, 1, d.Len())
		e := settest.Episode(t, d, 0)
		assert.Equal(t, [2]string{c.name, c.sim}, [2]string{e.Name, e.Attributes.Other["sim"]})
		assert.Equal(t, c.steps, e.Frames)
		assert.Equal(t, []string{"action", "base_action", "observations/effort", "observations/qpos", "observations/qvel"}, e.Names())
		assert.Equal(t, int64(20e6), e.Stream("action").Nanoseconds()[1])
		h5test.ReadGolden(t, file).Check(t, e, "")
		require.Len(t, e.Media, 2)
		for _, m := range e.Media {
			assert.Equal(t, [3]any{c.encoding, 16, 12}, [3]any{m.Encoding, m.Width, m.Height})
		}
		left := h5test.Left(e)
		assert.Equal(t, c.steps+1, e.Stream("base_action").Len(), "it goes on after the last step")
		if c.encoding == "jpeg" {
			assert.Equal(t, dataset.CodeFrameLengths, left["compress_len"].Code)
			frame, err := e.Media[1].Frame(ctx, 3)
			require.NoError(t, err)
			_, err = jpeg.Decode(bytes.NewReader(frame))
			assert.NoError(t, err)
		}
		require.NoError(t, d.Close())
		_, err = e.Media[0].Frame(ctx, 0)
		assert.ErrorIs(t, err, dataset.ErrClosed)
	}
}

// folder copies files under the names that recorders give them.
func folder(t *testing.T, count int) string {
	dir := t.TempDir()
	for i := range count {
		data := filetest.Read(t, "testdata/"+[]string{"raw", "jpeg"}[i%2]+".hdf5")
		filetest.Write(t, filepath.Join(dir, fmt.Sprintf("episode_%d.hdf5", i)), data)
	}
	return dir
}

func TestAFolderIsADatasetOfItsFiles(t *testing.T) {
	ctx := context.Background()
	dir := folder(t, 21)
	filetest.Write(t, filepath.Join(dir, "episode_3.hdf5"), "\x89HDF\r\n\x1a\n and no more")
	d, err := dataset.Open(ctx, dir, dataset.Options{Rate: 50})
	require.NoError(t, err)
	assert.Equal(t, "aloha", d.Format())
	assert.Equal(t, [2]any{50.0, "caller"}, [2]any{d.Info().Rate, d.Info().RateFrom})
	require.Equal(t, 21, d.Len())
	assert.Equal(t, 11*6+9*4, d.Info().Frames)
	var all []*dataset.Episode
	for i := range d.Len() {
		e, err := d.Episode(ctx, i)
		if i == 3 {
			assert.Error(t, err, "one that is broken costs itself")
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("episode_%d", i), e.Name)
		all = append(all, e)
	}
	for range 2 { // although not all files can be open at a time
		for _, e := range all {
			frame, err := e.Media[1].Frame(ctx, e.Media[1].Len()-1)
			require.NoError(t, err, e.Name)
			assert.NotEmpty(t, frame)
		}
	}
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	_, err = all[0].Media[0].Frame(ctx, 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
	_, err = d.Episode(ctx, 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

func TestWhatIsNoImageIsNoStreamEither(t *testing.T) {
	d, err := aloha.Open("testdata/small.hdf5", dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	e := settest.Episode(t, d, 0)
	h5test.ReadGolden(t, "testdata/small.hdf5").Check(t, e, "")
	assert.True(t, e.Steps, "nobody says how many steps a second there are")
	assert.Equal(t, dataset.CodeNotImages, h5test.Left(e)["observations/images/other"].Code)
}

func TestBrokenFilesCostWhatIsBroken(t *testing.T) {
	h5test.Hostile(t, "testdata/small.hdf5", aloha.Open, 1)
	h5test.Hostile(t, "testdata/jpeg.hdf5", aloha.Open, 41)
}

func TestMutantsDoNoHarm(t *testing.T) {
	h5test.Mutants(t, aloha.Open, 1500, "testdata/small.hdf5", "testdata/jpeg.hdf5", "testdata/raw.hdf5")
}

func FuzzOpen(f *testing.F) {
	h5test.Fuzz(f, aloha.Open, "testdata/small.hdf5", "testdata/jpeg.hdf5", "testdata/raw.hdf5")
}

func TestOneBrokenFrameCostsItselfWhicheverItIs(t *testing.T) {
	ctx := context.Background()
	data := filetest.Read(t, "testdata/jpeg.hdf5")
	begin := []byte("\xff\xd8\xff")
	frames := 0
	for at := range data {
		if !bytes.HasPrefix(data[at:], begin) {
			continue
		}
		frames++
		path := filepath.Join(t.TempDir(), "broken.hdf5")
		broken := bytes.Clone(data)
		broken[at] = 0
		filetest.Write(t, path, broken)
		d, err := aloha.Open(path, dataset.Options{})
		require.NoError(t, err)
		e := settest.Episode(t, d, 0)
		require.Len(t, e.Media, 2)
		lost := 0
		for i := range e.Media {
			require.Equal(t, 4, e.Media[i].Len())
			for k := range 4 {
				if _, err := e.Media[i].Source.ReadFrame(ctx, k); err != nil {
					assert.ErrorIs(t, err, dataset.ErrCorrupt)
					lost++
				}
			}
		}
		assert.Equal(t, 1, lost, "of the frame at byte %d", at)
		require.NoError(t, d.Close())
	}
	assert.Equal(t, 8, frames)
}
