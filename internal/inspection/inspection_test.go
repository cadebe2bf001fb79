package inspection

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/lerobot" // so that dataset.Open knows it
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

const g1 = "../../examples/data/g1"

// An archive is known by its name or its first bytes, and its episode tells of every array.
func TestOpenListsEveryArrayOfAnArchive(t *testing.T) {
	var b bytes.Buffer
	w := npz.NewWriter(&b, npz.Options{})
	times := tensor.Must(tensor.Of([]int64{1, 2}, 2))
	require.NoError(t, w.Add("imu.times", times))
	require.NoError(t, w.Add("imu.values", tensor.Must(tensor.Of([]float32{1, 2}, 2, 1))))
	require.NoError(t, w.Add("targets", times))
	require.NoError(t, w.Add("note", times))
	require.NoError(t, w.Close())
	for _, name := range []string{"a.npz", "a.bin"} {
		path := filepath.Join(t.TempDir(), name)
		filetest.Write(t, path, b.Bytes())
		d, err := Open(context.Background(), path, dataset.Options{})
		require.NoError(t, err)
		found, e, err := Look(context.Background(), path, d, Options{Episode: -1})
		require.NoError(t, err)
		assert.Equal(t, path, e.Attributes.Source)
		assert.Equal(t, []string{"imu"}, e.Names())
		require.Len(t, found.Notes.List, 2)
		assert.Contains(t, []dataset.Code{found.Notes.List[0].Note.Code, found.Notes.List[1].Note.Code}, dataset.CodeClockArray)
		assert.NoError(t, d.Close())
	}
}

func TestLookReadsOneEpisodeOrAll(t *testing.T) {
	d, err := Open(context.Background(), g1, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	read := 0
	all, one, err := Look(context.Background(), g1, d, Options{Episode: -1, Next: func() { read++ }})
	require.NoError(t, err)
	assert.Nil(t, one)
	assert.Nil(t, all.Episode)
	assert.Equal(t, []int{3, 3, 1121, 1121}, []int{read, all.Episodes, *all.Frames, all.Streams[0].Samples})
	second, one, err := Look(context.Background(), g1, d, Options{Episode: 1})
	require.NoError(t, err)
	assert.Equal(t, []any{1, one.Name, 368}, []any{second.Episode.Number, second.Episode.Name, second.Streams[0].Samples})
	_, _, err = Look(context.Background(), g1, d, Options{Episode: 3})
	assert.ErrorIs(t, err, dataset.ErrNotFound)
	var text bytes.Buffer
	require.NoError(t, second.Print(&text, true))
	assert.Contains(t, text.String(), "episode 1 of 3 of g1, lerobot v3.0: 2 streams")
	assert.Contains(t, text.String(), "kLeftHandThumbRotation")
}

// noCloud is a series whose clouds are broken.
type noCloud struct{}

func (noCloud) ReadCloud(context.Context, int) (*dataset.Cloud, error) { return nil, errors.New("cut") }

func TestNotesAreOfEpisodesAndOfTheDataset(t *testing.T) {
	d := dataset.Single("x", "run", func(context.Context) (*dataset.Episode, error) {
		return &dataset.Episode{Name: "run", Steps: true, Clouds: []dataset.CloudStream{{Name: "points", Times: []int64{0}, Source: noCloud{}}},
			Notes: dataset.Notes{{Code: dataset.CodeLogClock, Subject: "/a"}}}, nil
	})
	found, _, err := Look(context.Background(), "run", d, Options{Episode: -1})
	require.NoError(t, err)
	list := found.Notes.List
	require.Len(t, list, 3)
	assert.Equal(t, []any{dataset.CodeLogClock, "run", 1}, []any{list[0].Note.Code, list[0].Episode, list[0].Episodes})
	assert.Equal(t, dataset.CodeCloudUnread, list[1].Note.Code)
	assert.ErrorContains(t, list[1].Note.Cause, "cut")
	assert.Equal(t, dataset.EpisodeNote{Note: dataset.Note{Code: dataset.CodeStepsOnly}}, list[2])
}

func TestArraysThatCommandsTakeAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npz")
	out, err := os.Create(path)
	require.NoError(t, err)
	w, z := tensor.Must(tensor.Of([]int64{1, 2}, 2)), zip.NewWriter(out)
	for _, name := range []string{"imu.times", "imu.values", "imu", "times", "values", "lengths", "points"} {
		f, err := z.Create(name + ".npy")
		require.NoError(t, err)
		require.NoError(t, npy.Write(f, w))
	}
	_, err = z.Create("notes.txt")
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, out.Close())
	d, err := Open(context.Background(), path, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	found, _, err := Look(context.Background(), path, d, Options{Episode: -1})
	require.NoError(t, err)
	codes := map[string]dataset.Code{}
	for _, l := range found.Notes.List {
		codes[l.Note.Subject] = l.Note.Code
	}
	assert.Equal(t, map[string]dataset.Code{"imu": dataset.CodeOtherArray, "times": dataset.CodeBatchArray, "values": dataset.CodeBatchArray, "lengths": dataset.CodeBatchArray,
		"points": dataset.CodeCloudArray, "notes.txt": dataset.CodeNotArray}, codes)
}
