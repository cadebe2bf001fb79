package mcap

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// greys are 24 packets of h264, a key frame each 8: frame i is of the grey 10*i.
func greys(t *testing.T) (list frames) {
	t.Helper()
	b := filetest.Read(t, "../../internal/video/testdata/grey.h264")
	delimiter := []byte{0, 0, 0, 1, 9}
	for _, part := range bytes.Split(b, delimiter)[1:] {
		list = append(list, append(bytes.Clone(delimiter), part...))
	}
	require.Len(t, list, 24)
	return list
}

// filmed writes packets as a recording of one topic, 10 a second, and reads it.
func filmed(t *testing.T, packets frames, encoding Encoding) *dataset.Episode {
	t.Helper()
	ctx := context.Background()
	m := dataset.Media{Name: "/video", Encoding: "h264", Source: packets}
	for i := range packets {
		m.Times = append(m.Times, int64(i)*1e8)
	}
	path := filepath.Join(t.TempDir(), "video.mcap")
	require.NoError(t, WriteFile(path, WriterOptions{}, func(w *Writer) error { return w.Episode(ctx, &dataset.Episode{Media: []dataset.Media{m}}, encoding) }))
	d, err := dataset.Open(ctx, path, dataset.Options{Strict: true})
	require.NoError(t, err)
	t.Cleanup(func() { d.Close() })
	e := settest.Episode(t, d, 0)
	require.Len(t, e.Media, 1)
	return e
}

func grey(t *testing.T, picture *tensor.Tensor) int {
	t.Helper()
	require.Equal(t, []int{48, 64, 3}, picture.Shape())
	b, err := tensor.Data[uint8](picture)
	require.NoError(t, err)
	return int(b[len(b)/2])
}

func TestTheVideoOfATopicIsDecoded(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not here: ", err)
	}
	ctx := context.Background()
	for _, encoding := range []Encoding{Protobuf, JSON} {
		e := filmed(t, greys(t), encoding)
		assert.Empty(t, e.Notes)
		m := &e.Media[0]
		assert.True(t, m.Decodes())
		for _, i := range []int{0, 7, 8, 13, 23} {
			picture, err := m.Decode(ctx, i)
			require.NoError(t, err)
			assert.InDelta(t, 10*i, grey(t, picture), 3, i)
		}
		i := 5
		for picture, err := range m.DecodeRange(ctx, 5, 20) {
			require.NoError(t, err)
			assert.InDelta(t, 10*i, grey(t, picture), 3, i)
			i++
		}
		assert.Equal(t, 20, i)
	}
	e := filmed(t, greys(t)[5:], Protobuf)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeFramesBeforeKey, Subject: "/video", Count: 3, Detail: dataset.Detail{Of: 19}}}, e.Notes)
	picture, err := e.Media[0].Decode(ctx, 4)
	require.NoError(t, err)
	assert.InDelta(t, 90, grey(t, picture), 3)
	_, err = e.Media[0].Decode(ctx, 2)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	assert.ErrorContains(t, err, "no key frame before it")
}

func TestAVideoWithoutKeyFramesOrTheProgramSaysSo(t *testing.T) {
	ctx := context.Background()
	e := filmed(t, greys(t)[1:8], JSON)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeFramesWithoutKey, Subject: "/video", Count: 7}}, e.Notes)
	_, err := e.Media[0].Decode(ctx, 3)
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	t.Setenv("ROBOCACHE_FFMPEG", filepath.Join(t.TempDir(), "none"))
	_, err = filmed(t, greys(t), Protobuf).Media[0].Decode(ctx, 3)
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "decode frame 3 of /video (h264): not supported: got no program ffmpeg, want it in PATH")
}

// The planes of a folder's videos can be decoded after their files were closed, and until the folder is closed.
func TestTheVideosOfAFolderAreClips(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not here: ", err)
	}
	ctx, dir, packets := context.Background(), t.TempDir(), greys(t)
	m := dataset.Media{Name: "/video", Encoding: "h264", Source: packets}
	for i := range packets {
		m.Times = append(m.Times, int64(i)*1e8)
	}
	const files = 10 // some are closed
	for i := range files {
		path := filepath.Join(dir, fmt.Sprint(i, ".mcap"))
		require.NoError(t, WriteFile(path, WriterOptions{}, func(w *Writer) error { return w.Episode(ctx, &dataset.Episode{Media: []dataset.Media{m}}, Protobuf) }))
	}
	d, err := dataset.Open(ctx, dir, dataset.Options{})
	require.NoError(t, err)
	var clips []video.Clip
	for e, err := range dataset.Episodes(ctx, d) {
		require.NoError(t, err)
		clip, is := video.AsClip(e.Media[0].Source)
		require.True(t, is)
		clips = append(clips, clip)
	}
	require.Len(t, clips, files)
	for _, clip := range []video.Clip{clips[0], clips[files-1]} {
		from, to, err := clip.Group(ctx, 9)
		require.NoError(t, err)
		assert.Equal(t, []int{8, 16}, []int{from, to})
		for picture, err := range video.Decode(ctx, []int{9}, clip.Planes) {
			require.NoError(t, err)
			want, err := filmed(t, packets, Protobuf).Media[0].Decode(ctx, 9)
			require.NoError(t, err)
			assert.Equal(t, grey(t, want), grey(t, picture))
		}
	}
	require.NoError(t, d.Close())
	assert.ErrorIs(t, clips[0].Planes(ctx, []int{9}, "", nil), dataset.ErrClosed)
}
